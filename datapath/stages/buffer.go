package stages

import (
	"slices"
	"sync"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/gtpu"
)

// BufferLimits bounds a [Buffer]. Octets are those of the memory that is taken:
// packets are kept in cells of 128 octets. What is beyond a limit is dropped as
// it comes: who waits longest is served.
type BufferLimits struct {
	Packets, Octets           int // of a session
	TotalPackets, TotalOctets int // of all sessions
	// Age is how long a packet may wait, MaxAge the same where a BAR says how long.
	Age, MaxAge time.Duration
	// NoticesPerSecond is how many events a second there are about packets that
	// the buffer has no room for in all, and so does not remember.
	NoticesPerSecond int
}

// DefaultBufferLimits give a session what a paged UE can use, and all of them
// what a small machine can spare.
var DefaultBufferLimits = BufferLimits{
	Packets: 256, Octets: 512 << 10, TotalPackets: 1 << 20, TotalOctets: 64 << 20,
	Age: 30 * time.Second, MaxAge: 10 * time.Minute, NoticesPerSecond: 1000,
}

// Buffer keeps packets of rules whose FAR says BUFF, in the order in which they
// came.
//
// Source: TS 29.244 V18.6.0, 5.2.4 (buffering), 8.2.26 (Apply Action).
type Buffer struct {
	limits BufferLimits
	now    func() (ns uint64)
	drop   func(datapath.Reason) // counts a packet that is given up

	mu       sync.Mutex
	cells    cells
	packets  int
	sessions map[uint64]*waiting
	all      []*waiting // the same, to be looked at in turn
	cursor   int        // where that goes on
	notices  Limiter
	scratch  []byte // for a packet that leaves
}

// waiting is what a session has in the buffer.
type waiting struct {
	seid        uint64
	index       int // in Buffer.all
	first, last cell
	packets     int
	cells       int
	pdrs        []buffered // packets name their place here
}

// buffered is a PDR of a session that buffers.
type buffered struct {
	rule    *Rule
	packets int
	told    told
	later   *notice // an event that is about to be raised; nil: none
}

// sessionOctets is what a session costs in the buffer beside its packets.
const sessionOctets = 256

// NewBuffer returns an empty buffer. drop is called for each packet that is
// given up later, with the reason.
func NewBuffer(limits BufferLimits, now func() (ns uint64), drop func(datapath.Reason)) *Buffer {
	return &Buffer{
		limits: limits, now: now, drop: drop, sessions: map[uint64]*waiting{},
		notices: Limiter{PerSecond: uint64(max(limits.NoticesPerSecond, 0))},
	}
}

// Held returns what is in the buffer now.
func (b *Buffer) Held() (sessions, packets, octets int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.sessions), b.packets, b.octets()
}

// Occupancy is what is in the buffer now, and how much may be.
func (b *Buffer) Occupancy() datapath.Buffered {
	o := datapath.Buffered{MaxPackets: b.limits.TotalPackets, MaxOctets: b.limits.TotalOctets}
	o.Sessions, o.Packets, o.Octets = b.Held()
	return o
}

func (b *Buffer) octets() int { return b.cells.used*cellOctets + len(b.sessions)*sessionOctets }

// buffer puts a packet into the buffer.
func (s *Stages) buffer(r *Rule, a arrived) datapath.Reason {
	b := s.Buffer
	b.mu.Lock()
	defer b.mu.Unlock()
	n := cellsOf(len(a.header) + len(a.user))
	w := b.sessions[r.SEID]
	if w != nil {
		s.expire(w)
		w = b.sessions[r.SEID] // which may have gone with its last packet
	}
	reason := b.refuses(w, r, n)
	if w == nil {
		if reason != datapath.ReasonNone {
			s.refusedUnseen(r, a)
			return reason
		}
		w = b.open(r.SEID)
	}
	place := w.place(r)
	s.tellData(w, place, r.dscp(a))
	if reason != datapath.ReasonNone {
		s.tellOnce(w, place, toldDiscarded, r.dscp(a))
		s.discarded(r, len(a.user))
		return reason
	}
	s.tellOnce(w, place, toldBuffered, r.dscp(a))
	b.append(w, b.cells.put(a, b.now(), uint32(place)), n)
	w.pdrs[place].packets++
	return datapath.PassBuffer
}

// refuses says why there is no room for n cells more of w, which may be nil.
func (b *Buffer) refuses(w *waiting, r *Rule, n int) datapath.Reason {
	session, packets, taken := sessionOctets, 0, 0
	if w != nil {
		session, packets, taken = 0, w.packets, w.cells
	}
	most := b.limits.Packets
	if suggested := int(r.BAR.GetPackets()); suggested > 0 {
		most = min(most, suggested)
	}
	switch {
	case packets >= most, (taken+n)*cellOctets > b.limits.Octets:
		return datapath.DropBufferFull
	case b.packets >= b.limits.TotalPackets, b.octets()+n*cellOctets+session > b.limits.TotalOctets:
		return datapath.DropBufferTotal
	}
	return datapath.ReasonNone
}

