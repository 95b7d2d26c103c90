package conformance

import (
	"net/netip"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// unstructuredSession carries octets that nobody looks into: on N6 in UDP/IPv6
// between the session's prefix and a server.
func unstructuredSession() *api.Session {
	s := session(1, 1, ue1)
	s.PduType = api.PDUType_UNSTRUCTURED
	prefix := &api.UEAddress{Ipv6Prefix: ipv6Prefix(ue16)}
	s.Rules[0].Detect.UeAddress, s.Rules[1].Detect.UeAddress = prefix, prefix
	s.Rules[0].Forward.OuterHeaderCreation = &api.OuterHeaderCreation{Encapsulation: api.Encapsulation_UDP, Ipv6: far6.AsSlice(), Port: 5683}
	s.Rules[1].Unwrap = api.Unwrap_UNWRAP_UDP
	return s
}

// inUDP is a datagram with a right checksum; tos is ToS or Traffic Class.
func inUDP(src, dst netip.Addr, ports layers.UDP, tos uint8, label uint32, payload []byte) user {
	if src.Is6() {
		ip := &layers.IPv6{
			Version: 6, HopLimit: 64, TrafficClass: tos, FlowLabel: label, NextHeader: layers.IPProtocolUDP, SrcIP: src.AsSlice(), DstIP: dst.AsSlice(),
		}
		must(ports.SetNetworkLayerForChecksum(ip))
		return user{raw: serialize(ip, &ports, gopacket.Payload(payload))}
	}
	ip := &layers.IPv4{
		Version: 4, TTL: 64, TOS: tos, Flags: layers.IPv4DontFragment, Protocol: layers.IPProtocolUDP, SrcIP: src.AsSlice(), DstIP: dst.AsSlice(),
	}
	must(ports.SetNetworkLayerForChecksum(ip))
	return user{raw: serialize(ip, &ports, gopacket.Payload(payload))}
}

var stranger6 = netip.MustParseAddr("2001:db8:66::6")

func opaqueRows() []step {
	to := layers.UDP{SrcPort: 5683, DstPort: 5683}
	up := func(name, header string, tpdu []byte) packet {
		return packet{
			name: "uplink, " + name, port: N3, in: onN3(message(header, tpdu)), slow: true,
			want: outN6(GatewayMAC, inUDP(netip.MustParseAddr("2001:db8:45:1::1"), far6, to, 0, 0, tpdu)), seid: 1, pdr: 1, octets: uint64(len(tpdu)),
		}
	}
	down := func(name string, tpdu []byte) packet {
		return packet{
			name: "downlink, " + name, port: N6, in: onN6(inUDP(far6, ue16, to, 0, 0, tpdu)), slow: true,
			want: outN3(GNBAddress, GNBMAC, 0xc000, 0, message(pscDL("00000101"), tpdu)), seid: 1, pdr: 2, octets: uint64(len(tpdu)),
		}
	}
	refused := func(name string, in user) packet {
		return packet{name: "downlink, " + name, port: N6, in: onN6(in), reason: datapath.DropUnwrap, seid: 1, pdr: 2}
	}
	none := down("none at all", nil)
	none.want = cut(none.want, 2) // gopacket pads short frames
	small, likeIP := octets("00 01 02 03 04"), up4.bytes()
	return rows(
		up("a few octets", pscUL("00000001"), small), up("none at all", pscUL("00000001"), nil),
		up("what looks like IPv4, of TTL 1", pscUL("00000001"), ttl(up4, 1).bytes()), up("a cut IPv4 header", pscUL("00000001"), likeIP[:7]),
		down("a few octets", small), none, down("what looks like IPv4", likeIP),
		refused("of another host", inUDP(stranger6, ue16, to, 0, 0, small)),
		refused("of another port", inUDP(far6, ue16, layers.UDP{SrcPort: 5684, DstPort: 5683}, 0, 0, small)),
		refused("to another port", inUDP(far6, ue16, layers.UDP{SrcPort: 5683, DstPort: 5684}, 0, 0, small)),
		refused("not UDP", user{raw: tcp(far6, ue16, layers.TCP{SrcPort: 1, DstPort: 2}, "").bytes()}),
		refused("a wrong checksum", header(inUDP(far6, ue16, to, 0, 0, small), func(b []byte) []byte {
			b[len(b)-1]++
			return b
		})),
	)
}

// wrapped is the common session whose packets go to a host in another header, and
// come back in one.
func wrapped(ohc *api.OuterHeaderCreation, back api.Unwrap) *api.Session {
	return change(plainSession(), func(s *api.Session) {
		s.Rules[0].Forward.OuterHeaderCreation, s.Rules[1].Unwrap = ohc, back
	})
}

func upWrapped(name string, want user) packet {
	return packet{
		name: name, port: N3, in: onN3(gpdu(pscUL("00000001"), tos(up4, 0xb8))), want: outN6(GatewayMAC, want), slow: true,
		seid: plain, pdr: 1, octets: size4,
	}
}

func downWrapped(name string, in user) packet {
	return packet{
		name: name, port: N6, in: onN6(in), slow: true,
		want: outN3(GNBAddress, GNBMAC, portDown4, 0, gpdu(pscDL("00000101"), dn4x)), seid: plain, pdr: 2, octets: size4,
	}
}

const labelUp4 = 0xe29a4 // Flow Label: ue1 to far, ports 1000 and 9

var (
	inside4 = tos(up4x, 0xb8).bytes()
	fourIn4 = &layers.IPv4{
		Version: 4, TTL: 64, TOS: 0xb8, Flags: layers.IPv4DontFragment, Protocol: layers.IPProtocolIPv4,
		SrcIP: N6Address.AsSlice(), DstIP: host.AsSlice(),
	}
	fourIn6 = &layers.IPv6{
		Version: 6, HopLimit: 64, TrafficClass: 0xb8, FlowLabel: labelUp4, NextHeader: layers.IPProtocolIPv4,
		SrcIP: N6Address6.AsSlice(), DstIP: host6.AsSlice(),
	}
	back4     = &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolIPv4, SrcIP: host.AsSlice(), DstIP: ue1.AsSlice()}
	wrapPorts = layers.UDP{SrcPort: 4000, DstPort: 4000}
)

