package conformance

import (
	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// fragmentedSession forwards what comes from port 700 of the UE (PDR 1) and drops the rest
// (PDR 2); what comes from port 53 has QFI 5 (PDR 3), the rest QFI 9 (PDR 4).
func fragmentedSession() *api.Session {
	udp, port := uint32(17), func(n uint32) []*api.PortRange { return []*api.PortRange{{First: n, Last: n}} }
	qer := func(id uint32) func(r *api.Rule) { return func(r *api.Rule) { r.QerIds = []uint32{id} } }
	s := &api.Session{Seid: plain, Qers: []*api.QER{{Id: 1, Qfi: 9}, {Id: 5, Qfi: 5}}, Rules: []*api.Rule{
		uplink(1, 10, 1, ue1, func(r *api.Rule) { r.Detect.Filters = []*api.Filter{{Protocol: &udp, LocalPorts: port(700)}} }),
		downlink(3, 10, 0x101, ue1, func(r *api.Rule) {
			qer(5)(r)
			r.Detect.Filters = []*api.Filter{{Protocol: &udp, RemotePorts: port(53)}}
		}),
		uplink(2, 20, 1, ue1, func(r *api.Rule) { r.Forward.Action = api.Action_DROP }),
		downlink(4, 20, 0x101, ue1, qer(1)),
	}}
	for _, r := range s.Rules {
		r.Detect.UeAddress.Ipv6Prefix = ipv6Prefix(ue16)
	}
	return s
}

const pscDL5 = "34ff LEN 00000101 0000 00 85 01 00 05 00"

// fragmentRow is a fragment that a PDR forwards, up or down; dropped: PDR 2 does not.
func fragmentRow(name string, in user, pdr uint32) packet {
	p := packet{name: name, port: N3, in: onN3(gpdu(pscUL("00000001"), in)), seid: plain, pdr: pdr, octets: uint64(len(in.bytes())), slow: true}
	tunnel, port := pscDL5, uint16(portDown4NoPorts)
	switch pdr {
	case 2:
		p.reason, p.octets, p.slow = datapath.DropFAR, 0, false
		return p
	case 4:
		tunnel = pscDL("00000101")
	case 1:
		p.want = outN6(GatewayMAC, forwarded(in))
		return p
	}
	if in.bytes()[0]>>4 == 6 {
		port = portDown6NoPorts
	}
	p.port, p.in, p.downlink = N6, onN6(in), true
	p.want = outN3(GNBAddress, GNBMAC, port, 0, gpdu(tunnel, forwarded(in)))
	return p
}

// forwarded is a packet one hop further.
func forwarded(u user) user {
	if u.bytes()[0]>>4 == 4 {
		return header(u, oneHop)
	}
	return header(u, func(b []byte) []byte { b[7]--; return b })
}

// fragmentsScript: the fragments of a user packet match the filters that the first one
// does. One that comes before the first has no ports, and neither has one of another packet.
func fragmentsScript() script {
	first := func(u user) user { return part(u, 0, 48, true) }
	last := func(u user) user { return part(u, 48, 40, false) }
	up, down := datagram(ue1, far, 64, 700, 9), datagram(far, ue1, 64, 53, 1000)
	up6 := user{src: ue16, dst: far6, ttl: 64, port: 700, payload: 32}
	down6 := user{src: far6, dst: ue16, ttl: 64, port: 53, payload: 32}
	first6 := func(u user) user { return withExtensions(u, 44, extFirst) }
	later6 := func(u user) user { return withExtensions(u, 44, extLater) }
	return script{"fragments of user packets, filters with ports", append([]step{install(fragmentedSession())}, rows(
		fragmentRow("uplink, before the first", last(up), 2),
		fragmentRow("uplink, the first", first(up), 1),
		fragmentRow("uplink, the last", last(up), 1),
		fragmentRow("uplink, the first of another port", first(datagram(ue1, far, 64, 701, 9)), 2),
		fragmentRow("uplink, the last of it, with the same Identification", last(up), 2),
		fragmentRow("downlink, before the first", last(down), 4),
		fragmentRow("downlink, the first", first(down), 3),
		fragmentRow("downlink, the last", last(down), 3),
		fragmentRow("uplink, IPv6, before the first", later6(up6), 2),
		fragmentRow("uplink, IPv6, the first", first6(up6), 1),
		fragmentRow("uplink, IPv6, another", later6(up6), 1),
		fragmentRow("downlink, IPv6, the first", first6(down6), 3),
		fragmentRow("downlink, IPv6, another", later6(down6), 3),
	)...)}
}
