package stages

import (
	"slices"
	"sync/atomic"

	"github.com/plumbline-upf/plumbline/datapath/api"
)

// URR is a usage reporting rule: what it counted, and its quota.
type URR struct {
	*Volume
	Owner   *Owner
	Dropped *DroppedDownlink
}

// Volume is what a URR counted and when to look at it again. Its layout is that
// of struct urr in bpf/upf/rules.h, so that fast and slow path can share one.
// Octets are those of user packets forwarded.
type Volume struct {
	Octets  [2]uint64 // by Uplink, Downlink
	Packets [2]uint64
	Limit   [3]uint64 // octets; by Uplink, Downlink, Total; or NoLimit, or UsedUp
	Flags   uint32
	ID      uint32 // URR ID
}

// Owner is whose a URR is, and its quota: struct urr_owner in bpf/rules.h.
type Owner struct {
	SEID  uint64
	Quota [3]uint64 // octets; NoLimit: none
	// What was counted when VOLUME_THRESHOLD was last raised; by direction.
	ReachedOctets, ReachedPackets [2]uint64
}

// Indices of a [Volume], and limits that no count reaches.
const (
	Uplink   = 0
	Downlink = 1
	Total    = 2

	NoLimit = ^uint64(0)
	UsedUp  = 0 // the quota is reached: packets are dropped
)

// Flags of a [Volume].
const (
	FlagStart      = 0x01 // the next packet raises START_OF_TRAFFIC
	FlagStartAsked = 0x02 // the rule says so: what makes one event of many changes
	FlagBefore     = 0x04 // counts what arrives, before enforcement
	FlagMACs       = 0x08 // MAC addresses behind the UE raise MAC_ADDRESSES
	flagBoth       = 0x10 // << index: threshold and quota are the same
	FlagsOwed      = 0x700
	OwedShift      = 8 // events that XDP's programs could not tell of, as in bpf/upf/rules.h
)

func (v *Volume) has(flag uint32) bool { return atomic.LoadUint32(&v.Flags)&flag != 0 }

// clear clears a flag and reports whether it was set.
func (v *Volume) clear(flag uint32) bool { return atomic.AndUint32(&v.Flags, ^flag)&flag != 0 }

func (v *Volume) sum(i int) uint64 {
	if i == Total {
		return atomic.LoadUint64(&v.Octets[Uplink]) + atomic.LoadUint64(&v.Octets[Downlink])
	}
	return atomic.LoadUint64(&v.Octets[i])
}

// Count returns what was counted, as a driver tells it.
func (u URR) Count() *api.URRUsage {
	c := &api.URRUsage{
		UrrId:           u.ID,
		UplinkOctets:    atomic.LoadUint64(&u.Octets[Uplink]),
		DownlinkOctets:  atomic.LoadUint64(&u.Octets[Downlink]),
		UplinkPackets:   atomic.LoadUint64(&u.Packets[Uplink]),
		DownlinkPackets: atomic.LoadUint64(&u.Packets[Downlink]),

		ReachedUplinkOctets:    atomic.LoadUint64(&u.Owner.ReachedOctets[Uplink]),
		ReachedDownlinkOctets:  atomic.LoadUint64(&u.Owner.ReachedOctets[Downlink]),
		ReachedUplinkPackets:   atomic.LoadUint64(&u.Owner.ReachedPackets[Uplink]),
		ReachedDownlinkPackets: atomic.LoadUint64(&u.Owner.ReachedPackets[Downlink]),
	}
	if u.Dropped != nil {
		c.DroppedDownlinkPackets = atomic.LoadUint64(&u.Dropped.Packets)
		c.DroppedDownlinkOctets = atomic.LoadUint64(&u.Dropped.Octets)
	}
	return c
}

// note keeps what has been counted, for the report: what is read when that is
// made is more by then.
func (u URR) note() {
	for i := range u.Owner.ReachedOctets {
		atomic.StoreUint64(&u.Owner.ReachedOctets[i], atomic.LoadUint64(&u.Octets[i]))
		atomic.StoreUint64(&u.Owner.ReachedPackets[i], atomic.LoadUint64(&u.Packets[i]))
	}
}

// count adds a packet and returns the events that it raises. The packet that
// reaches a quota is the last one that is forwarded.
//
// Source: TS 29.244 V18.6.0, 5.2.2.2 (volume threshold), 8.2.50 (volume quota).
func (u URR) count(direction int, octets uint64) []api.EventKind {
	if !u.Add(direction, octets) {
		return nil
	}
	return append(u.reached(direction), u.reached(Total)...)
}

// Add counts a packet and reports whether a limit is reached: see [Stages.Reached].
func (v *Volume) Add(direction int, octets uint64) (limit bool) {
	atomic.AddUint64(&v.Packets[direction], 1)
	sum := atomic.AddUint64(&v.Octets[direction], octets)
	if sum >= atomic.LoadUint64(&v.Limit[direction]) {
		return true
	}
	all := atomic.LoadUint64(&v.Limit[Total])
	return all != NoLimit && sum+atomic.LoadUint64(&v.Octets[1-direction]) >= all
}

