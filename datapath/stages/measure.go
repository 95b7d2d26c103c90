package stages

import (
	"sync/atomic"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// spent reports whether a quota is used up for packets of r.
func (r *Rule) spent() bool {
	for i := range r.URRs {
		if r.URRs[i].usedUp(r.direction()) {
			return true
		}
	}
	return false
}

// measureArrived counts a packet that arrives for the URRs that measure before
// enforcement: whatever gates and meters do with it, but not if a quota stops it.
//
// Source: TS 29.244 V18.6.0, 8.2.68 (MBQE).
func (s *Stages) measureArrived(r *Rule, octets int, spent bool) {
	for _, u := range r.URRs {
		if !u.has(FlagBefore) {
			continue
		}
		s.start(u)
		if !spent {
			s.count(u, r.direction(), octets)
		}
	}
}

// admit is gate and quota. Unless the gate is closed START_OF_TRAFFIC is raised.
func (s *Stages) admit(r *Rule, spent bool) datapath.Reason {
	if r.Gate {
		return datapath.DropGate
	}
	for _, u := range r.URRs {
		s.start(u)
	}
	if spent {
		return datapath.DropQuota
	}
	return datapath.ReasonNone
}

func (s *Stages) start(u URR) {
	if u.clear(FlagStart) {
		s.post(api.EventKind_START_OF_TRAFFIC, u)
	}
}

// Measure counts a packet that is forwarded. It allocates nothing but events.
func (s *Stages) Measure(r *Rule, octets int) {
	r.Counters.Add(octets)
	for _, u := range r.URRs {
		if !u.has(FlagBefore) {
			s.count(u, r.direction(), octets)
		}
	}
}

// MeasureMany counts packets of r that were forwarded and dropped elsewhere. Limits that they
// reach are told of now.
func (s *Stages) MeasureMany(r *Rule, n datapath.Total) {
	atomic.AddUint64(&r.Counters.Packets, n.Packets)
	atomic.AddUint64(&r.Counters.Octets, n.Octets)
	atomic.AddUint64(&r.Counters.Dropped, n.Dropped)
	if n.Packets == 0 {
		return
	}
	for _, u := range r.URRs {
		if !u.has(FlagBefore) {
			atomic.AddUint64(&u.Packets[r.direction()], n.Packets)
			atomic.AddUint64(&u.Octets[r.direction()], n.Octets)
			s.Reached(u, r.direction())
		}
	}
}

// Add counts a packet that is forwarded.
func (c *Counters) Add(octets int) {
	atomic.AddUint64(&c.Packets, 1)
	atomic.AddUint64(&c.Octets, uint64(octets))
}

// Reached raises what is to be told of a URR whose [Volume.Add] has reported a limit.
func (s *Stages) Reached(u URR, direction int) {
	for _, i := range [...]int{direction, Total} {
		for _, kind := range u.reached(i) {
			s.post(kind, u)
		}
	}
}

func (s *Stages) count(u URR, direction, octets int) {
	for _, kind := range u.count(direction, uint64(octets)) {
		s.post(kind, u)
	}
}

func (r *Rule) direction() int { return directionOf(r.Uplink) }

// Touch reads what of a rule lies elsewhere, so that it comes from memory before it
// is needed; nil: there is none. What it returns means nothing.
func Touch(c *Counters, m *Meter, v *Volume) (sink uint64) {
	sink = atomic.LoadUint64(&c.Packets)
	if m != nil {
		sink += atomic.LoadUint64(&m.tat)
	}
	if v != nil {
		sink += atomic.LoadUint64(&v.Packets[0])
	}
	return sink
}

// CountDropped counts a packet that matched and is dropped.
func (r *Rule) CountDropped() { atomic.AddUint64(&r.Counters.Dropped, 1) }

func (s *Stages) post(kind api.EventKind, u URR) {
	if s.Post != nil {
		s.Post(&api.Event{Kind: kind, Seid: u.Owner.SEID, RuleId: u.Volume.ID})
	}
}
