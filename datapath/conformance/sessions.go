package conformance

import (
	"encoding/binary"
	"net/netip"

	"github.com/plumbline-upf/plumbline/datapath/api"
)

// What the sessions of the packet table are called.
const (
	plain   = 1  // IPv4 and IPv6, QFI 9, TEID 1, peer TEID 0x101
	gated   = 2  // both gates closed
	dropped = 3  // both FARs DROP
	lte     = 4  // no QER, so no PDU Session Container; uplink PDI without UE IP address
	marked  = 5  // uplink PDI with QFI 5 and 9; downlink DSCP 46
	pending = 41 // both rules are incomplete: there is nowhere to forward packets to yet
	guest   = 7  // TEID and UE address whose place in a table of 64 is taken

	classified = 8  // several PDRs on one F-TEID and one UE address, told apart by SDF filters
	relayed    = 9  // an I-UPF's: N3 TEID 0x30 to N9, N9 TEID 0x31 to N3; URR 1; no QER
	remarked   = 13 // N3 TEID 0x32 to N9, QFI 7 by a QER
	stripped   = 55 // N3 TEID 0x36 to N9 without the PDU Session Container, QFI 7 by a QER
	outer6     = 12 // gNB over IPv6: TEID 0x23, peer TEID 0x123
	relayed6   = 40 // N3 TEID 0x33 over IPv6 to N9 over IPv4, N9 TEID 0x34 to N3; no QER
	control    = 14 // N3 TEID 0x24: ICMPv6 to the CP function; CP function's TEID 0x25 to N3
	lan        = 15 // the data network is an N6-LAN
	detailed   = 16 // TEID 0x40: a PDR for each kind of filter, both ways
	classifier = 17 // TEID 0x41: an uplink classifier; N9 TEID 0x42
	branching  = 18 // TEID 0x43: a branching point between two prefixes of the UE

	corporate = 50 // of the second data network: TEID 0x60
	natted    = 52 // of the data network with a NAT: TEID 0x63
	steered   = 51 // forwarding policies: TEID 0x61 "steered", 0x62 "to-corp"
)

// sessions returns those of the packet table. PDR 1 is uplink, PDR 2 downlink.
func sessions() []*api.Session {
	p := session(plain, 1, ue1)
	prefix := ipv6Prefix(ue16)
	p.Rules[0].Detect.UeAddress.Ipv6Prefix = prefix
	p.Rules[1].Detect.UeAddress.Ipv6Prefix = prefix

	g := session(gated, 2, netip.MustParseAddr("10.45.0.2"))
	g.Qers[0].UplinkGateClosed, g.Qers[0].DownlinkGateClosed = true, true

	d := session(dropped, 3, netip.MustParseAddr("10.45.0.3"))
	d.Rules[0].Forward.Action, d.Rules[1].Forward.Action = api.Action_DROP, api.Action_DROP

	h := session(pending, 0x35, netip.MustParseAddr("10.45.0.6"))
	for _, r := range h.Rules {
		r.Forward = &api.Forward{Incomplete: true}
	}

	l := session(lte, 4, netip.MustParseAddr("10.45.0.4"))
	l.Qers, l.Rules[0].QerIds, l.Rules[1].QerIds = nil, nil, nil
	l.Rules[0].Detect.UeAddress = nil

	m := session(marked, 5, netip.MustParseAddr("10.45.0.5"))
	m.Rules[0].Detect.Qfis = []uint32{5, 9}
	m.Rules[1].Forward.Dscp = new(uint32)
	*m.Rules[1].Forward.Dscp = 46

	return []*api.Session{
		p, g, d, l, m, h, session(guest, 0xdeadbe01, netip.MustParseAddr("10.45.1.1")),
		classifiedSession(), relayedSession(), remarkedSession(), strippedSession(), outer6Session(), relayed6Session(), controlSession(), lanSession(),
		detailedSession(), classifierSession(), branchingSession(),
		corpSession(), steeredSession(), natSession(),
	}
}

// session returns the common session: one PDR each way, one QER with QFI 9, the
// peer's TEID 0x100 above ours.
func session(seid uint64, teid uint32, ue netip.Addr) *api.Session {
	return &api.Session{
		Seid: seid,
		Rules: []*api.Rule{
			{
				PdrId: 1, Precedence: 255, QerIds: []uint32{1}, FarId: 1, OuterHeaderRemoval: true,
				Detect: &api.Detect{
					SourceInterface: api.Interface_ACCESS,
					FTeid:           &api.FTEID{Teid: teid, Ipv4: ipv4(N3Address)},
					UeAddress:       &api.UEAddress{Ipv4: ipv4(ue)},
				},
				Forward: &api.Forward{Action: api.Action_FORW, DestinationInterface: api.Interface_CORE},
			},
			{
				PdrId: 2, Precedence: 255, QerIds: []uint32{1}, FarId: 2,
				Detect: &api.Detect{SourceInterface: api.Interface_CORE, UeAddress: &api.UEAddress{Ipv4: ipv4(ue)}},
				Forward: &api.Forward{
					Action: api.Action_FORW, DestinationInterface: api.Interface_ACCESS,
					OuterHeaderCreation: &api.OuterHeaderCreation{Teid: teid + 0x100, Ipv4: ipv4(GNBAddress)},
				},
			},
		},
		Qers: []*api.QER{{Id: 1, Qfi: 9}},
	}
}

func ipv4(a netip.Addr) uint32 {
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}

func ipv6Prefix(a netip.Addr) uint64 {
	b := a.As16()
	return binary.BigEndian.Uint64(b[:])
}
