package conformance

import (
	"net/netip"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

var (
	ue18  = netip.MustParseAddr("10.45.0.18")
	ue19  = netip.MustParseAddr("2001:db8:45:13::7") // the prefix that goes to the remote PSA
	ue19b = netip.MustParseAddr("2001:db8:46:13::7") // the local one
)

// classifierSession is an uplink classifier: what goes to the local data network
// leaves on N6, all else on N9 to the PSA; what comes from both goes to the UE.
//
// Source: TS 23.501 V18.8.0, 5.6.4.2.
func classifierSession() *api.Session {
	local := uplink(1, 10, 0x41, ue18, func(r *api.Rule) { r.Detect.Filters = []*api.Filter{{Remote: prefix("203.0.113.0/24")}} })
	psa := relay(2, 0x41, N3Address, api.Interface_ACCESS, api.Interface_CORE, "n9", tunnel(0x141, PeerAddress))
	psa.Detect.UeAddress = &api.UEAddress{Ipv4: ipv4(ue18)}
	fromLocal := downlink(3, 255, 0x142, ue18, func(r *api.Rule) {
		r.QerIds = []uint32{1}
		r.Detect.Filters = []*api.Filter{{Remote: prefix("203.0.113.0/24")}}
	})
	fromPSA := relay(4, 0x42, N9Address, api.Interface_CORE, api.Interface_ACCESS, "", tunnel(0x142, GNBAddress))
	local.UrrIds, psa.UrrIds, fromLocal.UrrIds, fromPSA.UrrIds = []uint32{1}, []uint32{2}, []uint32{1}, []uint32{2}
	return &api.Session{
		Seid: classifier, Rules: []*api.Rule{local, psa, fromLocal, fromPSA},
		Qers: []*api.QER{{Id: 1, Qfi: 9}}, Urrs: []*api.URR{{Id: 1}, {Id: 2}},
	}
}

// branchingSession is a branching point: the UE's two prefixes have a PSA each,
// of which this UPF is one.
//
// Source: TS 23.501 V18.8.0, 5.6.4.3.
func branchingSession() *api.Session {
	remote := relay(1, 0x43, N3Address, api.Interface_ACCESS, api.Interface_CORE, "n9", tunnel(0x143, PeerAddress))
	remote.Detect.UeAddress = &api.UEAddress{Ipv6Prefix: ipv6Prefix(ue19)}
	local := uplink(2, 255, 0x43, ue18, func(r *api.Rule) { r.Detect.UeAddress = &api.UEAddress{Ipv6Prefix: ipv6Prefix(ue19b)} })
	down := downlink(3, 255, 0x144, ue18, func(r *api.Rule) {
		r.Detect.UeAddress = &api.UEAddress{Ipv6Prefix: ipv6Prefix(ue19b)}
	})
	return &api.Session{Seid: branching, Rules: []*api.Rule{remote, local, down}}
}

func v4to(src, dst netip.Addr) user {
	return user{src: src, dst: dst, ttl: 64, port: 1000, payload: 32}
}

var (
	edge   = netip.MustParseAddr("203.0.113.7")
	toEdge = v4to(ue18, edge)
	toPSA  = v4to(ue18, far)
	onEdge = v4to(edge, ue18)
	onPSA  = v4to(far, ue18)
	branch = v4to(ue19, far6)
	root   = v4to(ue19b, far6)
	back   = v4to(far6, ue19b)
)

// splitRows: where one tunnel parts.
var splitRows = []packet{
	{
		name: "uplink classifier, to the local data network", port: N3, in: onN3(gpdu(pscUL("00000041"), toEdge)), either: true,
		want: outN6(GatewayMAC, hop(toEdge)), seid: classifier, pdr: 1, octets: size4, urrs: []uint32{1},
	},
	{
		name: "uplink classifier, to the PSA", port: N3, in: onN3(gpdu(pscUL("00000041"), toPSA)), either: true,
		want: outN9(outerPort(toPSA), gpdu("34ff LEN 00000141 0000 00 85 01 10 09 00", toPSA)),
		seid: classifier, pdr: 2, octets: size4, urrs: []uint32{2},
	},
	{
		name: "uplink classifier, TTL 1 counts towards N6", port: N3, in: onN3(gpdu(pscUL("00000041"), ttl(toEdge, 1))),
		reason: datapath.DropTTL, seid: classifier, pdr: 1, sent: nil,
	},
	{
		name: "uplink classifier, TTL 1 is not the relay's", port: N3, in: onN3(gpdu(pscUL("00000041"), ttl(toPSA, 1))), either: true,
		want: outN9(outerPort(toPSA), gpdu("34ff LEN 00000141 0000 00 85 01 10 09 00", ttl(toPSA, 1))),
		seid: classifier, pdr: 2, octets: size4, urrs: []uint32{2},
	},
	{
		name: "uplink classifier, spoofed", port: N3, in: onN3(gpdu(pscUL("00000041"), v4to(ue17, edge))), reason: datapath.DropUEAddress,
	},
	{
		name: "uplink classifier, from the local data network", port: N6, in: onN6(onEdge), either: true,
		want: outN3(GNBAddress, GNBMAC, outerPort(onEdge), 0, gpdu(pscDL("00000142"), hop(onEdge))),
		seid: classifier, pdr: 3, octets: size4, urrs: []uint32{1},
	},
	{
		name: "uplink classifier, from elsewhere on N6", port: N6, in: onN6(onPSA), reason: datapath.DropSDFFilter,
	},
	{
		name: "uplink classifier, from the PSA", port: N3, in: onN9(gpdu("34ff LEN 00000042 0000 00 85 01 00 05 00", onPSA)), either: true,
		want: outN3(GNBAddress, GNBMAC, outerPort(onPSA), 0, gpdu("34ff LEN 00000142 0000 00 85 01 00 05 00", onPSA)),
		seid: classifier, pdr: 4, octets: size4, urrs: []uint32{2}, downlink: true,
	},
	{
		name: "uplink classifier, End Marker of the PSA", port: N3, in: onN9(message("30fe LEN 00000042", nil)), reason: datapath.PassSignalling,
		sent: told(N3Address, GNBAddress, "30fe 0000 00000142"),
	},
	{
		name: "branching point, prefix of the remote PSA", port: N3, in: onN3(gpdu(pscUL("00000043"), branch)), either: true,
		want: outN9(outerPort(branch), gpdu("34ff LEN 00000143 0000 00 85 01 10 09 00", branch)), seid: branching, pdr: 1, octets: size6,
	},
	{
		name: "branching point, local prefix", port: N3, in: onN3(gpdu(pscUL("00000043"), root)), either: true,
		want: outN6(GatewayMAC, hop(root)), seid: branching, pdr: 2, octets: size6,
	},
	{
		name: "branching point, neither prefix", port: N3, in: onN3(gpdu(pscUL("00000043"), v4to(ue176, far6))), reason: datapath.DropUEAddress,
	},
	{
		name: "branching point, to the local prefix", port: N6, in: onN6(back), either: true,
		want: outN3(GNBAddress, GNBMAC, outerPort(back), 0, gpdu("30ff LEN 00000144", hop(back))), seid: branching, pdr: 3, octets: size6,
	},
	{
		name: "branching point, the remote prefix is not on our N6", port: N6, in: onN6(v4to(far6, ue19)), reason: datapath.PassHost,
	},
}
