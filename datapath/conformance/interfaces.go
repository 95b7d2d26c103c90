package conformance

import (
	"net/netip"

	"github.com/plumbline-upf/plumbline/datapath/api"
)

var (
	ue14 = netip.MustParseAddr("2001:db8:45:e::7")
	ue15 = netip.MustParseAddr("10.45.0.15")
	up15 = user{src: ue15, dst: far, ttl: 64, port: 1000, payload: 32}
	dn15 = user{src: far, dst: ue15, ttl: 64, port: 1000, payload: 32}
	cp   = GNBAddress2 // the CP function's GTP-U
)

const (
	portRS     = 0xdda0 // fe80::1 and ff02::2, no ports
	portRA     = 0xdda0 // fe80::2 and ff02::1: the same first 64 bits
	portDown15 = 0xe98a // far to ue15, ports 1000 and 9
)

// solicitation is a Router Solicitation from a UE's link-local address.
var solicitation = user{raw: octets("60000000 0008 3a ff fe800000000000000000000000000001 ff020000000000000000000000000002" +
	"8500 7d36 00000000")}

// advertisement is a Router Advertisement to it, a bare one.
var advertisement = user{raw: octets("60000000 0010 3a ff fe800000000000000000000000000002 ff020000000000000000000000000001" +
	"8600 3526 40000708 00000000 00000000")}

func controlSession() *api.Session {
	up := relay(1, 0x24, N3Address, api.Interface_ACCESS, api.Interface_CP_FUNCTION, "", tunnel(0x124, cp))
	up.Precedence = 10
	up.Detect.Filters = []*api.Filter{protocol(58)}
	user := uplink(2, 255, 0x24, ue1, func(r *api.Rule) {
		r.Detect.UeAddress = &api.UEAddress{Ipv6Prefix: ipv6Prefix(ue14)}
	})
	down := relay(3, 0x25, N3Address, api.Interface_CP_FUNCTION, api.Interface_ACCESS, "", tunnel(0x125, GNBAddress))
	down.QerIds = []uint32{1}
	return &api.Session{Seid: control, Rules: []*api.Rule{up, down, user}, Qers: []*api.QER{{Id: 1, Qfi: 9}}}
}

func lanSession() *api.Session {
	s := session(lan, 0x26, ue15)
	s.Rules[0].Forward.DestinationInterface = api.Interface_SGI_LAN
	s.Rules[1].Detect.SourceInterface = api.Interface_SGI_LAN
	return s
}

// interfaceRows: Source and Destination Interfaces beside ACCESS and CORE.
var interfaceRows = []packet{
	{
		name: "CP function, Router Solicitation", port: N3, in: onN3(gpdu(pscUL("00000024"), solicitation)),
		want: outN3(cp, GNBMAC2, portRS, 0, gpdu("30ff LEN 00000124", solicitation)),
		seid: control, pdr: 1, octets: 48, slow: true,
	},
	{
		name: "CP function, Router Advertisement", port: N3,
		in:   outer{src: cp, dst: N3Address, sport: 2152, dport: 2152}.frame(N3MAC, ghostMAC, gpdu("30ff LEN 00000025", advertisement)),
		want: outN3(GNBAddress, GNBMAC, portRA, 0, gpdu(pscDL("00000125"), advertisement)),
		seid: control, pdr: 3, octets: 56,
	},
	{
		name: "N6-LAN, uplink", port: N3, in: onN3(gpdu(pscUL("00000026"), up15)),
		want: outN6(GatewayMAC, hop(up15)), seid: lan, pdr: 1, octets: size4,
	},
	{
		name: "N6-LAN, downlink", port: N6, in: onN6(dn15),
		want: outN3(GNBAddress, GNBMAC, portDown15, 0, gpdu(pscDL("00000126"), hop(dn15))), seid: lan, pdr: 2, octets: size4,
	},
}
