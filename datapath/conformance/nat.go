package conformance

import (
	"net/netip"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

var (
	ue52     = netip.MustParseAddr("10.45.0.52")
	ue4      = netip.MustParseAddr("10.45.0.4") // of session lte
	ue526    = netip.MustParseAddr("2001:db8:45:52::7")
	outside  = netip.MustParseAddr("198.51.100.0") // the NAT's, that the UE gets
	unmapped = netip.MustParseAddr("198.51.100.3")
)

// natSession is of the data network with a NAT and an MSS of 1300 octets.
func natSession() *api.Session {
	s := session(natted, 0x63, ue52)
	s.Rules[0].Forward.NetworkInstance = "nat"
	s.Rules[1].Detect.NetworkInstance = "nat"
	for _, r := range s.Rules {
		r.Detect.UeAddress.Ipv6Prefix = ipv6Prefix(ue526)
	}
	return s
}

// ip4 and ip6 are user packets with any transport header.
func ip4(src, dst netip.Addr, ttl uint8, l gopacket.SerializableLayer, rest ...gopacket.SerializableLayer) user {
	protocol := map[gopacket.LayerType]layers.IPProtocol{
		layers.LayerTypeUDP: layers.IPProtocolUDP, layers.LayerTypeTCP: layers.IPProtocolTCP, layers.LayerTypeICMPv4: layers.IPProtocolICMPv4,
	}[l.LayerType()]
	ip := &layers.IPv4{Version: 4, TTL: ttl, Id: 7, Protocol: protocol, SrcIP: src.AsSlice(), DstIP: dst.AsSlice()}
	if t, ok := l.(interface {
		SetNetworkLayerForChecksum(gopacket.NetworkLayer) error
	}); ok {
		must(t.SetNetworkLayerForChecksum(ip))
	}
	return user{raw: serialize(append([]gopacket.SerializableLayer{ip, l}, rest...)...)}
}

func syn(src, dst netip.Addr, ttl uint8, from, to uint16, mss uint16) user {
	tcp := &layers.TCP{SrcPort: layers.TCPPort(from), DstPort: layers.TCPPort(to), Seq: 1, SYN: true, Window: 1000, Options: []layers.TCPOption{
		{OptionType: layers.TCPOptionKindMSS, OptionLength: 4, OptionData: []byte{byte(mss >> 8), byte(mss)}},
		{OptionType: layers.TCPOptionKindSACKPermitted, OptionLength: 2},
	}}
	if src.Is4() {
		return ip4(src, dst, ttl, tcp)
	}
	ip := &layers.IPv6{Version: 6, HopLimit: ttl, NextHeader: layers.IPProtocolTCP, SrcIP: src.AsSlice(), DstIP: dst.AsSlice()}
	must(tcp.SetNetworkLayerForChecksum(ip))
	return user{raw: serialize(ip, tcp)}
}

func ping(src, dst netip.Addr, ttl uint8, kind uint8, id uint16) user {
	return ip4(src, dst, ttl, &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(kind, 0), Id: id, Seq: 3}, gopacket.Payload(make([]byte, 40)))
}

// unreachable is an ICMP error about a packet, which it quotes whole.
func unreachable(src, dst netip.Addr, ttl uint8, quote user) user {
	return ip4(src, dst, ttl, &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(3, 1)}, gopacket.Payload(quote.bytes()))
}

func datagram(src, dst netip.Addr, ttl uint8, from, to uint16) user {
	return ip4(src, dst, ttl, &layers.UDP{SrcPort: layers.UDPPort(from), DstPort: layers.UDPPort(to)}, gopacket.Payload(make([]byte, 80)))
}

// part is a fragment of a packet: octets behind the IP header from at on.
func part(u user, at, octets int, more bool) user {
	b := u.bytes()
	ip := &layers.IPv4{
		Version: 4, TTL: b[8], Id: 7, Protocol: layers.IPProtocol(b[9]), SrcIP: b[12:16], DstIP: b[16:20], FragOffset: uint16(at / 8),
	}
	if more {
		ip.Flags = layers.IPv4MoreFragments
	}
	return user{raw: serialize(ip, gopacket.Payload(b[20+at:20+at+octets]))}
}

