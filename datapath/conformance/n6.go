package conformance

import (
	"net/netip"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

var (
	ue50 = netip.MustParseAddr("10.45.0.50")
	ue51 = netip.MustParseAddr("10.45.0.51")
)

// corpSession is of the second data network, both ways.
func corpSession() *api.Session {
	s := session(corporate, 0x60, ue50)
	s.Rules[0].Forward.NetworkInstance = "CORP"
	s.Rules[1].Detect.NetworkInstance = "Corp.Example.mnc001.mcc001.gprs" // as TS 23.003, 9.1, lets it be spelt
	return s
}

// steeredSession has forwarding policies: TEID 0x61 a gateway of its own, 0x62
// the other data network.
func steeredSession() *api.Session {
	s := session(steered, 0x61, ue51)
	s.Rules[0].Forward.ForwardingPolicy = "steered"
	s.Rules[1].Detect.NetworkInstance = "internet"
	other := session(steered, 0x62, ue51).Rules[0]
	other.PdrId, other.FarId, other.Forward.ForwardingPolicy = 3, 3, "to-corp"
	s.Rules = append(s.Rules, other)
	return s
}

// onCorp is a user packet as it arrives from the second data network; outCorp as
// it leaves to there.
func onCorp(u user) []byte {
	b := u.bytes()
	return ethernet(CorpMAC, ghostMAC, etherType(b), b)
}

func outCorp(u user) []byte {
	b := u.bytes()
	return ethernet(CorpGatewayMAC, CorpMAC, etherType(b), b)
}

// n6Rows: Network Instances of N6 and forwarding policies.
var n6Rows = []packet{
	{
		name: "N6, the second data network, uplink", port: N3, in: onN3(gpdu(pscUL("00000060"), from(up4, "10.45.0.50"))),
		want: outCorp(from(up4x, "10.45.0.50")), seid: corporate, pdr: 1, octets: size4,
	},
	{
		name: "N6, the second data network, a neighbour that only the first has", port: N3,
		in:   onN3(gpdu(pscUL("00000060"), to(from(up4, "10.45.0.50"), Neighbour.String()))),
		want: outCorp(to(from(up4x, "10.45.0.50"), Neighbour.String())), seid: corporate, pdr: 1, octets: size4, slow: true,
	},
	{
		name: "N6, the second data network, downlink", port: N6Corp, in: onCorp(to(down4, "10.45.0.50")),
		want: outN3(GNBAddress, GNBMAC, portCorp, 0, gpdu(pscDL("00000160"), to(dn4x, "10.45.0.50"))), seid: corporate, pdr: 2, octets: size4,
	},
	{
		name: "N6, downlink from another data network than the PDI's", port: N6, in: onN6(to(down4, "10.45.0.50")),
		reason: datapath.DropNetwork,
	},
	{
		name: "N6, downlink from any data network", port: N6Corp, in: onCorp(down4),
		want: outN3(GNBAddress, GNBMAC, portDown4, 0, gpdu(pscDL("00000101"), dn4x)), seid: plain, pdr: 2, octets: size4,
	},
	{
		name: "forwarding policy with a gateway", port: N3, in: onN3(gpdu(pscUL("00000061"), from(up4, "10.45.0.51"))),
		want: outN6(SteeredMAC, from(up4x, "10.45.0.51")), seid: steered, pdr: 1, octets: size4,
	},
	{
		name: "forwarding policy with a gateway, to a neighbour", port: N3,
		in:   onN3(gpdu(pscUL("00000061"), to(from(up4, "10.45.0.51"), Neighbour.String()))),
		want: outN6(SteeredMAC, to(from(up4x, "10.45.0.51"), Neighbour.String())), seid: steered, pdr: 1, octets: size4,
	},
	{
		name: "forwarding policy with a data network", port: N3, in: onN3(gpdu(pscUL("00000062"), from(up4, "10.45.0.51"))),
		want: outCorp(from(up4x, "10.45.0.51")), seid: steered, pdr: 3, octets: size4,
	},
	{
		name: "forwarding policy, downlink from the data network of the PDI", port: N6, in: onN6(to(down4, "10.45.0.51")),
		want: outN3(GNBAddress, GNBMAC, portSteered, 0, gpdu(pscDL("00000161"), to(dn4x, "10.45.0.51"))), seid: steered, pdr: 2, octets: size4,
	},
}

// Source ports of outer headers: far to ue50 and ue51.
const (
	portCorp    = 0xcace
	portSteered = 0xf25c
)

// n6Refusals: names that are not known.
var n6Refusals = []script{
	refusal("an unknown Network Instance of a FAR", datapath.ErrUnsupported, farRule, 1, func(s *api.Session) {
		s.Rules[0].Forward.NetworkInstance = "nowhere"
	}),
	refusal("an unknown Network Instance of a bare PDI", datapath.ErrUnsupported, pdrRule, 2, func(s *api.Session) {
		s.Rules[1].Detect.NetworkInstance = "nowhere"
	}),
	refusal("an unknown Forwarding Policy", datapath.ErrUnsupported, farRule, 1, func(s *api.Session) {
		s.Rules[0].Forward.ForwardingPolicy = "nowhere"
	}),
	refusal("a Forwarding Policy into a tunnel", datapath.ErrUnsupported, farRule, 2, func(s *api.Session) {
		s.Rules[1].Forward.ForwardingPolicy = "steered"
	}),
}
