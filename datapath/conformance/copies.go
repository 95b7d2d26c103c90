package conformance

import (
	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// copied is session plain with copies both ways: uplink to a CP function, through
// a tunnel with a mark, and bare on N6; downlink to another UPF.
func copied() *api.Session {
	return change(plainSession(), func(s *api.Session) {
		mark := uint32(46)
		s.Rules[0].Forward.Duplicates = []*api.Duplicate{
			{DestinationInterface: api.Interface_CP_FUNCTION, OuterHeaderCreation: tunnel(0x701, GNBAddress2), Dscp: &mark},
			{DestinationInterface: api.Interface_SGI_LAN},
		}
		s.Rules[1].Forward.Duplicates = []*api.Duplicate{
			{DestinationInterface: api.Interface_CORE, NetworkInstance: "n9", OuterHeaderCreation: tunnel(0x702, PeerAddress)},
		}
	})
}

// Source ports of the copies.
const portUp4 = 0xf8a6 // ue1 to far, ports 1000 and 9

func copyRows() []step {
	toCP := outN3(GNBAddress2, GNBMAC2, portUp4, 46, gpdu("30ff LEN 00000701", up4))[14:]
	toPeer := outN9(portDown4, gpdu("34ff LEN 00000702 0000 00 85 01 10 09 00", dn4x))[14:]
	return rows(
		packet{
			name: "uplink", port: N3, in: onN3(gpdu(pscUL("00000001"), up4)), want: outN6(GatewayMAC, up4x),
			seid: plain, pdr: 1, octets: size4, sent: [][]byte{toCP, up4x.bytes()},
		},
		packet{
			name: "downlink", port: N6, in: onN6(down4), want: outN3(GNBAddress, GNBMAC, portDown4, 0, gpdu(pscDL("00000101"), dn4x)),
			seid: plain, pdr: 2, octets: size4, sent: [][]byte{toPeer},
		},
		expiredUp("dropped, and no copy", ttl(up4, 1), toUE(portError4, icmp4(ttlExceeded, 0, ttl(up4, 1)))),
	)
}

// mirrored has bare copies of bare packets, as they came, and in UDP/IP.
func mirrored() *api.Session {
	return change(plainSession(), func(s *api.Session) {
		s.Rules[1].Forward.Duplicates = []*api.Duplicate{
			{DestinationInterface: api.Interface_SGI_LAN},
			{DestinationInterface: api.Interface_SGI_LAN, OuterHeaderCreation: &api.OuterHeaderCreation{
				Encapsulation: api.Encapsulation_UDP, Ipv4: ipv4(host), Port: 4000,
			}},
		}
	})
}

var copyScripts = []script{
	{"bare copies of bare packets", []step{
		install(mirrored()),
		frames(1, packet{
			port: N6, in: onN6(down4), want: outN3(GNBAddress, GNBMAC, portDown4, 0, gpdu(pscDL("00000101"), dn4x)),
			seid: plain, pdr: 2, octets: size4,
			sent: [][]byte{down4.bytes(), inUDP(N6Address, host, wrapPorts, 0, 0, down4.bytes()).bytes()},
		}),
	}},
	{"copies", append([]step{install(copied())}, copyRows()...)},
	{"copies of a dropped packet", []step{
		install(change(copied(), func(s *api.Session) { s.Qers[0].UplinkGateClosed = true })),
		frames(1, packet{port: N3, in: upRow.in, reason: datapath.DropGate, seid: 1, pdr: 1}),
	}},
}
