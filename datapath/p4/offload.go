package p4

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	p4rt "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/nexthop"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// engine is where all sessions are; what the target does not do is done there.
type engine interface {
	Keys(seid uint64) ([]datapath.Key, error)
	Candidates(k datapath.Key) []*stages.Rule
	Count(r *stages.Rule, n datapath.Total)
	Stages() *stages.Stages
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
	routes   int                       // framed routes among keys
	rest     map[datapath.Key][]uint64 // SEIDs of keys of bare packets that have no entry
	peers    numbers[nexthop.Peer]
	uses     map[nexthop.Peer]int // by how many rules
	slots    pool
	cells    map[uint32][2]count // what cells had counted when they were given back: forwarded, refused
	buckets  buckets
	shares   buckets // of meters that sessions share
	lists    numbers[listKey]
	unlinked bool // peers or shares have changed since links were made
	relink   func()
	now      func() uint64  // ns
	entries  map[uint32]int // in the target, by table
	lost     func()         // is told that nothing is written any more; nil: nobody
	closed   bool
	away     error     // why nothing is written: the target is not there
	since    time.Time // when that changed last
	// removedAway is how many sessions were removed while the target was away.
	removedAway int
	holds       bool // nothing is written until reset: the target forwards by what it had before
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
	seid  uint64
	state state
	again bool // it is to be queued when it is not busy any more
	cpu   bool // it is in the target, and its keys say "cpu"
	gone  bool // from the engine
	// abandoned: it was removed while the target was away.
	abandoned bool
	limited   bool           // there is a limit that may come near
	retry     bool           // what keeps it apart may pass by itself
	keys      []datapath.Key // that have an entry
	rest      []datapath.Key // of bare packets, that have none
	blocked   []netip.Prefix // framed routes that have to wait for other sessions
	slots     []*slot
	filters   []*p4rt.TableEntry
	lists     []datapath.Key // of keys, who have a list
	rate      rate
}

// keyState is a key in the target.
type keyState struct {
	owner  uint64 // SEID
	there  bool
	header uint8     // octets in front of its packets, as seen; 0: not seen
	seen   time.Time // when that changed last
	// expects is what the target expects in front of its packets.
	expects uint8
}

// slotKey says whose a rule's place is: of a PDR, for packets with so many octets in front.
type slotKey struct {
	counters *stages.Counters
	header   uint8
}

// slot is a place in the table rules, with its counters.
type slot struct {
	slotKey
	index  uint32
	rule   *stages.Rule
	there  bool
	peer   nexthop.Peer
	limits limits
	had    [2]count // forwarded, refused, when last read
}

// batch is how many sessions are put into the target at a time.
const batch = 256

// begin keeps others from a session whose rules are about to change, sends its packets to the
// CPU, and counts what the target has forwarded. end is to be called, if there is no error.
//
// Errors: the target's; then the session's rules may be changed no more than before. A session
// may be removed all the same: a target that was away is given all sessions anew, and not that
// one.
func (o *offload) begin(ctx context.Context, c *api.Change) error {
	removed := len(c.GetSession().GetRules()) == 0 // as a whole, or but for what its URRs have counted
	if err := o.failure(); err != nil && !removed {
		return err
	}
	s, was := o.holdNew(c.GetSeid())
	err := o.failure()
	if err == nil && was == installed {
		if err = o.takeBack(ctx, []*session{s}); err == nil {
			o.taken(s)
		}
	}
	if removed {
		if err != nil {
			o.lose(err)
			o.abandon(s)
		}
		return nil
	}
	if err != nil {
		o.release(s, was)
		return err
	}
	if err := o.cover(ctx, s, bareKeys(c)); err != nil {
		o.ask(s)
		o.release(s, apart)
		return err
	}
	return nil
}

// abandon notes that a session is removed and its packets go on, since the target is away.
func (o *offload) abandon(s *session) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !s.abandoned {
		s.abandoned = true
		o.removedAway++
	}
}

// taken notes that the packets of a session that is held go to the CPU.
func (o *offload) taken(s *session) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s.cpu = true
}

// end has a session that has changed looked at; gone: it is not in the engine any more.
func (o *offload) end(seid uint64, gone bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.sessions[seid]
	s.gone, s.again = gone, true
	o.put(s, apart)
}

// takeBack sends the packets of sessions that are held to the CPU, and counts.
func (o *offload) takeBack(ctx context.Context, all []*session) error {
	a := newArena()
	defer a.free()
	var updates []*p4rt.Update
	for _, s := range all {
		if s.cpu {
			continue
		}
		for _, k := range s.keys {
			updates = append(updates, o.cpuEntry(a, p4rt.Update_MODIFY, k))
		}
	}
	refused, err := o.target.write(ctx, updates)
	if err == nil {
		for i, why := range refused {
			return fmt.Errorf("p4: update %d of %d: %w", i+1, len(updates), why)
		}
		err = o.count(ctx, all)
	}
	if err != nil {
		o.lose(err)
	}
	return err
}
