package stages

import (
	"sync/atomic"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// Carry adds what another datapath has counted for the URR, and returns the events
// of the limits that are reached by that. Packets may be counted meanwhile. What
// had been counted when the threshold was last reached stays what the other one
// says, unless it is reached only now.
func (u URR) Carry(c *api.URRUsage) []api.EventKind {
	octets := [2]uint64{Uplink: c.GetUplinkOctets(), Downlink: c.GetDownlinkOctets()}
	packets := [2]uint64{Uplink: c.GetUplinkPackets(), Downlink: c.GetDownlinkPackets()}
	before := u.reachedBy(octets)
	for i := range octets {
		atomic.AddUint64(&u.Octets[i], octets[i])
		atomic.AddUint64(&u.Packets[i], packets[i])
	}
	var events []api.EventKind
	for i := range u.Limit {
		events = append(events, u.reached(i)...)
	}
	if before || len(events) == 0 {
		u.carryReached(c)
	}
	if u.Dropped != nil {
		atomic.AddUint64(&u.Dropped.Packets, c.GetDroppedDownlinkPackets())
		atomic.AddUint64(&u.Dropped.Octets, c.GetDroppedDownlinkOctets())
		if u.Dropped.reached() {
			events = append(events, api.EventKind_DROPPED_DOWNLINK)
		}
	}
	return events
}

// reachedBy reports whether so many octets alone reach a limit.
func (u URR) reachedBy(octets [2]uint64) bool {
	for i, sum := range [...]uint64{Uplink: octets[Uplink], Downlink: octets[Downlink], Total: octets[Uplink] + octets[Downlink]} {
		if limit := atomic.LoadUint64(&u.Limit[i]); limit != UsedUp && sum >= limit {
			return true
		}
	}
	return false
}

// carryReached takes over what was counted when the threshold was last reached.
func (u URR) carryReached(c *api.URRUsage) {
	octets := [2]uint64{Uplink: c.GetReachedUplinkOctets(), Downlink: c.GetReachedDownlinkOctets()}
	packets := [2]uint64{Uplink: c.GetReachedUplinkPackets(), Downlink: c.GetReachedDownlinkPackets()}
	if packets == [2]uint64{} {
		return // it never was
	}
	for i := range octets {
		atomic.StoreUint64(&u.Owner.ReachedOctets[i], octets[i])
		atomic.StoreUint64(&u.Owner.ReachedPackets[i], packets[i])
	}
}

// Carry adds what another datapath has counted for the rule.
func (c *Counters) Carry(u *api.Usage) {
	atomic.AddUint64(&c.Packets, u.GetPackets())
	atomic.AddUint64(&c.Octets, u.GetOctets())
	atomic.AddUint64(&c.Dropped, u.GetDroppedPackets())
}

var (
	_ datapath.Movable        = (*UPF)(nil)
	_ datapath.BufferReporter = (*UPF)(nil)
	_ Inheritor               = (*UPF)(nil)
)

// Pause implements [datapath.Movable]: frames that come are lost.
func (u *UPF) Pause() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.paused = true
	return nil
}

// Resume implements [datapath.Movable].
func (u *UPF) Resume() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.paused = false
	return nil
}

// Carry implements [datapath.Movable].
func (u *UPF) Carry(seid uint64, usage *api.SessionUsage) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.sessions.Carry(seid, usage)
}

// Carry is that of [datapath.Movable].
func (s *Sessions) Carry(seid uint64, usage *api.SessionUsage) error {
	one := s.all[seid]
	if one == nil {
		return s.noSession(seid)
	}
	for _, r := range usage.GetRules() {
		for _, rule := range one.rules {
			if rule.PDRID == r.GetPdrId() {
				rule.Counters.Carry(r)
				break
			}
		}
	}
	for _, c := range usage.GetUrrs() {
		for _, u := range one.urrs {
			if u.ID != c.GetUrrId() {
				continue
			}
			for _, kind := range u.Carry(c) {
				s.cfg.Stages.post(kind, u)
			}
		}
	}
	return nil
}

// Stages are what treats the packets.
func (u *UPF) Stages() *Stages { return &u.stages }

// Inherit lets the UPF go on with what the stages of another datapath have learnt.
func (u *UPF) Inherit(from *Stages) Inherited {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.sessions.Inherit(from)
}

// Inherit is [Stages.Inherit] for the stages in which the sessions stand.
func (s *Sessions) Inherit(from *Stages) Inherited {
	return s.cfg.Stages.Inherit(from, func(seid uint64) []*Rule {
		rules, _ := s.Rules(seid)
		return rules
	})
}
