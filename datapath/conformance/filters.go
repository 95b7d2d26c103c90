package conformance

import (
	"net/netip"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

var ue8 = netip.MustParseAddr("10.45.0.8")

const portDown8 = 0xd4a9 // far to ue8, ports 1000 and 9

// classifiedSession has three PDRs each way. What no PDR matches is dropped.
func classifiedSession() *api.Session {
	const teid, udp, tcp = 0x20, 17, 6
	s := &api.Session{Seid: classified, Qers: []*api.QER{{Id: 1, Qfi: 9}, {Id: 5, Qfi: 5}}}
	s.Rules = []*api.Rule{
		uplink(1, 10, teid, ue8, func(r *api.Rule) {
			f := protocol(udp)
			f.Remote, f.RemotePorts = prefix("198.18.0.0/16"), ports(9, 9)
			r.Detect.Filters = []*api.Filter{protocol(tcp), f}
		}),
		downlink(4, 10, teid+0x100, ue8, func(r *api.Rule) {
			f := protocol(udp)
			f.RemotePorts, f.Tos, f.TosMask = ports(1000, 1999), 0xb8, 0xfc
			r.Detect.Filters, r.QerIds = []*api.Filter{f}, []uint32{5}
		}),
		uplink(2, 20, teid, ue8, func(r *api.Rule) {
			f := protocol(udp)
			f.LocalPorts = ports(2000, 2999)
			r.Detect.Filters, r.Forward.Action = []*api.Filter{f}, api.Action_DROP
		}),
		downlink(5, 20, teid+0x100, ue8, func(r *api.Rule) {
			f := protocol(udp)
			f.LocalPorts, f.RemotePorts = ports(9, 9), ports(3000, 3000)
			r.Detect.Filters, r.Forward.Action = []*api.Filter{f}, api.Action_DROP
		}),
		uplink(3, 30, teid, ue8, func(r *api.Rule) { r.Detect.Qfis = []uint32{5} }),
		downlink(6, 255, teid+0x100, ue8, func(r *api.Rule) {
			r.Detect.Filters, r.QerIds = []*api.Filter{{Remote: prefix("198.18.0.0/15")}}, []uint32{1}
		}),
	}
	return s
}

// up8 and down8 are packets of ue8 from and to a port.
func up8(port uint16, dst string) user {
	return user{src: ue8, dst: netip.MustParseAddr(dst), ttl: 64, port: port, payload: 32}
}
func down8(port uint16, src string) user {
	return user{src: netip.MustParseAddr(src), dst: ue8, ttl: 64, port: port, payload: 32}
}

func hop(u user) user {
	u.ttl--
	return u
}

// laterFragment makes an IPv4 packet a fragment that is not the first: of a packet whose
// first one has not come.
func laterFragment(b []byte) []byte {
	b[5]++
	b[7] |= 0x10
	sum := uint32(b[10])<<8 | uint32(b[11])
	sum += 0xffff - 0x0011
	sum = sum&0xffff + sum>>16
	b[10], b[11] = byte(sum>>8), byte(sum)
	return b
}

const pscQFI5 = "34ff LEN 00000020 0000 00 85 01 10 05 00"

// filterRows: the first PDR that matches is taken.
var filterRows = []packet{
	{
		name: "filters, uplink: remote prefix and port", port: N3, in: onN3(gpdu(pscUL("00000020"), up8(1000, "198.18.0.1"))),
		want: outN6(GatewayMAC, hop(up8(1000, "198.18.0.1"))), seid: classified, pdr: 1, octets: size4,
	},
	{
		name: "filters, uplink: the first PDR wins over the second", port: N3, in: onN3(gpdu(pscUL("00000020"), up8(2000, "198.18.0.1"))),
		want: outN6(GatewayMAC, hop(up8(2000, "198.18.0.1"))), seid: classified, pdr: 1, octets: size4,
	},
	{
		name: "filters, uplink: the second PDR drops", port: N3, in: onN3(gpdu(pscUL("00000020"), up8(2999, "203.0.113.1"))),
		reason: datapath.DropFAR, seid: classified, pdr: 2,
	},
	{
		name: "filters, uplink: the second PDR wins over the third", port: N3, in: onN3(gpdu(pscQFI5, up8(2000, "203.0.113.1"))),
		reason: datapath.DropFAR, seid: classified, pdr: 2,
	},
	{
		name: "filters, uplink: the third PDR goes by QFI", port: N3, in: onN3(gpdu(pscQFI5, up8(3000, "203.0.113.1"))),
		want: outN6(GatewayMAC, hop(up8(3000, "203.0.113.1"))), seid: classified, pdr: 3, octets: size4,
	},
	{
		name: "filters, uplink: none matches", port: N3, in: onN3(gpdu(pscUL("00000020"), up8(3000, "203.0.113.1"))),
		reason: datapath.DropSDFFilter,
	},
	{
		name: "filters, uplink: spoofed", port: N3, in: onN3(gpdu(pscUL("00000020"), up4)), reason: datapath.DropUEAddress,
	},
	{
		name: "filters, uplink: a first fragment has ports", port: N3,
		in:   onN3(gpdu(pscUL("00000020"), header(up8(1000, "198.18.0.1"), fragment))),
		want: outN6(GatewayMAC, header(hop(up8(1000, "198.18.0.1")), fragment)), seid: classified, pdr: 1, octets: size4, slow: true,
	},
	{
		name: "filters, uplink: a later fragment has none", port: N3,
		in: onN3(gpdu(pscUL("00000020"), header(up8(1000, "198.18.0.1"), laterFragment))), reason: datapath.DropSDFFilter,
	},
	{
		name: "filters, uplink: a later fragment matches a PDR without ports", port: N3,
		in:   onN3(gpdu(pscQFI5, header(up8(1000, "198.18.0.1"), laterFragment))),
		want: outN6(GatewayMAC, header(hop(up8(1000, "198.18.0.1")), laterFragment)), seid: classified, pdr: 3, octets: size4, slow: true,
	},
	{
		name: "filters, downlink: DSCP and remote port, QFI 5", port: N6, in: onN6(tos(down8(1000, "198.18.0.1"), 0xbb)),
		want: outN3(GNBAddress, GNBMAC, portDown8, 0xb8>>2, gpdu("34ff LEN 00000120 0000 00 85 01 00 05 00", tos(hop(down8(1000, "198.18.0.1")), 0xbb))),
		seid: classified, pdr: 4, octets: size4,
	},
	{
		name: "filters, downlink: the last PDR, QFI 9", port: N6, in: onN6(down8(1000, "198.18.0.1")),
		want: outN3(GNBAddress, GNBMAC, portDown8, 0, gpdu(pscDL("00000120"), hop(down8(1000, "198.18.0.1")))),
		seid: classified, pdr: 6, octets: size4,
	},
	{
		name: "filters, downlink: the second PDR drops", port: N6, in: onN6(down8(3000, "198.18.0.1")),
		reason: datapath.DropFAR, seid: classified, pdr: 5,
	},
	{
		name: "filters, downlink: none matches", port: N6, in: onN6(down8(1000, "203.0.113.1")), reason: datapath.DropSDFFilter,
	},
}