// Quiet reports whether packets of a direction are only counted, once they have passed
// the meters: none of them is stopped by a quota, or the first one for long.
func (v *Volume) Quiet(direction int) bool {
	return atomic.LoadUint32(&v.Flags)&(FlagStart|FlagBefore) == 0 && !v.usedUp(direction)
}

// Left returns how many octets of a direction there may be yet before a limit is reached;
// [NoLimit]: none will be.
func (v *Volume) Left(direction int) uint64 {
	left := uint64(NoLimit)
	for _, i := range [...]int{direction, Total} {
		if limit := atomic.LoadUint64(&v.Limit[i]); limit != NoLimit {
			left = min(left, limit-min(limit, v.sum(i)))
		}
	}
	return left
}

// usedUp reports whether a quota for this direction is.
func (v *Volume) usedUp(direction int) bool {
	return atomic.LoadUint64(&v.Limit[direction]) == UsedUp || atomic.LoadUint64(&v.Limit[Total]) == UsedUp
}

// reached holds a sum against its limit. The events come from the one who takes
// the limit away, however many look at the same time; who comes too late holds
// the sum against the limit that is there then.
func (u URR) reached(i int) []api.EventKind {
	for {
		sum, limit := u.sum(i), atomic.LoadUint64(&u.Limit[i])
		if sum < limit || limit == UsedUp {
			return nil
		}
		quota := atomic.LoadUint64(&u.Owner.Quota[i])
		var events []api.EventKind
		if limit < quota || u.has(flagBoth<<i) {
			events = append(events, api.EventKind_VOLUME_THRESHOLD)
		}
		next := quota
		if sum >= quota {
			next = UsedUp
			events = append(events, api.EventKind_VOLUME_QUOTA)
		}
		if atomic.CompareAndSwapUint64(&u.Limit[i], limit, next) {
			events = append(events, u.renew(i, sum, next)...)
			if slices.Contains(events, api.EventKind_VOLUME_THRESHOLD) {
				u.note()
			}
			return events
		}
	}
}

// renew lets the quota count that is there now, behind a limit that became next:
// SetLimits may have put the same limit back, with another quota behind it.
func (u URR) renew(i int, sum, next uint64) []api.EventKind {
	now := atomic.LoadUint64(&u.Owner.Quota[i])
	if sum >= now {
		now = UsedUp
	}
	if now != next && atomic.CompareAndSwapUint64(&u.Limit[i], next, now) && now == UsedUp {
		return []api.EventKind{api.EventKind_VOLUME_QUOTA}
	}
	return nil
}

// SetLimits makes threshold, quota and start of traffic those of in and returns
// the events that this raises: a limit that is reached already is reported at
// once. What was counted stays. Packets may be counted meanwhile: the limits are
// lifted first and held against the sums last.
func (u URR) SetLimits(in *api.URR) []api.EventKind {
	for i := range u.Limit {
		atomic.StoreUint64(&u.Limit[i], NoLimit)
	}
	threshold, quota := limits(in.GetThreshold()), limits(in.GetQuota())
	var flags uint32
	if in.GetBeforeEnforcement() {
		flags |= FlagBefore
	}
	if in.GetMacAddresses() {
		flags |= FlagMACs
	}
	for i := range quota {
		atomic.StoreUint64(&u.Owner.Quota[i], quota[i])
		if threshold[i] == quota[i] && quota[i] != NoLimit {
			flags |= flagBoth << i
		}
	}
	u.setFlags(in, flags)
	var events []api.EventKind
	if u.Dropped != nil && u.Dropped.setLimits(in) {
		events = append(events, api.EventKind_DROPPED_DOWNLINK)
	}
	for i := range threshold {
		atomic.StoreUint64(&u.Limit[i], min(threshold[i], quota[i]))
		events = append(events, u.reached(i)...)
	}
	return events
}

// setFlags sets flags, and START_OF_TRAFFIC when in asks for it and did not before.
// A packet may clear that meanwhile, or leave an event.
func (v *Volume) setFlags(in *api.URR, flags uint32) {
	for {
		was := atomic.LoadUint32(&v.Flags)
		if atomic.CompareAndSwapUint32(&v.Flags, was, flags|was&FlagsOwed|startFlags(in, was)) {
			return
		}
	}
}

func startFlags(in *api.URR, was uint32) uint32 {
	switch {
	case !in.GetStartOfTraffic():
		return 0
	case was&FlagStartAsked != 0:
		return was & (FlagStart | FlagStartAsked)
	}
	return FlagStart | FlagStartAsked
}

func limits(v *api.Volume) [3]uint64 {
	all := [3]uint64{Uplink: v.GetUplink(), Downlink: v.GetDownlink(), Total: v.GetTotal()}
	for i := range all {
		if all[i] == 0 {
			all[i] = NoLimit
		}
	}
	return all
}