func (b *Buffer) open(seid uint64) *waiting {
	w := &waiting{seid: seid, index: len(b.all)}
	b.sessions[seid] = w
	b.all = append(b.all, w)
	return w
}

// tidy forgets a session of which there is nothing to remember.
func (b *Buffer) tidy(w *waiting) {
	if w.packets > 0 || slices.ContainsFunc(w.pdrs, func(p buffered) bool { return p.told != 0 }) {
		return
	}
	delete(b.sessions, w.seid)
	last := len(b.all) - 1
	b.all[w.index] = b.all[last]
	b.all[w.index].index = w.index
	b.all[last] = nil
	b.all = b.all[:last]
	if last == 0 {
		b.all, b.sessions = nil, map[uint64]*waiting{} // their memory, too
	}
}

// place returns where the rule's PDR is in w.pdrs.
func (w *waiting) place(r *Rule) int {
	for i := range w.pdrs {
		if w.pdrs[i].rule.PDRID == r.PDRID {
			w.pdrs[i].rule = r
			return i
		}
	}
	w.pdrs = append(w.pdrs, buffered{rule: r})
	return len(w.pdrs) - 1
}

// append puts a packet of n cells behind the others of its session.
func (b *Buffer) append(w *waiting, id cell, n int) {
	if w.last != 0 {
		b.cells.setNext(w.last, id)
	} else {
		w.first = id
	}
	w.last = id
	w.packets++
	w.cells += n
	b.packets++
}

// take takes the first packet of a session out of the buffer and returns its
// octets, which are valid until the next call.
func (b *Buffer) take(w *waiting) (packet, arrived) {
	id := w.first
	p := b.cells.packet(id)
	a := b.read(id, p)
	if w.first = p.next; w.first == 0 {
		w.last = 0
	}
	w.cells -= b.cells.release(id)
	w.packets--
	b.packets--
	w.pdrs[p.place].packets--
	return p, a
}

// read returns the octets of a packet, which are valid until the next call.
func (b *Buffer) read(id cell, p packet) arrived {
	b.scratch = b.cells.read(b.scratch[:0], id)
	a := arrived{user: b.scratch[p.header:]}
	if p.header > 0 {
		a.header = gtpu.Header(b.scratch[:p.header])
	}
	return a
}

// age returns how long packets of the rule may wait.
func (b *Buffer) age(r *Rule) uint64 {
	if ms := r.BAR.GetDurationMs(); ms > 0 {
		return uint64(min(time.Duration(ms)*time.Millisecond, b.limits.MaxAge))
	}
	return uint64(b.limits.Age)
}

// expired reports whether a packet of w has waited too long.
func (b *Buffer) expired(w *waiting, p packet) bool {
	return b.now()-p.at >= b.age(w.pdrs[p.place].rule)
}

// expire gives up what has waited too long. A PDR that has nothing left is
// notified of anew.
func (s *Stages) expire(w *waiting) {
	b := s.Buffer
	for w.first != 0 && b.expired(w, b.cells.packet(w.first)) {
		p, a := b.take(w)
		s.giveUp(w, int(p.place), a, datapath.DropBufferAge)
		if w.pdrs[p.place].packets == 0 {
			w.forget(int(p.place), toldData|toldBuffered)
		}
	}
	b.tidy(w)
}

// giveUp drops a packet that was in the buffer.
func (s *Stages) giveUp(w *waiting, place int, a arrived, reason datapath.Reason) {
	s.tellOnce(w, place, toldDiscarded, w.pdrs[place].rule.dscp(a))
	s.discarded(w.pdrs[place].rule, len(a.user))
	s.Buffer.drop(reason)
}

// sweepTurns is how many calls of Sweep look at every session.
const sweepTurns = 16

// Sweep gives up packets that have waited too long of some sessions, of others
// the next time. Whoever owns the stages calls it now and then; without, only
// packets of a session that gets more of them, or another rule, are looked at.
func (s *Stages) Sweep() {
	b := s.Buffer
	b.mu.Lock()
	defer b.mu.Unlock()
	for range len(b.all)/sweepTurns + 1 {
		if len(b.all) == 0 {
			return
		}
		b.cursor = (b.cursor + 1) % len(b.all)
		s.expire(b.all[b.cursor])
	}
}

// event is about a packet of the rule.
func (r *Rule) event(kind api.EventKind, dscp byte) *api.Event {
	return &api.Event{Kind: kind, Seid: r.SEID, RuleId: r.PDRID, Qfi: uint32(r.QFI), Dscp: uint32(dscp)}
}
