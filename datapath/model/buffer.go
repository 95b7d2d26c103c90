package model

import (
	"container/list"
	"sync"
	"sync/atomic"
	"time"

	"plumbline/api"
	"plumbline/datapath"
	"plumbline/gtpu"
)

// BufferLimits bounds a [Buffer]. Octets are those of the packets as they came.
type BufferLimits struct {
	Packets, Octets int           // of a session
	TotalOctets     int           // of all sessions
	Age             time.Duration // how long a packet may wait
}

// DefaultBufferLimits give a session what a paged UE can use, and all of them
// what a small machine can spare.
var DefaultBufferLimits = BufferLimits{Packets: 256, Octets: 512 << 10, TotalOctets: 64 << 20, Age: 30 * time.Second}

// Buffer keeps packets of rules whose FAR says BUFF, in the order in which they
// came. What does not fit is dropped as it comes: who waits longest is served.
//
// Source: TS 29.244 V18.6.0, 5.2.4 (buffering), 8.2.26 (Apply Action).
type Buffer struct {
	limits BufferLimits
	now    func() (ns uint64)
	drop   func(datapath.Reason) // counts a packet that is given up

	mu       sync.Mutex
	sessions map[uint64]*waiting
	all      list.List // of *held, oldest first
	octets   int
}

// waiting is what a session has in the buffer.
type waiting struct {
	packets  list.List // of *held, oldest first
	octets   int
	notified map[uint32]*time.Timer // by PDR ID: told, or about to be
}

// held is a packet in the buffer. Its memory is its own.
type held struct {
	arrived
	rule   *Rule
	at     uint64 // ns
	octets int
	all    *list.Element
}

// heldOverhead is about what a packet costs beside its octets.
const heldOverhead = 256

// NewBuffer returns an empty buffer. drop is called for each packet that is
// given up later, with the reason.
func NewBuffer(limits BufferLimits, now func() (ns uint64), drop func(datapath.Reason)) *Buffer {
	return &Buffer{limits: limits, now: now, drop: drop, sessions: map[uint64]*waiting{}}
}

// buffer puts a packet into the buffer.
func (s *Stages) buffer(r *Rule, a arrived) datapath.Reason {
	b := s.Buffer
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expire()
	w := b.sessions[r.SEID]
	if w == nil {
		w = &waiting{notified: map[uint32]*time.Timer{}}
		b.sessions[r.SEID] = w
	}
	s.notify(w, r, a.user.dscp())
	h := &held{arrived: a.clone(), rule: r, at: b.now(), octets: len(a.header) + len(a.user) + heldOverhead}
	if !b.fits(w, h) {
		r.countDropped()
		return datapath.DropBufferFull
	}
	h.all = b.all.PushBack(h)
	w.packets.PushBack(h)
	w.octets += h.octets
	b.octets += h.octets
	return datapath.PassBuffer
}

func (a arrived) clone() arrived {
	if a.header != nil {
		a.header = append(gtpu.Header(nil), a.header...)
	}
	a.user = append(user(nil), a.user...)
	return a
}

func (b *Buffer) fits(w *waiting, h *held) bool {
	packets := b.limits.Packets
	if n := int(h.rule.BAR.GetPackets()); n > 0 {
		packets = min(packets, n)
	}
	return w.packets.Len() < packets && w.octets+h.octets <= b.limits.Octets && b.octets+h.octets <= b.limits.TotalOctets
}

// notify raises DOWNLINK_DATA once for a rule, from when it begins to buffer
// until its packets are gone, after the delay of its BAR.
//
// Source: TS 29.244 V18.6.0, 5.2.4.1; 8.2.28 (Downlink Data Notification Delay).
func (s *Stages) notify(w *waiting, r *Rule, dscp byte) {
	if _, told := w.notified[r.PDRID]; told || !r.Notify {
		return
	}
	e := &api.Event{
		Kind: api.EventKind_DOWNLINK_DATA, Seid: r.SEID, RuleId: r.PDRID,
		Qfi: uint32(r.QFI), Dscp: uint32(dscp),
	}
	post := func() {
		if s.Post != nil {
			s.Post(e)
		}
	}
	delay := time.Duration(r.BAR.GetNotificationDelayMs()) * time.Millisecond
	if delay == 0 {
		w.notified[r.PDRID] = nil
		post()
		return
	}
	w.notified[r.PDRID] = time.AfterFunc(delay, post)
}

// forget lets the rule notify again, and takes back what was not told yet.
func (w *waiting) forget(pdr uint32) {
	if t := w.notified[pdr]; t != nil {
		t.Stop()
	}
	delete(w.notified, pdr)
}

// expire gives up what has waited too long.
func (b *Buffer) expire() {
	oldest := b.all.Front()
	for oldest != nil {
		h := oldest.Value.(*held)
		if b.now()-h.at < uint64(b.limits.Age) {
			return
		}
		w := b.sessions[h.rule.SEID]
		// All packets of a session are in the order of all packets.
		b.take(w, w.packets.Front())
		b.giveUp(h, datapath.DropBufferAge)
		if !w.has(h.rule.PDRID) {
			w.forget(h.rule.PDRID)
		}
		b.tidy(h.rule.SEID, w)
		oldest = b.all.Front()
	}
}

// tidy forgets a session that has nothing in the buffer.
func (b *Buffer) tidy(seid uint64, w *waiting) {
	if w.packets.Len() == 0 && len(w.notified) == 0 {
		delete(b.sessions, seid)
	}
}

func (w *waiting) has(pdr uint32) bool {
	for e := w.packets.Front(); e != nil; e = e.Next() {
		if e.Value.(*held).rule.PDRID == pdr {
			return true
		}
	}
	return false
}

// take takes a packet out of the buffer.
func (b *Buffer) take(w *waiting, e *list.Element) *held {
	h := w.packets.Remove(e).(*held)
	b.all.Remove(h.all)
	w.octets -= h.octets
	b.octets -= h.octets
	return h
}

func (b *Buffer) giveUp(h *held, reason datapath.Reason) {
	atomic.AddUint64(&h.rule.Counters.Dropped, 1)
	b.drop(reason)
}