func natUp(name string, in, out user, slow bool) packet {
	return packet{
		name: "NAT, uplink, " + name, port: N3, in: onN3(gpdu(pscUL("00000063"), in)), want: outCorp(out), slow: slow,
		seid: natted, pdr: 1, octets: uint64(len(in.bytes())),
	}
}

func natDown(name string, sport uint16, in, out user, slow bool) packet {
	return packet{
		name: "NAT, downlink, " + name, port: N6NAT, in: onCorp(in),
		want: outN3(GNBAddress, GNBMAC, sport, 0, gpdu(pscDL("00000163"), out)), slow: slow,
		seid: natted, pdr: 2, octets: uint64(len(in.bytes())),
	}
}

// Ports and Identifiers outside are taken in turn, of each protocol: 1024 is the
// first.
var natRows = []packet{
	natUp("UDP, the first packet", datagram(ue52, far, 64, 1000, 9), datagram(outside, far, 63, 1024, 9), true),
	natUp("UDP, the next one", datagram(ue52, far, 64, 1000, 9), datagram(outside, far, 63, 1024, 9), false),
	natUp("UDP, to another host: the same mapping", datagram(ue52, Neighbour, 64, 1000, 10), datagram(outside, Neighbour, 63, 1024, 10), true),
	natUp("UDP, another port of the UE", datagram(ue52, far, 64, 1001, 9), datagram(outside, far, 63, 1025, 9), true),
	natUp("UDP, to the private address of another UE: N6's", datagram(ue52, ue4, 64, 1000, 9), datagram(outside, ue4, 63, 1024, 9), false),
	natDown("UDP", 0xfce9, datagram(far, outside, 64, 9, 1024), datagram(far, ue52, 63, 9, 1000), false),
	natDown("UDP, from any host", 0xc0ad, datagram(GNBAddress2, outside, 64, 9, 1024), datagram(GNBAddress2, ue52, 63, 9, 1000), false),
	{
		name: "NAT, downlink, no mapping", port: N6NAT, in: onCorp(datagram(far, unmapped, 64, 9, 1024)), reason: datapath.DropNATMapping,
	},
	{
		name: "NAT, downlink, to the address of the UE", port: N6NAT, in: onCorp(datagram(far, ue52, 64, 9, 1000)), reason: datapath.DropNATMapping,
		seid: natted, pdr: 2,
	},
	{
		name: "NAT, its address from another data network", port: N6, in: onN6(datagram(far, outside, 64, 9, 1024)), reason: datapath.PassHost,
	},
	natUp("TCP SYN, MSS lowered", syn(ue52, far, 64, 1000, 80, 1460), syn(outside, far, 63, 1024, 80, 1300), true),
	natUp("TCP SYN again", syn(ue52, far, 64, 1000, 80, 1460), syn(outside, far, 63, 1024, 80, 1300), false),
	natUp("TCP SYN, MSS as it is", syn(ue52, far, 64, 1000, 80, 1200), syn(outside, far, 63, 1024, 80, 1200), false),
	natDown("TCP SYN, MSS lowered", 0xc304, syn(far, outside, 64, 80, 1024, 1460), syn(far, ue52, 63, 80, 1000, 1300), false),
	natUp("IPv6 TCP SYN, MSS lowered, address as it is", syn(ue526, far6, 64, 1000, 80, 1440), syn(ue526, far6, 63, 1000, 80, 1300), false),
	natDown("IPv6 TCP SYN, MSS lowered", 0xdae4, syn(far6, ue526, 64, 80, 1000, 1440), syn(far6, ue526, 63, 80, 1000, 1300), false),
	natUp("ping", ping(ue52, far, 64, 8, 77), ping(outside, far, 63, 8, 1024), true),
	natDown("ping answered", 0xf002, ping(far, outside, 64, 0, 1024), ping(far, ue52, 63, 0, 77), false),
	natDown("ICMP error about UDP", 0xf002, unreachable(far, outside, 64, datagram(outside, far, 1, 1024, 9)),
		unreachable(far, ue52, 63, datagram(ue52, far, 1, 1000, 9)), true),
	natDown("ICMP error about a ping", 0xf002, unreachable(far, outside, 64, ping(outside, far, 1, 8, 1024)),
		unreachable(far, ue52, 63, ping(ue52, far, 1, 8, 77)), true),
	natUp("ICMP error of the UE about UDP", unreachable(ue52, far, 64, datagram(far, ue52, 1, 9, 1000)),
		unreachable(outside, far, 63, datagram(far, outside, 1, 9, 1024)), true),
	natUp("the first fragment", part(datagram(ue52, far, 64, 1000, 9), 0, 48, true), part(datagram(outside, far, 63, 1024, 9), 0, 48, true), true),
	natUp("the second fragment", part(datagram(ue52, far, 64, 1000, 9), 48, 40, false), part(datagram(outside, far, 63, 1024, 9), 48, 40, false), true),
	{
		name: "NAT, uplink, a protocol without ports", port: N3, reason: datapath.DropNATMapping, seid: natted, pdr: 1,
		in: onN3(gpdu(pscUL("00000063"), header(from(up4, ue52.String()), func(b []byte) []byte {
			b[9], b[10], b[11] = 47, 0, 0
			return b
		}))),
	},
}

