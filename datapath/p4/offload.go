package p4

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"time"

	p4rt "github.com/p4lang/p4runtime/go/p4/v1"

	"plumbline/datapath"
	"plumbline/datapath/model"
	"plumbline/datapath/nexthop"
)

// engine is where all sessions are; what the target does not do is done there.
type engine interface {
	Keys(seid uint64) ([]datapath.Key, error)
	Candidates(k datapath.Key) []*model.Rule
	Count(r *model.Rule, n datapath.Total)
	Stages() *model.Stages
}

// target is the target as the offload sees it.
type target interface {
	writer
	read(ctx context.Context, cells []cell) (map[cell]count, error)
}

// offload puts into the target what it can do of the engine's sessions.
//
//	apart ─► waiting ─► busy ─► installed
//	  ▲                           │ a change of rules, a limit that is near, other headers
//	  └─────────── busy ◄─────────┘ (keys to the CPU, counters read)
//
// Packets of a session that is not installed go to the CPU port, so a session may be put into
// the target at any time after it has changed. What is in the target of a session is changed
// only while its keys say "cpu": so no packet meets half a rule.
type offload struct {
	log       *slog.Logger
	engine    engine
	target    target
	schema    *schema
	endpoints []datapath.Endpoint
	n6        *datapath.N6
	numberOf  map[netip.Addr]uint64 // of endpoints
	tag       int                   // octets of tag of frames from ports

	mu       sync.Mutex
	changed  sync.Cond // a session is not busy any more, or there is something to do
	sessions map[uint64]*session
	queue    []uint64
	keys     map[datapath.Key]*keyState
	peers    numbers[nexthop.Peer]
	uses     map[nexthop.Peer]int // by how many rules
	slots    numbers[slotKey]
	cells    map[uint32][2]count // what cells had counted when they were given back: forwarded, refused
	buckets  buckets
	lists    numbers[datapath.Key]
	newPeers bool // since links were made
	relink   func()
	entries  map[uint32]int // in the target, by table
	closed   bool
	away     error // why nothing is written: the target is not there
	idle     bool  // nothing is written until reset: the target forwards by what it had before
}

type state uint8

const (
	apart   state = iota // packets go to the CPU
	waiting              // the same, and it is in the queue
	busy                 // somebody writes or reads
	installed
)

// session is what is in the target of a session.
type session struct {
	seid    uint64
	state   state
	again   bool // it is to be queued when it is not busy any more
	cpu     bool // it is in the target, and its keys say "cpu"
	gone    bool // from the engine
	limited bool // there is a limit that may come near
	retry   bool // what keeps it apart may pass by itself
	keys    []datapath.Key
	slots   []*slot
	filters []*p4rt.TableEntry
	rate    rate
}

// keyState is a key in the target.
type keyState struct {
	owner  uint64 // SEID
	there  bool
	header uint8     // octets in front of its packets, as seen; 0: not seen
	seen   time.Time // when that changed last
	list   bool
	// expects is what the target expects in front of its packets.
	expects uint8
}

// slotKey says whose a rule's place is: of a PDR, for packets with so many octets in front.
type slotKey struct {
	counters *model.Counters
	header   uint8
}

// slot is a place in the table rules, with its counters.
type slot struct {
	slotKey
	index  uint32
	rule   *model.Rule
	there  bool
	peer   nexthop.Peer
	bucket *model.Meter
	had    [2]count // forwarded, refused, when last read
}

// batch is how many sessions are put into the target at a time.
const batch = 256

// begin keeps others from a session whose rules are about to change, sends its packets to the
// CPU, and counts what the target has forwarded. end is to be called, if there is no error.
//
// Errors: the target's; then the session is as it was.
func (o *offload) begin(ctx context.Context, seid uint64) error {
	o.mu.Lock()
	if o.sessions[seid] == nil {
		o.sessions[seid] = &session{seid: seid}
	}
	o.mu.Unlock()
	s, was := o.hold(seid)
	if was != installed {
		return nil
	}
	if err := o.takeBack(ctx, []*session{s}); err != nil {
		o.release(s, installed)
		return err
	}
	s.cpu = true
	return nil
}

// end has a session that has changed looked at; gone: it is not in the engine any more.
func (o *offload) end(seid uint64, gone bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.sessions[seid]
	s.gone, s.again = gone, true
	o.put(s, apart)
}

// enqueue has a session looked at; mu is held.
func (o *offload) enqueue(s *session) {
	switch s.state {
	case waiting:
		return
	case busy:
		s.again = true
		return
	case apart:
		s.state = waiting
	}
	o.queue = append(o.queue, s.seid)
	o.changed.Broadcast()
}

// hold waits until nobody works at a session, and keeps others from it; nil: it is not known.
// release is to be called.
func (o *offload) hold(seid uint64) (s *session, was state) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		if s = o.sessions[seid]; s == nil {
			return nil, apart
		}
		if s.state != busy {
			was, s.state = s.state, busy
			return s, was
		}
		o.changed.Wait()
	}
}

// release ends hold: the session is in a state.
func (o *offload) release(s *session, to state) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.put(s, to)
}

func (o *offload) put(s *session, to state) {
	s.state = to
	if s.again {
		s.again = false
		o.enqueue(s)
	}
	o.changed.Broadcast()
}

// takeBack sends the packets of sessions that are held to the CPU, and counts.
func (o *offload) takeBack(ctx context.Context, all []*session) error {
	a := newArena()
	defer a.free()
	for _, s := range all {
		if s.cpu {
			continue
		}
		for _, k := range s.keys {
			t, key := o.keyEntry(k)
			a.add(p4rt.Update_MODIFY, t, key, actionDetectCPU, uint64(datapath.PassChanging))
		}
	}
	refused, err := o.target.write(ctx, a.updates)
	if err != nil {
		return err
	}
	for i, why := range refused {
		return fmt.Errorf("p4: update %d of %d: %w", i+1, len(a.updates), why)
	}
	return o.count(ctx, all)
}

