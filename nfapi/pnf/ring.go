package pnf

import (
	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/clock"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/nfapi/stopwatch"
)

// ring keeps requests until their slot begins.
//
//	       now                     now+window
//	────────┼───┬───┬───┬───┬───┬───┼──────────
//	  late  │   │   │ e │   │ e │   │  early
//
// The number of a slot determines its place; there are more places than slots in the window, and
// their number divides an SFN cycle, so two slots with accepted requests never share a place. An
// entry is taken from a stack at the first request of its slot, and returned after the slot was
// executed: used entries stay in the cache, and none is ever cleared.
//
// The lock is never held while a message is decoded: an entry is closed if its slot begins
// meanwhile, and the message decoded into it is late.
type ring struct {
	mu     clock.Mutex
	cell   slot.Numerology
	window int
	now    slot.Number // the slot that began last
	places []*entry
	free   []*entry
}

// entry is the requests of one slot.
type entry struct {
	r       fapi.Requests
	have    fapi.Have // what is decoded
	filling fapi.Have // what is being decoded
	closed  bool      // its slot has begun
	taken   bool      // the PHY reads it

	bodies [len(kinds)][]byte // what decoded messages refer to
}

// kinds are the requests, in the order of TIMING_INFO.
var kinds = [...]struct {
	id   nfapi.MessageID
	have fapi.Have
}{
	{nfapi.MsgDLTTIRequest, fapi.DLTTI},
	{nfapi.MsgTXDataRequest, fapi.TXData},
	{nfapi.MsgULTTIRequest, fapi.ULTTI},
	{nfapi.MsgULDCIRequest, fapi.ULDCI},
}

// kindOf is the index of a request in kinds; -1: it is none.
func kindOf(id nfapi.MessageID) int {
	for k := range kinds {
		if kinds[k].id == id {
			return k
		}
	}
	return -1
}

// message is where a request of a kind is decoded into.
func (e *entry) message(kind int) nfapi.Message {
	switch kinds[kind].have {
	case fapi.DLTTI:
		return &e.r.DLTTI
	case fapi.ULTTI:
		return &e.r.ULTTI
	case fapi.ULDCI:
		return &e.r.ULDCI
	}
	return &e.r.TXData
}

// decode decodes a request of a kind that was claimed. The octets are not needed any
// more when it returns.
func (e *entry) decode(kind int, p nfapi.Profile, body []byte) (nfapi.Message, error) {
	m := e.message(kind)
	if kinds[kind].have == fapi.TXData { // its payload is copied anyway
		err := m.DecodeBody(p, body)
		e.r.TXData.Trailing = nil
		return m, err
	}
	e.bodies[kind] = append(e.bodies[kind][:0], body...)
	return m, m.DecodeBody(p, e.bodies[kind])
}

// newRing makes one in which the slot behind now is the first to come.
func newRing(mu slot.Numerology, window int, now slot.Number) *ring {
	places := 2
	for places < window+2 {
		places *= 2
	}
	return &ring{cell: mu, window: window, now: now, places: make([]*entry, places)}
}

// claim finds the entry of a slot for a message that it does not have yet. The caller decodes into
// it, and then calls commit.
func (r *ring) claim(n slot.Number, have fapi.Have) (*entry, stopwatch.Verdict) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch d := r.cell.Distance(n, r.now); {
	case d <= 0:
		return nil, stopwatch.Late
	case d > r.window:
		return nil, stopwatch.Early
	}
	place := &r.places[int(n)%len(r.places)]
	if *place != nil && (*place).r.At != n { // a slot that was never begun
		(*place).closed = true
		r.giveBack(*place)
		*place = nil
	}
	if *place == nil {
		*place = r.entry(n)
	}
	e := *place
	if (e.have|e.filling)&have != 0 {
		return nil, stopwatch.Duplicate
	}
	e.filling |= have
	return e, stopwatch.OnTime
}

// commit says that a message is decoded, or that it is not good.
func (r *ring) commit(e *entry, have fapi.Have, good bool) stopwatch.Verdict {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.filling &^= have
	v := stopwatch.OnTime
	switch {
	case !good:
		v = stopwatch.Invalid
	case e.closed:
		v = stopwatch.Late
	default:
		e.have |= have
	}
	r.giveBack(e)
	return v
}

// take begins slot n: it takes the entry out and closes it. What came for slots before
// n has to be taken, too, by leave.
func (r *ring) take(n slot.Number) *entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = n
	return r.out(n)
}

// pass ends the slots up to now at once: their requests are late, and those of future slots are not
// early, while the slots are left one by one. If too much time has passed to know the cycle of a
// request, all are dropped.
func (r *ring) pass(now slot.Number, drop bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = now
	for i, e := range r.places {
		if drop && e != nil {
			e.closed = true
			r.giveBack(e)
			r.places[i] = nil
		}
	}
}

// leave takes the entry of a slot out that is over.
func (r *ring) leave(n slot.Number) *entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out(n)
}

// out takes the entry of slot n out and closes it; mu is held.
func (r *ring) out(n slot.Number) *entry {
	place := &r.places[int(n)%len(r.places)]
	e := *place
	if e == nil || e.r.At != n {
		e = r.entry(n)
	} else {
		*place = nil
	}
	e.closed, e.taken = true, true
	e.r.Have = e.have
	return e
}

// release says that the slot was carried out.
func (r *ring) release(e *entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.taken = false
	r.giveBack(e)
}

// entry is an empty one for slot n.
func (r *ring) entry(n slot.Number) *entry {
	var e *entry
	if last := len(r.free) - 1; last >= 0 {
		e = r.free[last]
		r.free = r.free[:last]
	} else {
		e = &entry{}
	}
	e.r.Reset(r.cell, n)
	e.have, e.filling, e.closed, e.taken = 0, 0, false, false
	return e
}

// giveBack returns an unused entry to the stack.
func (r *ring) giveBack(e *entry) {
	if e.closed && !e.taken && e.filling == 0 {
		r.free = append(r.free, e)
	}
}
