package conformance

import (
	"slices"
	"testing"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

var signalScripts = []script{
	{"End Marker behind the last packet of the old path", []step{
		install(session(1, 1, ue1)), frames(1, downRow),
		apply(&api.Change{
			Seid: 1, Session: change(session(1, 1, ue1), switchPath),
			EndMarkers: endsOf(tunnel(0x101, GNBAddress)),
		}),
		left(told(N3Address, GNBAddress, "30fe 0000 00000101")...),
	}},
	{"End Marker of an old path on N9", []step{
		install(relayedSession()),
		apply(&api.Change{
			Seid: relayed, Session: change(relayedSession(), func(s *api.Session) {
				s.Rules[0].Forward.OuterHeaderCreation.Teid = 0x555
			}),
			EndMarkers: endsOf(tunnel(0x130, PeerAddress)),
		}),
		left(told(N9Address, PeerAddress, "30fe 0000 00000130")...),
	}},
	{"End Marker over IPv6, and two of them", []step{
		install(outer6Session()),
		apply(&api.Change{
			Seid: outer6, Session: outer6Session(),
			EndMarkers: endsOf(tunnel(0x123, GNBAddress6), tunnel(0x200, GNBAddress)),
		}),
		left(slices.Concat([][]byte{from6("30fe 0000 00000123")}, told(N3Address, GNBAddress, "30fe 0000 00000200"))...),
	}},
	{"End Markers of QoS flows, down and up", []step{
		install(session(1, 1, ue1)),
		apply(&api.Change{Seid: 1, Session: change(session(1, 1, ue1), switchPath), EndMarkers: []*api.EndMarker{
			{Tunnel: tunnel(0x101, GNBAddress), Qfi: 5, DestinationInterface: api.Interface_ACCESS},
			{Tunnel: tunnel(0x102, GNBAddress), Qfi: 63, DestinationInterface: api.Interface_CORE},
		}}),
		left(slices.Concat(told(N3Address, GNBAddress, "34fe 0008 00000101 0000 00 85 01 00 05 00"),
			told(N3Address, GNBAddress, "34fe 0008 00000102 0000 00 85 01 10 3f 00"))...),
	}},
	{"End Marker of a QoS flow goes into the tunnels of its packets", append([]step{install(flowsSession())}, rows(
		endMarker("QFI 5", "34fe LEN 00000031 0000 00 85 01 00 05 00", told(N3Address, GNBAddress, "34fe 0008 00000231 0000 00 85 01 00 05 00")),
		endMarker("QFI 6", "34fe LEN 00000031 0000 00 85 01 00 06 00", told(N3Address, GNBAddress, "34fe 0008 00000232 0000 00 85 01 00 06 00")),
		endMarker("QFI 7, which the last rule takes", "34fe LEN 00000031 0000 00 85 01 00 07 00",
			told(N3Address, GNBAddress, "34fe 0008 00000131 0000 00 85 01 00 07 00")),
		endMarker("behind a sequence number and another header", "36fe LEN 00000031 0007 00 c0 01 0001 85 01 00 05 00",
			told(N3Address, GNBAddress, "34fe 000c 00000231 0000 00 c0 01 0001 85 01 00 05 00")),
		endMarker("no container: all flows", "30fe LEN 00000031", slices.Concat(told(N3Address, GNBAddress, "30fe 0000 00000231"),
			told(N3Address, GNBAddress, "30fe 0000 00000232"), told(N3Address, GNBAddress, "30fe 0000 00000131"))),
	)...)},
	{"End Marker of a QoS flow that a QER marks anew", []step{
		install(change(flowsSession(), func(s *api.Session) {
			s.Qers = []*api.QER{{Id: 1, Qfi: 9}}
			s.Rules[0].QerIds = []uint32{1}
		})),
		frames(1, endMarker("QFI 5", "34fe LEN 00000031 0000 00 85 01 00 05 00",
			told(N3Address, GNBAddress, "34fe 0008 00000231 0000 00 85 01 00 09 00"))),
	}},
	{"End Marker of a QoS flow that no rule takes", []step{
		install(change(flowsSession(), func(s *api.Session) { s.Rules[3].Detect.Qfis = []uint32{7} })),
		frames(1, endMarker("QFI 8", "34fe LEN 00000031 0000 00 85 01 00 08 00", nil)),
	}},
	{unsettled + "nobody is told that a TEID is not known", []step{
		frames(1, packet{port: N3, in: upRow.in, reason: datapath.DropNoPDR}),
		func(t *testing.T, d Datapath, _ bool) { settle(t, d) },
		frames(1, upUnknown),
	}},
}

// flowsSession is session relayed with tunnels of their own for QFI 5 and 6,
// downlink.
func flowsSession() *api.Session {
	return change(relayedSession(), func(s *api.Session) {
		var flows []*api.Rule
		for qfi := uint32(5); qfi <= 6; qfi++ {
			r := relay(qfi, 0x31, N9Address, api.Interface_CORE, api.Interface_ACCESS, "", tunnel(0x22c+qfi, GNBAddress))
			r.Precedence, r.Detect.Qfis = qfi, []uint32{qfi}
			flows = append(flows, r)
		}
		s.Rules = append(flows, s.Rules...)
	})
}

func endMarker(name, in string, sent [][]byte) packet {
	return packet{name: name, port: N3, in: onN9(message(in, nil)), reason: datapath.PassSignalling, sent: sent}
}
