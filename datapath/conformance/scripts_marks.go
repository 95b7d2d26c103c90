package conformance

import (
	"testing"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// marks is the common session with a change of its QER.
func marks(f func(q *api.QER)) *api.Session {
	return change(session(1, 1, ue1), func(s *api.Session) { f(s.Qers[0]) })
}

// markedDown is a downlink packet with the GTP-U header that it must get; the
// header's DSCP is that of the packet's or dscp.
func markedDown(in user, dscp uint8, header string) packet {
	return packet{
		port: N6, in: onN6(in), seid: 1, pdr: 2, octets: size4, either: true,
		want: outN3(GNBAddress, GNBMAC, portDown4, dscp, gpdu(header, hop(in))),
	}
}

const plainDL = "34ff LEN 00000101 0000 00 85 01 00 09 00"

// remarking is session relayed with a QER both ways.
func remarking(q *api.QER) *api.Session {
	return change(relayedSession(), func(s *api.Session) {
		s.Qers = []*api.QER{q}
		s.Rules[0].QerIds, s.Rules[1].QerIds = []uint32{1}, []uint32{1}
	})
}

var markingScripts = []script{
	{"RQI", []step{
		install(marks(func(q *api.QER) { q.Rqi = true })),
		frames(1, markedDown(down4, 0, "34ff LEN 00000101 0000 00 85 01 00 49 00")), frames(1, eitherWay(upRow)),
	}},
	{"paging policy", []step{
		install(marks(func(q *api.QER) { q.PagingPolicy = value(5) })),
		frames(1, markedDown(down4, 0, "34ff LEN 00000101 0000 00 85 02 00 89 a0 000000 00")),
		install(marks(func(q *api.QER) { q.PagingPolicy, q.Rqi = value(0), true })),
		frames(1, markedDown(down4, 0, "34ff LEN 00000101 0000 00 85 02 00 c9 00 000000 00")),
	}},
	{"RQI and paging policy without QFI: no container", []step{
		install(marks(func(q *api.QER) { q.Qfi, q.Rqi, q.PagingPolicy = 0, true, value(5) })),
		frames(1, markedDown(down4, 0, "30ff LEN 00000101")),
	}},
	{"DL Flow Level Marking", []step{
		install(marks(func(q *api.QER) { q.DownlinkTos, q.DownlinkTosMask = 0xb8, 0xfc })),
		frames(1, markedDown(down4, 46, plainDL)), frames(1, markedDown(tos(down4, 0x28), 46, plainDL)), frames(1, eitherWay(upRow)),
	}},
	{"DL Flow Level Marking under a mask, over the packet's DSCP", []step{
		install(marks(func(q *api.QER) { q.DownlinkTos, q.DownlinkTosMask = 0xff, 0xe0 })),
		frames(1, markedDown(tos(down4, 0x18), 0xf8>>2, plainDL)),
	}},
	{"DL Flow Level Marking comes before Transport Level Marking, and leaves ECN alone", []step{
		install(change(marks(func(q *api.QER) { q.DownlinkTos, q.DownlinkTosMask = 0xff, 0x83 }), func(s *api.Session) {
			s.Rules[1].Forward.Dscp = value(10)
		})),
		frames(1, markedDown(tos(down4, 0x01), 32|10, plainDL)),
	}},
	{"Service Class Indicator behind the container", []step{
		install(marks(func(q *api.QER) { q.ServiceClass = value(0x81) })),
		frames(1, markedDown(down4, 0, "34ff LEN 00000101 0000 00 85 01 00 09 20 01 81 00 00")),
	}},
	{"Service Class Indicator alone: 4G", []step{
		install(marks(func(q *api.QER) { q.Qfi, q.ServiceClass = 0, value(0) })),
		frames(1, markedDown(down4, 0, "34ff LEN 00000101 0000 00 20 01 00 00 00")),
	}},
	{"marks of several QERs: the first that has one", []step{
		install(change(marks(func(q *api.QER) { q.Rqi = true }), func(s *api.Session) {
			s.Qers = append(s.Qers, &api.QER{Id: 2, Qfi: 5, PagingPolicy: value(1)}, &api.QER{Id: 3, PagingPolicy: value(2), ServiceClass: value(7)})
			s.Rules[1].QerIds = []uint32{1, 2, 3}
		})),
		frames(1, markedDown(down4, 0, "34ff LEN 00000101 0000 00 85 02 00 c9 20 000000 20 01 07 00 00")),
	}},
	{"a relay marks RQI in the container that came", append([]step{install(remarking(&api.QER{Id: 1, Rqi: true}))}, rows(
		toN3("RQI", "34ff LEN 00000031 0000 00 85 01 00 05 00", "34ff LEN 00000131 0000 00 85 01 00 45 00", dn9),
		toN3("RQI in a longer container", "34ff LEN 00000031 0000 00 85 02 00 85 a0000000 00", "34ff LEN 00000131 0000 00 85 02 00 c5 a0000000 00", dn9),
		toN3("RQI behind another header", "34ff LEN 00000031 0000 00 c0 01 0001 85 01 00 05 00",
			"34ff LEN 00000131 0000 00 c0 01 0001 85 01 00 45 00", dn9),
		toN3("no RQI in an uplink container", "34ff LEN 00000031 0000 00 85 01 10 05 00", "34ff LEN 00000131 0000 00 85 01 10 05 00", dn9),
		toN3("no RQI in a longer uplink container", "34ff LEN 00000031 0000 00 85 02 18 05 01 020304 00",
			"34ff LEN 00000131 0000 00 85 02 18 05 01 020304 00", dn9),
		toN3("no container, no RQI", "30ff LEN 00000031", "30ff LEN 00000131", dn9),
		toN3("another header, no RQI", "34ff LEN 00000031 0000 00 c0 01 0001 00", "34ff LEN 00000131 0000 00 c0 01 0001 00", dn9),
		toN9("uplink", pscUL("00000030"), "34ff LEN 00000130 0000 00 85 01 10 09 00", up9),
	)...)},
	{"a relay marks QFI and RQI", append([]step{install(remarking(&api.QER{Id: 1, Qfi: 7, Rqi: true}))}, rows(
		toN3("QFI and RQI", "34ff LEN 00000031 0000 00 85 01 00 05 00", "34ff LEN 00000131 0000 00 85 01 00 47 00", dn9),
		toN3("a container of ours", "30ff LEN 00000031", "34ff LEN 00000131 0000 00 85 01 00 47 00", dn9),
		toN3("QFI alone in an uplink container", "34ff LEN 00000031 0000 00 85 01 10 05 00", "34ff LEN 00000131 0000 00 85 01 10 07 00", dn9),
	)...)},
	{"a relay marks in the container that came", []step{
		install(change(relayedSession(), func(s *api.Session) {
			s.Qers = []*api.QER{{Id: 1, Rqi: true, PagingPolicy: value(3)}}
			s.Rules[0].QerIds, s.Rules[1].QerIds = []uint32{1}, []uint32{1}
		})),
		frames(1, eitherWay(toN3("marked", "34ff LEN 00000031 0000 00 85 01 00 05 00", "34ff LEN 00000131 0000 00 85 02 00 c5 60 000000 00", dn9))),
		frames(1, eitherWay(toN3("without container", "30ff LEN 00000031", "30ff LEN 00000131", dn9))),
		frames(1, eitherWay(toN9("uplink", pscUL("00000030"), "34ff LEN 00000130 0000 00 85 01 10 09 00", up9))),
	}},
}

// before is the common session with URR 1, which measures before enforcement.
func before(f func(u *api.URR)) *api.Session {
	return measured(both(f, func(u *api.URR) { u.BeforeEnforcement = true }))
}

func nothing(*api.URR) {}

// arrived is a packet that is dropped, but was measured before: who counts it is
// stated by the next step.
func arrived(p packet, reason datapath.Reason, uplink, downlink uint64) step {
	return func(t *testing.T, d Datapath, fast bool) {
		t.Helper()
		got := d.Frame(t, p.port, append([]byte(nil), p.in...))
		if got.Reason != reason {
			t.Errorf("reason %v, want %v", got.Reason, reason)
		}
		measuredVolume(1, volume{uplink * size4, downlink * size4, uplink, downlink})(t, d, fast)
	}
}

var beforeScripts = []script{
	{"before enforcement, what passes is counted once", []step{
		install(before(nothing)), frames(2, eitherWay(with(upRow))), frames(1, eitherWay(with(downRow))),
		measuredVolume(1, volume{2 * size4, size4, 2, 1}),
	}},
	{"before enforcement, what a gate stops is counted", []step{
		install(change(before(startOfTraffic), func(s *api.Session) { s.Qers[0].UplinkGateClosed = true })),
		arrived(upRow, datapath.DropGate, 1, 0), raised(trafficStarted), arrived(upRow, datapath.DropGate, 2, 0), raised(),
		counted(1, 1, counters{0, 0, 2}),
	}},
	{"before enforcement, what an MBR drops is counted", []step{
		install(change(before(threshold(77*size4, 0, 0)), mbr(low))),
		func(t *testing.T, d Datapath, _ bool) {
			t.Helper()
			for range 77 { // 75 packets of 60 octets are the burst
				d.Frame(t, N3, append([]byte(nil), upRow.in...))
			}
		},
		raised(thresholdReached), measuredVolume(1, volume{77 * size4, 0, 77, 0}), counted(1, 1, counters{76, 76 * size4, 1}),
	}},
	{"before enforcement, what a FAR drops is not counted", []step{
		install(change(before(nothing), func(s *api.Session) { s.Rules[0].Forward = &api.Forward{} })),
		arrived(upRow, datapath.DropFAR, 0, 0),
	}},
	{"before enforcement, the packet that reaches the quota is the last one", []step{
		install(before(quota(2*size4, 0, 0))), frames(1, eitherWay(with(upRow))), frames(1, eitherWay(with(upRow, quotaReached))),
		arrived(upRow, datapath.DropQuota, 2, 0), arrived(downRow, datapath.DropQuota, 2, 0),
	}},
	{"before and after enforcement", []step{
		install(change(before(nothing), func(s *api.Session) {
			s.Urrs = append(s.Urrs, &api.URR{Id: 2})
			s.Rules[0].UrrIds = []uint32{2, 1}
			s.Qers[0].UplinkPacketRate = nil
		})),
		frames(1, packet{port: N3, in: upRow.in, want: upRow.want, seid: 1, pdr: 1, octets: size4, urrs: []uint32{1, 2}, either: true}),
		install(change(before(nothing), func(s *api.Session) {
			s.Urrs = append(s.Urrs, &api.URR{Id: 2})
			s.Rules[0].UrrIds = []uint32{2, 1}
			s.Qers[0].UplinkGateClosed = true
		})),
		arrived(upRow, datapath.DropGate, 2, 0), measuredVolume(2, volume{size4, 0, 1, 0}),
	}},
	{"before enforcement, a packet that is buffered is counted when it comes", []step{
		install(change(before(nothing), func(s *api.Session) { s.Rules[1].Forward = &api.Forward{Action: api.Action_BUFF} })),
		arrived(downRow, datapath.PassBuffer, 0, 1),
		install(before(nothing)), left(downRow.want[14:]), measuredVolume(1, volume{0, size4, 0, 1}),
	}},
	{"measurement moves behind enforcement and back", []step{
		install(before(nothing)), frames(1, eitherWay(with(upRow))),
		install(change(measured(nothing), func(s *api.Session) { s.Qers[0].UplinkGateClosed = true })), arrived(upRow, datapath.DropGate, 1, 0),
		install(change(before(nothing), func(s *api.Session) { s.Qers[0].UplinkGateClosed = true })), arrived(upRow, datapath.DropGate, 2, 0),
	}},
}
