package conformance

import (
	"slices"
	"testing"

	"plumbline/api"
	"plumbline/datapath"
)

var signalScripts = []script{
	{"End Marker behind the last packet of the old path", []step{
		install(session(1, 1, ue1)), frames(1, downRow),
		apply(&api.Change{
			Seid: 1, Session: change(session(1, 1, ue1), switchPath),
			EndMarkers: []*api.OuterHeaderCreation{tunnel(0x101, GNBAddress)},
		}),
		left(told(N3Address, GNBAddress, "30fe 0000 00000101")...),
	}},
	{"End Marker of an old path on N9", []step{
		install(relayedSession()),
		apply(&api.Change{
			Seid: relayed, Session: change(relayedSession(), func(s *api.Session) {
				s.Rules[0].Forward.OuterHeaderCreation.Teid = 0x555
			}),
			EndMarkers: []*api.OuterHeaderCreation{tunnel(0x130, PeerAddress)},
		}),
		left(told(N9Address, PeerAddress, "30fe 0000 00000130")...),
	}},
	{"End Marker over IPv6, and two of them", []step{
		install(outer6Session()),
		apply(&api.Change{
			Seid: outer6, Session: outer6Session(),
			EndMarkers: []*api.OuterHeaderCreation{tunnel(0x123, GNBAddress6), tunnel(0x200, GNBAddress)},
		}),
		left(slices.Concat([][]byte{from6("30fe 0000 00000123")}, told(N3Address, GNBAddress, "30fe 0000 00000200"))...),
	}},
	{unsettled + "nobody is told that a TEID is not known", []step{
		frames(1, packet{port: N3, in: upRow.in, reason: datapath.DropNoPDR}),
		func(t *testing.T, d Datapath, _ bool) { settle(t, d) },
		frames(1, upUnknown),
	}},
}
