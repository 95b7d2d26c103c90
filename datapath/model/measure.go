package model

import (
	"sync/atomic"

	"plumbline/api"
	"plumbline/datapath"
)

// admit looks at the URRs before a packet is metered: START_OF_TRAFFIC is
// raised, and the packet is dropped if a quota is used up.
func (s *Stages) admit(r *Rule) datapath.Reason {
	reason, direction := datapath.ReasonNone, r.direction()
	for _, u := range r.URRs {
		if u.clear(FlagStart) {
			s.post(api.EventKind_START_OF_TRAFFIC, u)
		}
		if u.usedUp(direction) {
			reason = datapath.DropQuota
		}
	}
	return reason
}

// measure counts a packet that is forwarded.
func (s *Stages) measure(r *Rule, octets int) {
	atomic.AddUint64(&r.Counters.Packets, 1)
	atomic.AddUint64(&r.Counters.Octets, uint64(octets))
	for _, u := range r.URRs {
		for _, kind := range u.count(r.direction(), uint64(octets)) {
			s.post(kind, u)
		}
	}
}

func (r *Rule) direction() int {
	if r.Uplink {
		return Uplink
	}
	return Downlink
}

func (r *Rule) countDropped() { atomic.AddUint64(&r.Counters.Dropped, 1) }

func (s *Stages) post(kind api.EventKind, u URR) {
	if s.Post != nil {
		s.Post(&api.Event{Kind: kind, Seid: u.Owner.SEID, RuleId: u.Volume.ID})
	}
}
