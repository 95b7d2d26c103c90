package oracle

import (
	"slices"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// buffer keeps a packet of a rule whose FAR says BUFF.
// Source: TS 29.244 V18.6.0, 5.2.4.1, 8.2.26.
func (o *Oracle) buffer(r *rule, in arrived) datapath.Reason {
	s := r.session
	o.tell(r, in, api.EventKind_DOWNLINK_DATA, r.Forward.Notify)
	if len(s.held) >= bufferedMost {
		r.dropped++
		return datapath.DropBufferFull
	}
	o.tell(r, in, api.EventKind_DOWNLINK_BUFFERED, r.Forward.NotifyBuffered)
	s.held = append(s.held, held{r.PdrId, in, o.now})
	return datapath.PassBuffer
}

// tell raises an event about a packet of a rule, once while it buffers.
func (o *Oracle) tell(r *rule, in arrived, kind api.EventKind, asked bool) {
	if !asked || r.told[kind] {
		return
	}
	r.told[kind] = true
	o.events = append(o.events, &api.Event{Kind: kind, Seid: r.session.Seid, RuleId: r.PdrId, Qfi: uint32(r.qfi()), Dscp: uint32(in.tos >> 2)})
}

func (s *session) rule(pdr uint32) *rule {
	if s == nil {
		return nil
	}
	for _, r := range s.rules {
		if r.PdrId == pdr {
			return r
		}
	}
	return nil
}

func (s *session) holds(pdr uint32) bool {
	return slices.ContainsFunc(s.held, func(h held) bool { return h.pdr == pdr })
}

// expire gives up what has waited too long. What comes then is a first packet again.
func (o *Oracle) expire(s *session) {
	for len(s.held) > 0 && o.now-s.held[0].at >= bufferedFor {
		r := s.rule(s.held[0].pdr)
		s.held = s.held[1:]
		r.dropped++
		o.count(datapath.DropBufferAge)
		if !s.holds(r.PdrId) {
			clear(r.told)
		}
	}
}

// release treats the packets that old held: they leave by the rules of made, stay in the buffer, or
// are given up.
func (o *Oracle) release(old, made *session, drop bool) {
	o.expire(old)
	var keep []held
	for _, h := range old.held {
		r := made.rule(h.pdr)
		if r == nil || r.Forward.Action == api.Action_FORW && !h.in.tunnel && r.Forward.OuterHeaderCreation == nil {
			// The PDR went away, or is about packets that come through a tunnel now.
			o.count(datapath.DropBufferEnd)
			continue
		}
		switch {
		case drop:
			r.dropped++
			o.count(datapath.DropBufferEnd)
		case r.Forward.Action == api.Action_BUFF:
			keep = append(keep, h)
		default:
			o.goOn(r, h.in)
		}
	}
	if made == nil {
		return
	}
	made.held = keep
	for _, r := range made.rules {
		if !made.holds(r.PdrId) {
			clear(r.told)
		}
	}
	for _, h := range keep { // the rule may ask for more than it did
		r := made.rule(h.pdr)
		o.tell(r, h.in, api.EventKind_DOWNLINK_DATA, r.Forward.Notify)
		o.tell(r, h.in, api.EventKind_DOWNLINK_BUFFERED, r.Forward.NotifyBuffered)
	}
}

// goOn lets a packet go that has waited. It was metered when it came.
func (o *Oracle) goOn(r *rule, in arrived) {
	reason := o.forward(r, in)
	if reason == datapath.ReasonNone {
		for _, id := range r.QerIds {
			if q := r.session.qer(id); r.uplink() && q.UplinkGateClosed || !r.uplink() && q.DownlinkGateClosed {
				reason = datapath.DropGate
			}
		}
	}
	if reason == datapath.ReasonNone {
		for _, id := range r.UrrIds {
			u := r.session.urrs[id]
			o.begin(r, u)
			if u.spent(r.uplink()) {
				reason = datapath.DropQuota
			}
		}
	}
	if reason != datapath.ReasonNone {
		r.dropped++
		o.count(reason)
		return
	}
	o.measure(r, in)
	o.sent = append(o.sent, leave(r, in)...)
}
