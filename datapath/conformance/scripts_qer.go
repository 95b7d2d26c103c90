package conformance

import (
	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// low is a rate of which no time passes in a test: what is let through is the
// burst of three packets of 1500 octets and the one that exceeds it.
const low = 1000

// tunnels is a session with an uplink PDR for each of the TEIDs from 1 on, whose
// QERs are those given.
func tunnels(qers []*api.QER, ids ...[]uint32) *api.Session {
	s := &api.Session{Seid: 1, Qers: qers}
	for i, of := range ids {
		n := uint32(i + 1)
		s.Rules = append(s.Rules, uplink(n, 255, n, ue1, func(r *api.Rule) { r.QerIds = of }))
	}
	return s
}

var bigUp = size(up4, 1500)

// through is bigUp through a tunnel, which leaves, and above one that does not.
func through(teid uint32) packet {
	return packet{
		port: N3, in: onN3(gpdu(pscUL(hexTEID(teid)), bigUp)), want: outN6(GatewayMAC, size(up4x, 1500)),
		seid: 1, pdr: teid, octets: 1500, either: true,
	}
}

func above(teid uint32, reason datapath.Reason) packet {
	p := through(teid)
	p.want, p.octets, p.reason = nil, 0, reason
	return p
}

const tooMuch, tooOften = datapath.DropMBR, datapath.DropPacketRate

func hexTEID(teid uint32) string {
	return "000000" + string("0123456789abcdef"[teid>>4&15]) + string("0123456789abcdef"[teid&15])
}

// meterScripts: several QERs of a PDR.
var meterScripts = []script{
	{"session AMBR over the flows' MBRs", []step{
		install(tunnels([]*api.QER{{Id: 1, UplinkMbrBps: low}, {Id: 2, UplinkMbrBps: 1e9}, {Id: 3, UplinkMbrBps: 1e9}}, []uint32{1, 2}, []uint32{1, 3})),
		frames(2, through(1)), frames(2, through(2)),
		frames(1, above(1, tooMuch)), frames(1, above(2, tooMuch)),
	}},
	{"uplink and downlink have meters of their own", []step{
		install(change(session(1, 1, ue1), mbr(low))),
		frames(4, big), frames(1, packet{port: N3, in: big.in, reason: tooMuch, seid: 1, pdr: 1}),
		frames(4, downRow),
	}},
	{"gates of any QER close", []step{
		install(tunnels([]*api.QER{{Id: 1}, {Id: 2, UplinkGateClosed: true}, {Id: 3, DownlinkGateClosed: true}}, []uint32{1, 2}, []uint32{1, 3})),
		frames(1, above(1, datapath.DropGate)), frames(1, through(2)),
	}},
	{"what a gate stops is not charged", []step{
		install(tunnels([]*api.QER{{Id: 1, UplinkMbrBps: low}, {Id: 2, UplinkGateClosed: true}}, []uint32{1, 2}, []uint32{1})),
		frames(8, above(1, datapath.DropGate)), frames(4, through(2)), frames(1, above(2, tooMuch)),
	}},
	{"what a quota stops is not charged", []step{
		install(change(tunnels([]*api.QER{{Id: 1, UplinkMbrBps: low}}, []uint32{1}, []uint32{1}), func(s *api.Session) {
			s.Urrs = []*api.URR{{Id: 1, Quota: &api.Volume{Total: 1}}}
			s.Rules[0].UrrIds = []uint32{1}
		})),
		frames(1, urrsOf(through(1), []uint32{1}, quotaReached)), frames(8, above(1, datapath.DropQuota)),
		frames(3, through(2)), frames(1, above(2, tooMuch)),
	}},
	{"a meter goes on while its rules change, and with another rate", []step{
		install(tunnels([]*api.QER{{Id: 1, UplinkMbrBps: low}}, []uint32{1})), frames(4, through(1)), frames(1, above(1, tooMuch)),
		install(tunnels([]*api.QER{{Id: 1, UplinkMbrBps: low}}, []uint32{1}, []uint32{1})), frames(1, above(2, tooMuch)),
		install(tunnels([]*api.QER{{Id: 1, UplinkMbrBps: low, Qfi: 5}}, []uint32{1})), frames(1, above(1, tooMuch)),
		install(tunnels([]*api.QER{{Id: 1}}, []uint32{1})), frames(2, through(1)),
	}},
}

// urrsOf states that URRs count the row, and what events it raises.
func urrsOf(p packet, ids []uint32, events ...*api.Event) packet {
	p.urrs, p.events = ids, events
	return p
}

var gbrScripts = []script{
	{"a packet is charged by all QERs or by none", []step{
		install(tunnels([]*api.QER{{Id: 1, UplinkMbrBps: low}, {Id: 2, UplinkMbrBps: low}}, []uint32{1, 2}, []uint32{2}, []uint32{1})),
		frames(4, through(2)), frames(1, above(2, tooMuch)),
		frames(8, above(1, tooMuch)), // the second refuses, so the first has seen nothing
		frames(4, through(3)), frames(1, above(3, tooMuch)),
	}},
	{"within the GBR of one QER the MBR of another drops nothing", []step{
		install(tunnels([]*api.QER{{Id: 1, UplinkMbrBps: low}, {Id: 2, UplinkGbrBps: 1e12, Qfi: 5}}, []uint32{1, 2}, []uint32{1})),
		frames(4, through(2)), frames(1, above(2, tooMuch)),
		frames(20, through(1)),
	}},
	{"the order of the QERs does not matter", []step{
		install(tunnels([]*api.QER{{Id: 1, UplinkMbrBps: low}, {Id: 2, UplinkGbrBps: 1e12}}, []uint32{2, 1})), frames(20, through(1)),
	}},
	{"what is within the GBR counts for the others", []step{
		install(tunnels([]*api.QER{{Id: 1, UplinkMbrBps: low}, {Id: 2, UplinkGbrBps: 1e12}}, []uint32{1, 2}, []uint32{1})),
		frames(4, through(1)), frames(1, above(2, tooMuch)),
	}},
	{"beyond the GBR the MBRs hold", []step{
		install(tunnels([]*api.QER{{Id: 1, UplinkMbrBps: low}, {Id: 2, UplinkGbrBps: low}}, []uint32{1, 2}, []uint32{1}, []uint32{2})),
		frames(4, through(2)),                               // the AMBR is used up
		frames(4, through(1)), frames(1, above(1, tooMuch)), // and now the GBR
		frames(4, through(3)), // which drops nothing itself
	}},
	{"a QER's GBR does not lift its own MBR", []step{
		install(tunnels([]*api.QER{{Id: 1, UplinkMbrBps: low, UplinkGbrBps: 1e12}}, []uint32{1})),
		frames(4, through(1)), frames(1, above(1, tooMuch)),
	}},
	{"a packet that its MBR drops leaves the GBR alone", []step{
		install(tunnels([]*api.QER{{Id: 1, UplinkMbrBps: low}, {Id: 2, UplinkGbrBps: low, UplinkMbrBps: low}}, []uint32{1, 2}, []uint32{2}, []uint32{1})),
		frames(4, through(2)), frames(8, above(2, tooMuch)), frames(8, above(1, tooMuch)),
		frames(4, through(3)), frames(1, above(3, tooMuch)),
	}},
	{"a GBR of the other direction guarantees nothing", []step{
		install(tunnels([]*api.QER{{Id: 1, UplinkMbrBps: low}, {Id: 2, DownlinkGbrBps: 1e12}}, []uint32{1, 2})),
		frames(4, through(1)), frames(1, above(1, tooMuch)),
	}},
}

func perHour(packets uint32) *api.PacketRate {
	return &api.PacketRate{Packets: packets, TimeMs: 3600 * 1000}
}

var packetRateScripts = []script{
	{"a packet rate lets all packets of its time through at once, and no more", []step{
		install(tunnels([]*api.QER{{Id: 1, UplinkPacketRate: perHour(3)}}, []uint32{1})),
		frames(3, through(1)), frames(3, above(1, tooOften)),
	}},
	{"one packet an hour", []step{
		install(tunnels([]*api.QER{{Id: 1, UplinkPacketRate: perHour(1)}}, []uint32{1})),
		frames(1, through(1)), frames(2, above(1, tooOften)),
	}},
	{"packet rates of several QERs, all or nothing", []step{
		install(tunnels([]*api.QER{{Id: 1, UplinkPacketRate: perHour(3)}, {Id: 2, UplinkPacketRate: perHour(1)}}, []uint32{1, 2}, []uint32{1})),
		frames(1, through(1)), frames(5, above(1, tooOften)), frames(2, through(2)), frames(1, above(2, tooOften)),
	}},
	{"what an MBR drops is no packet of the packet rate", []step{
		install(tunnels([]*api.QER{{Id: 1, UplinkPacketRate: perHour(6)}, {Id: 2, UplinkMbrBps: low}}, []uint32{1, 2}, []uint32{1})),
		frames(4, through(1)), frames(5, above(1, tooMuch)), frames(2, through(2)), frames(1, above(2, tooOften)),
	}},
	{"a GBR does not lift a packet rate", []step{
		install(change(tunnels([]*api.QER{{Id: 1, UplinkPacketRate: perHour(2)}}, []uint32{1}), func(s *api.Session) {})),
		frames(2, through(1)), frames(1, above(1, tooOften)),
	}},
	{"a downlink packet rate", []step{
		install(change(session(1, 1, ue1), func(s *api.Session) { s.Qers[0].DownlinkPacketRate = perHour(2) })),
		frames(4, eitherWay(upRow)), frames(2, eitherWay(downRow)), frames(1, packet{port: N6, in: downRow.in, reason: tooOften, seid: 1, pdr: 2}),
	}},
}

func eitherWay(p packet) packet {
	p.either = true
	return p
}