// count reads what the target has counted for sessions that are held, and adds it to the
// engine's counts.
func (o *offload) count(ctx context.Context, all []*session) error {
	forwarded, refused := o.schema.counters[counterForwarded], o.schema.counters[counterRefused]
	var cells []cell
	for _, s := range all {
		for _, sl := range s.slots {
			if sl.there {
				cells = append(cells, cell{forwarded, sl.index}, cell{refused, sl.index})
			}
		}
	}
	if len(cells) == 0 {
		return nil
	}
	now, err := o.target.read(ctx, cells)
	if err != nil {
		return err
	}
	for _, s := range all {
		for _, sl := range s.slots {
			if !sl.there {
				continue
			}
			f, r := now[cell{forwarded, sl.index}], now[cell{refused, sl.index}]
			if f.packets < sl.had[0].packets || r.packets < sl.had[1].packets {
				sl.had = [2]count{} // the target has restarted
			}
			n := datapath.Total{Packets: f.packets - sl.had[0].packets, Dropped: r.packets - sl.had[1].packets}
			n.Octets = f.octets - sl.had[0].octets - uint64(sl.header)*n.Packets
			sl.had = [2]count{f, r}
			if n != (datapath.Total{}) {
				o.engine.Count(sl.rule, n)
			}
		}
	}
	return nil
}

// collect counts what the target has forwarded by a session.
func (o *offload) collect(ctx context.Context, seid uint64) error {
	s, was := o.hold(seid)
	if s == nil {
		return nil
	}
	var err error
	if was == installed {
		err = o.count(ctx, []*session{s})
	}
	o.release(s, was)
	return err
}

// collectAll counts what the target has forwarded by all sessions. One that somebody works at
// is left out: he counts.
func (o *offload) collectAll(ctx context.Context) error {
	for seids := range slices.Chunk(o.all(func(s *session) bool { return s.state == installed }), batch) {
		if err := o.with(seids, func(all []*session) error { return o.count(ctx, all) }); err != nil {
			return err
		}
	}
	return nil
}

// all returns the sessions that are so.
func (o *offload) all(is func(s *session) bool) []uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all []uint64
	for seid, s := range o.sessions {
		if is(s) {
			all = append(all, seid)
		}
	}
	return all
}

// with holds those of the sessions that are installed while do is called.
func (o *offload) with(seids []uint64, do func(all []*session) error) error {
	o.mu.Lock()
	var all []*session
	for _, seid := range seids {
		if s := o.sessions[seid]; s != nil && s.state == installed {
			s.state = busy
			all = append(all, s)
		}
	}
	o.mu.Unlock()
	err := do(all)
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range all {
		o.put(s, installed)
	}
	return err
}

// flush waits until everything that can be in the target is.
func (o *offload) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for !o.closed && o.away == nil && !o.idle && o.working() {
		o.changed.Wait()
	}
}

func (o *offload) working() bool {
	if len(o.queue) > 0 {
		return true
	}
	for _, s := range o.sessions {
		if s.state == busy || s.state == waiting {
			return true
		}
	}
	return false
}

// run puts sessions into the target until close.
func (o *offload) run(ctx context.Context) {
	for {
		all, was, ok := o.next()
		if !ok {
			return
		}
		if err := o.install(ctx, all, was); err != nil {
			o.lose(err)
		}
	}
}

// next waits for sessions to be looked at, and holds them.
func (o *offload) next() (all []*session, was []state, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		for len(o.queue) > 0 && len(all) < batch && o.away == nil && !o.idle {
			s := o.sessions[o.queue[0]]
			o.queue = o.queue[1:]
			switch {
			case s == nil:
			case s.state == busy:
				s.again = true
			default:
				all, was = append(all, s), append(was, s.state)
				s.state = busy
			}
		}
		if len(all) > 0 || o.closed {
			return all, was, !o.closed
		}
		o.changed.Wait()
	}
}

// lose notes that the target is not there: nothing is written until reset.
func (o *offload) lose(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.away == nil && !o.closed {
		o.away = err
	}
	o.changed.Broadcast()
}

// reset begins anew with a target, which empty makes have no entries and have counted nothing.
// counted: what it had counted before can be read from it.
func (o *offload) reset(ctx context.Context, counted bool, empty func() error) error {
	o.mu.Lock()
	for o.busy() > 0 && !o.closed {
		o.changed.Wait()
	}
	o.mu.Unlock()
	if counted {
		if err := o.collectAll(ctx); err != nil {
			return err
		}
	}
	if err := empty(); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	clear(o.entries)
	o.keys, o.uses, o.cells = map[datapath.Key]*keyState{}, map[nexthop.Peer]int{}, map[uint32][2]count{}
	o.peers.clear()
	o.slots.clear()
	o.lists.clear()
	o.buckets.clear()
	o.queue = nil
	for seid, s := range o.sessions {
		*s = session{seid: seid, gone: s.gone}
		o.enqueue(s)
	}
	o.away, o.idle = nil, false
	o.changed.Broadcast()
	return nil
}

func (o *offload) busy() (n int) {
	for _, s := range o.sessions {
		if s.state == busy {
			n++
		}
	}
	return n
}

// waits reports whether the target still has what it had before.
func (o *offload) waits() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.idle
}

// failure is why nothing can be changed now; nil: it can.
func (o *offload) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.away != nil {
		return fmt.Errorf("p4: the target is away, and goes on by what it has: %w", o.away)
	}
	return nil
}

func (o *offload) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.changed.Broadcast()
}