var wrapScripts = []script{
	{"unstructured PDU session", append([]step{install(unstructuredSession())}, opaqueRows()...)},
	{"UDP/IPv4 on N6", append([]step{install(wrapped(&api.OuterHeaderCreation{
		Encapsulation: api.Encapsulation_UDP, Ipv4: ipv4(host), Port: 4000,
	}, api.Unwrap_UNWRAP_UDP))}, rows(
		upWrapped("uplink", inUDP(N6Address, host, wrapPorts, 0xb8, 0, inside4)),
		downWrapped("downlink", inUDP(host, ue1, wrapPorts, 0, 0, down4.bytes())),
		packet{
			name: "downlink, bare", port: N6, in: onN6(tcp(far, ue1, layers.TCP{}, "")), reason: datapath.DropUnwrap, seid: plain, pdr: 2,
		},
		packet{
			name: "downlink, nothing inside", port: N6, in: onN6(inUDP(host, ue1, wrapPorts, 0, 0, nil)), reason: datapath.DropIPShort, seid: plain, pdr: 2,
		},
	)...)},
	{"IPv4 in IPv4 on N6", append([]step{install(wrapped(&api.OuterHeaderCreation{
		Encapsulation: api.Encapsulation_PLAIN_IP, Ipv4: ipv4(host),
	}, api.Unwrap_UNWRAP_IP))}, rows(
		upWrapped("uplink", user{raw: serialize(fourIn4, gopacket.Payload(inside4))}),
		downWrapped("downlink", user{raw: serialize(back4, gopacket.Payload(down4.bytes()))}),
		tooBigUp("too long for the header", df(size(up4, 1490)), toUE(portError4, icmp4(needFragment, 1480, df(size(up4, 1490))))),
	)...)},
	{"IPv4 in IPv6 on N6", append([]step{install(wrapped(&api.OuterHeaderCreation{
		Encapsulation: api.Encapsulation_PLAIN_IP, Ipv6: host6.AsSlice(),
	}, api.Unwrap_UNWRAP_NONE))}, rows(
		upWrapped("uplink", user{raw: serialize(fourIn6, gopacket.Payload(inside4))}),
	)...)},
	refusal("UDP/IP back to ACCESS", datapath.ErrUnsupported, farRule, 2, func(s *api.Session) {
		s.Rules[1].Forward.OuterHeaderCreation = &api.OuterHeaderCreation{Encapsulation: api.Encapsulation_UDP, Ipv4: ipv4(host), Port: 1}
	}),
	refusal("IP around what is none", datapath.ErrUnsupported, farRule, 1, func(s *api.Session) {
		s.PduType = api.PDUType_UNSTRUCTURED
		s.Rules[0].Forward.OuterHeaderCreation = &api.OuterHeaderCreation{Encapsulation: api.Encapsulation_PLAIN_IP, Ipv4: ipv4(host)}
	}),
}
