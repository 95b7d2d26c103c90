package model

import (
	"container/list"

	"plumbline/api"
	"plumbline/datapath"
)

// Release does with the buffered packets of a session what its rules now say:
// those of rules that forward come back, in the order in which they arrived;
// those of rules that buffer stay; all others are dropped, and so are all if
// discard is set (DROBU) or the session has no rules any more.
//
// A driver calls it once the new rules are in Tables, and sends what it returns
// before any later packet of the session can get past: with no packet of the
// session under way in these stages, and before a fast path has the rules.
func (s *Stages) Release(seid uint64, rules []*Rule, discard bool) []Out {
	b := s.Buffer
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expire()
	w := b.sessions[seid]
	if w == nil {
		return nil
	}
	var out []Out
	for e := w.packets.Front(); e != nil; {
		next := e.Next()
		if o, gone := s.release(w, e, findRule(rules, e.Value.(*held).rule.PDRID), discard); gone && o.Packet != nil {
			out = append(out, o)
		}
		e = next
	}
	for pdr := range w.notified {
		if r := findRule(rules, pdr); discard || r == nil || r.Action != api.Action_BUFF {
			w.forget(pdr)
		}
	}
	b.tidy(seid, w)
	return out
}

func findRule(rules []*Rule, pdr uint32) *Rule {
	for _, r := range rules {
		if r.PDRID == pdr {
			return r
		}
	}
	return nil
}

// release does with one packet what r says, which is its rule now, or nil.
func (s *Stages) release(w *waiting, e *list.Element, r *Rule, discard bool) (out Out, gone bool) {
	h := e.Value.(*held)
	if r != nil && r.Action == api.Action_BUFF && !discard {
		h.rule = r
		s.notify(w, r, h.user.dscp())
		return Out{}, false
	}
	s.Buffer.take(w, e)
	if r == nil {
		s.Buffer.drop(datapath.DropBufferEnd)
		return Out{}, true
	}
	h.rule = r
	if discard {
		s.Buffer.giveUp(h, datapath.DropBufferEnd)
		return Out{}, true
	}
	if reason := s.allow(r, h.arrived); reason != datapath.ReasonNone {
		s.Buffer.giveUp(h, reason)
		return Out{}, true
	}
	s.measure(r, len(h.user))
	return s.out(r, h.arrived), true
}
