package stages

import (
	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// Release does with the buffered packets of a session what its rules now say:
// those of rules that forward go to send, in the order in which they arrived;
// those of rules that buffer stay; all others are dropped, and so are all if
// discard is set (DROBU) or the session has no rules any more.
//
// A driver calls it once the new rules are in Tables, and sends before any later
// packet of the session can get past: with no packet of the session under way in
// these stages, and before a fast path has the rules.
func (s *Stages) Release(seid uint64, rules []*Rule, discard bool, send func(Out)) {
	b := s.Buffer
	if b == nil {
		return
	}
	send, rest := s.afterwards(send)
	defer rest() // with the buffer unlocked: a packet may go there again
	b.mu.Lock()
	defer b.mu.Unlock()
	if w := b.sessions[seid]; w != nil {
		s.expire(w)
	}
	w := b.sessions[seid] // which may have gone with its last packet
	if w == nil {
		return
	}
	gone := w.renew(rules)
	for range w.packets {
		s.releaseFirst(w, gone, discard, send)
	}
	for i := range w.pdrs {
		switch r := w.pdrs[i].rule; {
		case discard || gone[i] || r.Action == api.Action_FORW:
			w.forget(i, toldData|toldBuffered|toldDiscarded)
		case r.Action == api.Action_DROP && r.NotifyDiscarded:
			w.forget(i, toldData|toldBuffered)
		case r.Action == api.Action_DROP: // who does not ask is not remembered
			w.forget(i, toldData|toldBuffered|toldDiscarded)
		case w.pdrs[i].packets > 0: // asked for now, perhaps, and not before
			s.tellAgain(w, i)
		}
	}
	w.settle()
	b.tidy(w)
}

// renew gives each PDR its rule of now, and says which of them have none. Packets
// that are no packets of the session's type any more have none, either.
func (w *waiting) renew(rules []*Rule) (gone []bool) {
	gone = make([]bool, len(w.pdrs))
	for i := range w.pdrs {
		r, was := findRule(rules, w.pdrs[i].rule.PDRID), w.pdrs[i].rule
		gone[i] = r == nil || r.Opaque != was.Opaque || (r.Ethernet == nil) != (was.Ethernet == nil)
		if r != nil {
			w.pdrs[i].rule = r
		}
	}
	return gone
}

func findRule(rules []*Rule, pdr uint32) *Rule {
	for _, r := range rules {
		if r.PDRID == pdr {
			return r
		}
	}
	return nil
}

// releaseFirst does with the first packet what its rule says. One that stays goes
// to the end: when all have been looked at, their order is as it was.
func (s *Stages) releaseFirst(w *waiting, gone []bool, discard bool, send func(Out)) {
	b := s.Buffer
	p := b.cells.packet(w.first)
	r := w.pdrs[p.place].rule
	if r.Action == api.Action_BUFF && !gone[p.place] && !discard {
		w.turn(&b.cells, p)
		return
	}
	_, a := b.take(w)
	switch {
	case gone[p.place] || r.Action == api.Action_FORW && a.header == nil && r.Outer == nil:
		// Its PDR went away, or is about packets that come through a tunnel now.
		b.drop(datapath.DropBufferEnd)
	case discard: // by the control plane, which need not be told
		s.discarded(r, len(a.user))
		b.drop(datapath.DropBufferEnd)
	case r.Action == api.Action_DROP:
		s.giveUp(w, int(p.place), a, r.Refusal())
	default:
		if reason := s.allow(r, a); reason != datapath.ReasonNone {
			r.CountDropped()
			b.drop(reason)
			return
		}
		send(s.leave(r, a))
	}
}

// turn puts the first packet behind the last one.
func (w *waiting) turn(c *cells, p packet) {
	if w.first == w.last {
		return
	}
	id := w.first
	w.first = p.next
	c.setNext(w.last, id)
	c.setNext(id, 0)
	w.last = id
}

// tellAgain raises what the rule asks for now of packets that have come before.
func (s *Stages) tellAgain(w *waiting, place int) {
	b := s.Buffer
	for id := w.first; id != 0; {
		p := b.cells.packet(id)
		if int(p.place) == place {
			b.scratch = b.cells.read(b.scratch[:0], id)
			dscp := user(b.scratch[p.header:]).dscp()
			s.tellData(w, place, dscp)
			s.tellOnce(w, place, toldBuffered, dscp)
			return
		}
		id = p.next
	}
}

// settle forgets PDRs of which nothing is left, from the end on: packets name
// the places of the others.
func (w *waiting) settle() {
	for n := len(w.pdrs); n > 0; n-- {
		if p := &w.pdrs[n-1]; p.packets > 0 || p.told != 0 {
			return
		}
		w.pdrs[n-1] = buffered{}
		w.pdrs = w.pdrs[:n-1]
	}
}

// afterwards returns send for all but what may come back to the buffer: frames that
// go to a bridge, and packets to F-TEIDs of our own. Those wait for the call of the
// second function.
func (s *Stages) afterwards(send func(Out)) (first func(Out), rest func()) {
	var waiting []Out
	first = func(o Out) {
		if o.Reason == datapath.ReasonNone && o.Rule.bridges() || s.comesBack(o) {
			waiting = append(waiting, o)
			return
		}
		send(o)
	}
	return first, func() {
		for _, o := range waiting {
			if o.Reason == datapath.ReasonNone && o.Rule.bridges() {
				o = s.bridged(o)
			}
			send(o)
		}
	}
}
