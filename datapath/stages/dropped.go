package stages

import (
	"slices"
	"sync/atomic"

	"github.com/plumbline-upf/plumbline/datapath/api"
)

// DroppedDownlink is what a URR counted of downlink packets that were dropped
// instead of buffered or paged for. Its layout is that of struct urr_dropped in
// bpf/upf/rules.h, so that it outlives the process.
//
// Source: TS 29.244 V18.6.0, 5.2.2.2.1 and 8.2.49 (Dropped DL Traffic Threshold).
type DroppedDownlink struct {
	Packets, Octets uint64
	Limit           [2]uint64 // of packets, of octets; 0: none, or it has been reached
	Asked           [2]uint64 // what the rule says, so that it is raised once for each value; 0: none
}

// counts reports whether anybody wants to know.
func (d *DroppedDownlink) counts() bool {
	return atomic.LoadUint64(&d.Asked[0])|atomic.LoadUint64(&d.Asked[1]) != 0
}

// setLimits makes the limits those of in, and reports whether one that is new has
// been reached already.
func (d *DroppedDownlink) setLimits(in *api.URR) bool {
	for i, asked := range [...]uint64{in.GetDroppedDownlinkPackets(), in.GetDroppedDownlinkOctets()} {
		if atomic.SwapUint64(&d.Asked[i], asked) == asked {
			continue
		}
		atomic.StoreUint64(&d.Limit[i], asked)
	}
	return d.reached()
}

// reached takes away the limits that have been reached, and reports whether there
// are any.
func (d *DroppedDownlink) reached() (any bool) {
	for i, sum := range [...]uint64{atomic.LoadUint64(&d.Packets), atomic.LoadUint64(&d.Octets)} {
		if limit := atomic.LoadUint64(&d.Limit[i]); limit != 0 && sum >= limit {
			any = atomic.CompareAndSwapUint64(&d.Limit[i], limit, 0) || any
		}
	}
	return any
}

// CountsDropped reports whether a URR of the rule counts packets that are dropped
// instead of buffered.
func (r *Rule) CountsDropped() bool {
	return !r.Uplink && slices.ContainsFunc(r.URRs, func(u URR) bool { return u.Dropped != nil && u.Dropped.counts() })
}

// discarded counts a packet that is dropped instead of buffered.
func (s *Stages) discarded(r *Rule, octets int) {
	r.CountDropped()
	if r.Uplink {
		return
	}
	for _, u := range r.URRs {
		d := u.Dropped
		if d == nil || !d.counts() {
			continue
		}
		atomic.AddUint64(&d.Packets, 1)
		atomic.AddUint64(&d.Octets, uint64(octets))
		if d.reached() {
			s.post(api.EventKind_DROPPED_DOWNLINK, u)
		}
	}
}
