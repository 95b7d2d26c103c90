package conformance

import (
	"net/netip"

	"github.com/gopacket/gopacket/layers"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

var (
	ue12  = netip.MustParseAddr("10.45.0.12")
	ue126 = netip.MustParseAddr("2001:db8:45:c::7")
	up12  = user{src: ue12, dst: far, ttl: 64, port: 1000, payload: 32}
	dn12  = user{src: far, dst: ue12, ttl: 64, port: 1000, payload: 32}
	up126 = user{src: ue126, dst: far6, ttl: 64, port: 1000, payload: 32}
	dn126 = user{src: far6, dst: ue126, ttl: 64, port: 1000, payload: 32}
)

func outer6Session() *api.Session {
	s := session(outer6, 0x23, ue12)
	for _, r := range s.Rules {
		r.Detect.UeAddress.Ipv6Prefix = ipv6Prefix(ue126)
	}
	s.Rules[0].Detect.FTeid.Ipv6 = N3Address6.AsSlice()
	s.Rules[1].Forward.OuterHeaderCreation = tunnel(0x123, GNBAddress6)
	return s
}

// relayed6Session has an F-TEID with both addresses on the side of the gNB.
func relayed6Session() *api.Session {
	up := relay(1, 0x33, N3Address, api.Interface_ACCESS, api.Interface_CORE, "n9", tunnel(0x133, PeerAddress))
	up.Detect.FTeid.Ipv6 = N3Address6.AsSlice()
	down := relay(2, 0x34, N9Address, api.Interface_CORE, api.Interface_ACCESS, "", tunnel(0x134, GNBAddress6))
	return &api.Session{Seid: relayed6, Rules: []*api.Rule{up, down}}
}

// on6 is a GTP-U message from the gNB over IPv6.
var on6 = outer{src: GNBAddress6, dst: N3Address6, sport: 2152, dport: 2152, checksum: true}

// out6 is a G-PDU as it leaves over IPv6, with a checksum.
func out6(sport uint16, label uint32, dscp uint8, gtpu []byte) []byte {
	return outer{
		src: N3Address6, dst: GNBAddress6, sport: sport, dport: 2152, tos: dscp << 2, label: label, checksum: true,
	}.frame(GNBMAC, N3MAC, gtpu)
}

// outer6Rows: GTP-U over IPv6.
var outer6Rows = []packet{
	{
		name: "outer IPv6, uplink", port: N3, in: on6.frame(N3MAC, ghostMAC, gpdu(pscUL("00000023"), up12)),
		want: outN6(GatewayMAC, hop(up12)), seid: outer6, pdr: 1, octets: size4,
	},
	{
		name: "outer IPv6, uplink IPv6", port: N3, in: on6.frame(N3MAC, ghostMAC, gpdu(pscUL("00000023"), up126)),
		want: outN6(GatewayMAC, hop(up126)), seid: outer6, pdr: 1, octets: size6,
	},
	{
		name: "outer IPv6, uplink without checksum", port: N3,
		in:   outer{src: GNBAddress6, dst: N3Address6, sport: 2152, dport: 2152}.frame(N3MAC, ghostMAC, gpdu(pscUL("00000023"), up12)),
		want: outN6(GatewayMAC, hop(up12)), seid: outer6, pdr: 1, octets: size4,
	},
	{
		name: "outer IPv6, the same tunnel over IPv4", port: N3, in: onN3(gpdu(pscUL("00000023"), up12)),
		want: outN6(GatewayMAC, hop(up12)), seid: outer6, pdr: 1, octets: size4,
	},
	{
		name: "outer IPv6, downlink", port: N6, in: onN6(tos(dn12, 0xb8)),
		want: out6(0xf2e1, 0xcb84e, 46, gpdu(pscDL("00000123"), hop(tos(dn12, 0xb8)))), seid: outer6, pdr: 2, octets: size4,
	},
	{
		name: "outer IPv6, downlink IPv6", port: N6, in: onN6(dn126),
		want: out6(0xc131, 0x04c7d, 0, gpdu(pscDL("00000123"), hop(dn126))), seid: outer6, pdr: 2, octets: size6,
	},
	{
		name: "outer IPv6, an odd number of octets has a checksum, too", port: N6, in: onN6(size(dn12, 61)),
		want: out6(0xf2e1, 0xcb84e, 0, gpdu(pscDL("00000123"), hop(size(dn12, 61)))), seid: outer6, pdr: 2, octets: 61,
	},
	{
		name: "outer IPv6, largest that fits N3", port: N6, in: onN6(size(dn12, MTU-64)),
		want: out6(0xf2e1, 0xcb84e, 0, gpdu(pscDL("00000123"), hop(size(dn12, MTU-64)))), seid: outer6, pdr: 2, octets: MTU - 64,
	},
	{
		name: "outer IPv6, one octet more is cut", port: N6, in: onN6(size(dn12, MTU-63)),
		want: out6(0xf2e1, 0xcb84e, 0, gpdu(pscDL("00000123"), piece(hop(size(dn12, MTU-63)), 0, 1416))), seid: outer6, pdr: 2, octets: MTU - 63, slow: true,
		sent: [][]byte{out6(0xf2e1, 0xcb84e, 0, gpdu(pscDL("00000123"), piece(hop(size(dn12, MTU-63)), 1416, 1417)))[14:]},
	},
	{
		name: "outer IPv6, checksum that would be 0 is all ones", port: N6, in: onN6(balanced(dn12)),
		want: allOnes(out6(0xf2e1, 0xcb84e, 0, gpdu(pscDL("00000123"), balanced(hop(dn12))))), seid: outer6, pdr: 2, octets: size4,
	},
	{
		name: "outer IPv6, relay to IPv4", port: N3, in: on6.frame(N3MAC, ghostMAC, gpdu(pscUL("00000033"), up9)),
		want: outN9(port9, gpdu("34ff LEN 00000133 0000 00 85 01 10 09 00", up9)), seid: relayed6, pdr: 1, octets: size4,
	},
	{
		name: "outer IPv6, relay of the same F-TEID over IPv4", port: N3, in: onN3(gpdu("30ff LEN 00000033", up9)),
		want: outN9(port9, gpdu("30ff LEN 00000133", up9)), seid: relayed6, pdr: 1, octets: size4,
	},
	{
		name: "outer IPv6, relay from IPv4", port: N3, in: onN9(gpdu("34ff LEN 00000034 0000 00 85 01 00 49 00", dn9)),
		want: out6(port9, 0xf0de7, 0, gpdu("34ff LEN 00000134 0000 00 85 01 00 49 00", dn9)), seid: relayed6, pdr: 2, octets: size4,
	},
	{
		name: "outer IPv6, length beyond the frame", port: N3,
		in:     ethernet(N3MAC, ghostMAC, layers.EthernetTypeIPv6, on6.packet(gpdu(pscUL("00000023"), up12))[:80]),
		reason: datapath.DropIPShort,
	},
	{
		name: "outer IPv6, Echo Request", port: N3, in: on6.frame(N3MAC, ghostMAC, message("3201 LEN 00000000 0001 00 00", nil)),
		reason: datapath.PassSignalling,
		sent:   [][]byte{from6("3202 0006 00000000 0001 00 00 0e00")},
	},
	{
		name: "outer IPv6, TEID that nobody has", port: N3, in: on6.frame(N3MAC, ghostMAC, gpdu("30ff LEN 00000099", up12)),
		reason: datapath.DropNoPDR,
		sent:   [][]byte{from6("361a 0020 00000000 0000 00 40  01 0868 00  10 00000099  85 0010 20010db8000300000000000000000001")},
	},
	{
		name: "outer IPv6, other port", port: N3,
		in:     outer{src: GNBAddress6, dst: N3Address6, sport: 2152, dport: 2153, checksum: true}.frame(N3MAC, ghostMAC, gpdu(pscUL("00000023"), up12)),
		reason: datapath.PassHost,
	},
	{
		name: "outer IPv6, fragment", port: N3, in: ethernet(N3MAC, ghostMAC, layers.EthernetTypeIPv6, fragment6(on6.packet(gpdu(pscUL("00000023"), up12)))),
		reason: datapath.PassFragment,
	},
}

// outer6SumAt is where the outer UDP checksum stands in a frame.
const outer6SumAt = 14 + 40 + 6

// balanced sets the last two octets such that the outer UDP checksum of what
// leaves for dn12 comes to 0.
func balanced(u user) user {
	b := u.bytes()
	out := out6(0xf2e1, 0xcb84e, 0, gpdu(pscDL("00000123"), hop(dn12)))
	copy(b[len(b)-2:], out[outer6SumAt:])
	return user{raw: b}
}

// allOnes is what stands for a checksum of 0.
func allOnes(frame []byte) []byte {
	frame[outer6SumAt], frame[outer6SumAt+1] = 0xff, 0xff
	return frame
}

// from6 is a signalling message to the gNB over IPv6.
func from6(message string) []byte {
	o := outer{src: N3Address6, dst: GNBAddress6, sport: 2152, dport: 2152, checksum: true}
	return o.packet(octets(message))
}

// fragment6 puts a Fragment header in that says: the first, more follow.
func fragment6(packet []byte) []byte {
	b := append([]byte(nil), packet[:40]...)
	b[5] += 8
	b[6] = 44
	b = append(b, packet[6], 0, 0, 1, 0, 0, 0, 1)
	return append(b, packet[40:]...)
}