// natFullScript is a UE that has all ports that it may have: an ICMP error answers the packet
// that wants one more, and the ports that it has go on.
func natFullScript() script {
	const teid, seid, ports = 0x72, 62, 4 * 256 // of the default NAT
	ue := netip.MustParseAddr("10.45.0.53")
	s := session(seid, teid, ue)
	s.Rules[0].Forward.NetworkInstance, s.Rules[1].Detect.NetworkInstance = "nat", "nat"
	up := func(port uint16) packet {
		in := datagram(ue, far, 64, port, 9)
		return packet{
			name: "NAT, a port", port: N3, in: onN3(gpdu(pscUL("00000072"), in)), want: outCorp(datagram(outside, far, 63, 1024+port-1, 9)), either: true,
			seid: seid, pdr: 1, octets: uint64(len(in.bytes())),
		}
	}
	steps := []step{install(s)}
	for port := range uint16(ports) {
		steps = append(steps, frames(1, up(port+1)))
	}
	in := datagram(ue, far, 64, ports+1, 9)
	told := icmp4(prohibited, 0, in)
	o := outer{src: N3Address, dst: GNBAddress, sport: outerPort(user{raw: told}), dport: 2152, tos: 0xc0, df: true}
	steps = append(steps, rows(packet{
		name: "NAT, one port too many", port: N3, in: onN3(gpdu(pscUL("00000072"), in)), reason: datapath.DropNATFull, seid: seid, pdr: 1,
		sent: [][]byte{o.packet(message(pscDL("00000172"), told))},
	}, up(1))...)
	return script{"NAT: no port is left", append(steps, remove(seid))}
}

// natEnded: with a session its mappings end; what comes to them is dropped, and the
// next session with the UE's address gets other ports.
var natEnded = script{"NAT: the session ends", []step{
	install(natSession()),
	frames(1, natUp("", datagram(ue52, far, 64, 1000, 9), datagram(outside, far, 63, 1024, 9), true)),
	frames(1, natDown("", 0xfce9, datagram(far, outside, 64, 9, 1024), datagram(far, ue52, 63, 9, 1000), false)),
	remove(natted), install(natSession()),
	frames(1, packet{port: N6NAT, in: onCorp(datagram(far, outside, 64, 9, 1024)), reason: datapath.DropNATMapping}),
	remove(natted),
}}
