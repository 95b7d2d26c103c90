package conformance

import (
	"net/netip"
	"testing"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// An F-TEID is a TEID and the address at which the tunnel ends: a G-PDU has to match both.
// Source: TS 29.244 V18.6.0, 5.2.1A.2A and 8.2.3; TS 29.281 V18.1.0, 3.1.

// oneTEID is the TEID of all F-TEIDs here: 0x55 at N3 and at N9.
const oneTEID, upSession, downSession = 0x55, 22, 23

func oneUp() *api.Rule {
	return relay(1, oneTEID, N3Address, api.Interface_ACCESS, api.Interface_CORE, "n9", tunnel(0x155, PeerAddress))
}

func oneDown() *api.Rule {
	return relay(2, oneTEID, N9Address, api.Interface_CORE, api.Interface_ACCESS, "", tunnel(0x156, GNBAddress))
}

// oneToN9 and oneToN3 are rows of a packet that comes to one of the two.
func oneToN9(seid uint64) packet {
	return packet{
		port: N3, in: onN3(gpdu("30ff LEN 00000055", up9)), want: outN9(port9, gpdu("30ff LEN 00000155", up9)),
		seid: seid, pdr: 1, octets: size4,
	}
}

func oneToN3(seid uint64) packet {
	return packet{
		port: N3, in: onN9(gpdu("30ff LEN 00000055", up9)), want: outN3(GNBAddress, GNBMAC, port9, 0, gpdu("30ff LEN 00000156", up9)),
		seid: seid, pdr: 2, octets: size4,
	}
}

// unknownAt is a row of a G-PDU with the TEID to address local, which it is not for.
func unknownAt(local netip.Addr) packet {
	gtpu := gpdu("30ff LEN 00000055", up9)
	switch local {
	case N9Address:
		return packet{
			port: N3, in: onN9(gtpu), reason: datapath.DropNoPDR,
			sent: told(N9Address, PeerAddress, "361a 0014 00000000 0000 00 40  01 0868 00  10 00000055  85 0004 0a090001"),
		}
	case N3Address6:
		return packet{
			port: N3, in: on6.frame(N3MAC, ghostMAC, gtpu), reason: datapath.DropNoPDR,
			sent: [][]byte{from6("361a 0020 00000000 0000 00 40  01 0868 00  10 00000055  85 0010 20010db8000300000000000000000001")},
		}
	}
	return packet{port: N3, in: onN3(gtpu), reason: datapath.DropNoPDR, sent: errorIndication("00000055")}
}

var fteidScripts = []script{
	{"F-TEID, its address", []step{
		install(&api.Session{Seid: upSession, Rules: []*api.Rule{oneUp()}}),
		frames(2, oneToN9(upSession)), frames(1, unknownAt(N9Address)), frames(1, unknownAt(N3Address6)),
		frames(1, packet{port: N3, in: onN9(message("30fe LEN 00000055", nil)), reason: datapath.PassSignalling}),
		frames(1, packet{
			port: N3, in: onN3(message("30fe LEN 00000055", nil)), reason: datapath.PassSignalling,
			sent: told(N9Address, PeerAddress, "30fe 0000 00000155"),
		}),
		remove(upSession), frames(1, unknownAt(N3Address)),
	}},
	{"F-TEID, IPv6 alone", []step{
		install(change(&api.Session{Seid: upSession, Rules: []*api.Rule{oneUp()}}, func(s *api.Session) { at(s.Rules[0], N3Address6) })),
		frames(1, unknownAt(N3Address)),
		frames(2, packet{
			port: N3, in: on6.frame(N3MAC, ghostMAC, gpdu("30ff LEN 00000055", up9)),
			want: outN9(port9, gpdu("30ff LEN 00000155", up9)), seid: upSession, pdr: 1, octets: size4,
		}),
	}},
	{"F-TEID, moves to another address", []step{
		install(&api.Session{Seid: upSession, Rules: []*api.Rule{oneUp()}}), frames(1, oneToN9(upSession)),
		install(change(&api.Session{Seid: upSession, Rules: []*api.Rule{oneUp()}}, func(s *api.Session) { at(s.Rules[0], N9Address) })),
		frames(1, unknownAt(N3Address)),
		install(&api.Session{Seid: upSession, Rules: []*api.Rule{oneUp()}}), frames(1, oneToN9(upSession)), frames(1, unknownAt(N9Address)),
	}},
	{"F-TEIDs with one TEID, of a session", []step{
		install(&api.Session{Seid: upSession, Rules: []*api.Rule{oneUp(), oneDown()}}),
		frames(2, oneToN9(upSession)), frames(3, oneToN3(upSession)), frames(1, unknownAt(N3Address6)),
		counted(upSession, 1, counters{2, 2 * size4, 0}), counted(upSession, 2, counters{3, 3 * size4, 0}),
	}},
	{"F-TEIDs with one TEID, of two sessions", []step{
		install(&api.Session{Seid: upSession, Rules: []*api.Rule{oneUp()}}), install(&api.Session{Seid: downSession, Rules: []*api.Rule{oneDown()}}),
		frames(2, oneToN9(upSession)), frames(3, oneToN3(downSession)),
		counted(upSession, 1, counters{2, 2 * size4, 0}), counted(downSession, 2, counters{3, 3 * size4, 0}),
		remove(upSession), frames(1, unknownAt(N3Address)), frames(1, oneToN3(downSession)),
		install(&api.Session{Seid: upSession, Rules: []*api.Rule{oneUp()}}), frames(1, oneToN9(upSession)), frames(1, oneToN3(downSession)),
	}},
	{"F-TEIDs with two addresses, of all sessions that fit", []step{func(t *testing.T, d Datapath, fast bool) {
		for i := range uint32(MaxSessions) {
			both := oneUp()
			both.Detect.FTeid = &api.FTEID{Teid: oneTEID + i*7, Ipv4: ipv4(N3Address), Ipv6: N3Address6.AsSlice()}
			mustApply(t, d, &api.Session{Seid: upSession + uint64(i), Rules: []*api.Rule{both}})
		}
		frames(2, oneToN9(upSession))(t, d, fast)
		frames(3, packet{
			port: N3, in: on6.frame(N3MAC, ghostMAC, gpdu("30ff LEN 00000055", up9)),
			want: outN9(port9, gpdu("30ff LEN 00000155", up9)), seid: upSession, pdr: 1, octets: size4,
		})(t, d, fast)
		counted(upSession, 1, counters{5, 5 * size4, 0})(t, d, fast)
		remove(upSession)(t, d, fast)
		frames(1, unknownAt(N3Address))(t, d, fast)
		frames(1, unknownAt(N3Address6))(t, d, fast)
	}}},
}
