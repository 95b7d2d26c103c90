package rules

import (
	"context"
	"encoding/binary"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// Usage reads into u what was counted for a session. Errors: [*session.Error].
func (c Compiler) Usage(_ context.Context, seid uint64, u *session.Usage) error {
	counted, err := c.Bus.Usage(seid)
	if err != nil {
		return sessionError(err)
	}
	*u = session.Usage{URRs: u.URRs[:0]}
	for _, r := range counted.GetRules() {
		u.Packets += r.GetPackets()
	}
	for _, r := range counted.GetUrrs() {
		u.URRs = append(u.URRs, session.URRCounts{
			URRID: r.GetUrrId(),
			Counts: session.Counts{
				UplinkOctets: r.GetUplinkOctets(), DownlinkOctets: r.GetDownlinkOctets(),
				UplinkPackets: r.GetUplinkPackets(), DownlinkPackets: r.GetDownlinkPackets(),
			},
			Reached: session.Counts{
				UplinkOctets: r.GetReachedUplinkOctets(), DownlinkOctets: r.GetReachedDownlinkOctets(),
				UplinkPackets: r.GetReachedUplinkPackets(), DownlinkPackets: r.GetReachedDownlinkPackets(),
			},
			Dropped: session.Dropped{Packets: r.GetDroppedDownlinkPackets(), Octets: r.GetDroppedDownlinkOctets()},
		})
	}
	return nil
}

// eventKinds is what each kind of event is to a session. The limits of a URR are
// one: which of them was reached shows in the counters.
var eventKinds = map[api.EventKind]session.EventKind{
	api.EventKind_VOLUME_THRESHOLD:   session.UsageEvent,
	api.EventKind_VOLUME_QUOTA:       session.UsageEvent,
	api.EventKind_START_OF_TRAFFIC:   session.StartOfTraffic,
	api.EventKind_DOWNLINK_DATA:      session.DownlinkData,
	api.EventKind_DOWNLINK_BUFFERED:  session.DownlinkBuffered,
	api.EventKind_DOWNLINK_DISCARDED: session.DownlinkDiscarded,
	api.EventKind_DROPPED_DOWNLINK:   session.UsageEvent,
	api.EventKind_ERROR_INDICATION:   session.ErrorIndication,
	api.EventKind_PATH_DOWN:          session.PathDown,
	api.EventKind_PATH_UP:            session.PathUp,
	api.EventKind_MAC_ADDRESSES:      session.MACAddresses,
}

// Next waits for the datapath's next event. Errors: those of [bus.Bus.Next].
func (c Compiler) Next(ctx context.Context) (session.Event, error) {
	for {
		e, err := c.Bus.Next(ctx)
		if err != nil {
			return session.Event{}, err
		}
		kind, ok := eventKinds[e.GetKind()]
		if !ok {
			continue // of a newer datapath: nobody has asked for it
		}
		return session.Event{
			Kind: kind, SEID: e.GetSeid(), RuleID: ruleID(e), Tunnel: farEnd(e.GetTunnel()),
			QFI: uint8(e.GetQfi()), DSCP: uint8(e.GetDscp()), MACs: macChange(e),
		}, nil
	}
}

// ruleID is the rule of an event: a PDR may be several rules here.
func ruleID(e *api.Event) uint32 {
	switch e.GetKind() {
	case api.EventKind_DOWNLINK_DATA, api.EventKind_DOWNLINK_BUFFERED, api.EventKind_DOWNLINK_DISCARDED,
		api.EventKind_ERROR_INDICATION:
		return e.GetRuleId() & maskPDR
	}
	return e.GetRuleId()
}

// macChange is the MAC addresses of an event about them; nil of others.
func macChange(e *api.Event) *session.MACChange {
	if e.GetKind() != api.EventKind_MAC_ADDRESSES {
		return nil
	}
	return &session.MACChange{Detected: macAddresses(e.GetMacsDetected()), Removed: macAddresses(e.GetMacsRemoved())}
}

func macAddresses(list [][]byte) (out []session.MAC) {
	for _, b := range list {
		if len(b) == len(session.MAC{}) {
			out = append(out, session.MAC(b))
		}
	}
	return out
}

// farEnd is t as sessions have it.
func farEnd(t *api.Tunnel) session.Tunnel {
	out := session.Tunnel{TEID: t.GetTeid()}
	binary.BigEndian.PutUint32(out.IPv4[:], t.GetIpv4())
	copy(out.IPv6[:], t.GetIpv6())
	return out
}
