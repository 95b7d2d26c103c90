package oracle

import "github.com/plumbline-upf/plumbline/datapath/api"

// urr is a URR with what it has counted, by direction: 0 uplink, 1 downlink.
type urr struct {
	*api.URR
	octets, packets               [2]uint64
	reachedOctets, reachedPackets [2]uint64
	begun                         bool    // START_OF_TRAFFIC was raised
	threshold                     [3]bool // was reached; by direction and in all
	quota                         [3]bool
}

func (u *urr) usage() *api.URRUsage {
	return &api.URRUsage{
		UrrId: u.Id, UplinkOctets: u.octets[0], DownlinkOctets: u.octets[1], UplinkPackets: u.packets[0], DownlinkPackets: u.packets[1],
		ReachedUplinkOctets: u.reachedOctets[0], ReachedDownlinkOctets: u.reachedOctets[1],
		ReachedUplinkPackets: u.reachedPackets[0], ReachedDownlinkPackets: u.reachedPackets[1],
	}
}

func volumes(v *api.Volume) [3]uint64 { return [3]uint64{v.GetUplink(), v.GetDownlink(), v.GetTotal()} }

func direction(uplink bool) int {
	if uplink {
		return 0
	}
	return 1
}

// spent reports whether a quota for this direction is used up.
func (u *urr) spent(uplink bool) bool { return u.quota[direction(uplink)] || u.quota[2] }

// begin raises START_OF_TRAFFIC at the first packet.
func (o *Oracle) begin(r *rule, u *urr) {
	if u.StartOfTraffic && !u.begun {
		u.begun = true
		o.raise(api.EventKind_START_OF_TRAFFIC, r.session.Seid, u.Id)
	}
}

func (o *Oracle) raise(kind api.EventKind, seid uint64, rule uint32) {
	o.events = append(o.events, &api.Event{Kind: kind, Seid: seid, RuleId: rule})
}

// add counts a packet.
func (o *Oracle) add(r *rule, u *urr, octets int) {
	at := direction(r.uplink())
	u.packets[at]++
	u.octets[at] += uint64(octets)
	o.limits(r.session.Seid, u)
}

// relimit compares what was counted with new limits of the control plane.
func (o *Oracle) relimit(seid uint64, u *urr) {
	u.threshold, u.quota = [3]bool{}, [3]bool{}
	o.limits(seid, u)
}

// limits raises what is to be reported of limits that have been reached. A threshold above the
// quota is not: the packet that passes both is the last one, and the quota's report says it all.
// Source: TS 29.244 V18.6.0, 5.2.2.2, 8.2.13 (Volume Threshold), 8.2.50 (Volume Quota).
func (o *Oracle) limits(seid uint64, u *urr) {
	sums := [3]uint64{u.octets[0], u.octets[1], u.octets[0] + u.octets[1]}
	thresholds, quotas := volumes(u.Threshold), volumes(u.Quota)
	for i, sum := range sums {
		if n := thresholds[i]; n != 0 && sum >= n && !u.threshold[i] && (quotas[i] == 0 || n <= quotas[i]) {
			u.threshold[i] = true
			u.reachedOctets, u.reachedPackets = u.octets, u.packets
			o.raise(api.EventKind_VOLUME_THRESHOLD, seid, u.Id)
		}
		if n := quotas[i]; n != 0 && sum >= n && !u.quota[i] {
			u.quota[i] = true
			o.raise(api.EventKind_VOLUME_QUOTA, seid, u.Id)
		}
	}
}
