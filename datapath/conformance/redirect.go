package conformance

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// Secret is that of a UPF under test, so that its sequence numbers are known.
var Secret = []byte("conformance")

const portalURL = "http://portal.example.org/pay?from=here"

const found = "HTTP/1.1 302 Found\r\nLocation: " + portalURL +
	"\r\nContent-Length: 0\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n"

// Cookie is the UPF's first sequence number towards a UE.
func Cookie(ue, server netip.Addr, port uint16) uint32 {
	h := hmac.New(sha256.New, Secret)
	h.Write(slices.Concat(ue.AsSlice(), server.AsSlice(), []byte{byte(port >> 8), byte(port), 0, 80}))
	return binary.BigEndian.Uint32(h.Sum(nil))
}

// tcp is a segment.
func tcp(src, dst netip.Addr, t layers.TCP, payload string) user {
	t.DataOffset = 5
	if src.Is6() {
		ip := &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: layers.IPProtocolTCP, SrcIP: src.AsSlice(), DstIP: dst.AsSlice()}
		must(t.SetNetworkLayerForChecksum(ip))
		return user{raw: serialize(ip, &t, gopacket.Payload(payload))}
	}
	ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolTCP, SrcIP: src.AsSlice(), DstIP: dst.AsSlice()}
	must(t.SetNetworkLayerForChecksum(ip))
	return user{raw: serialize(ip, &t, gopacket.Payload(payload))}
}

// surfer is a UE at port 1000 that talks to a web server.
type surfer struct {
	ue, server netip.Addr
	port       uint16 // source port of the outer header of what comes back
	first      uint32 // the UPF's first octet
}

// says is a segment of the surfer.
func (s surfer) says(seq, ack uint32, flags string, payload string) user {
	t := layers.TCP{SrcPort: 1000, DstPort: 80, Seq: seq, Ack: ack, Window: 64000}
	setFlags(&t, flags)
	return tcp(s.ue, s.server, t, payload)
}

// hears is what it gets.
func (s surfer) hears(seq, ack uint32, flags string, payload string, options ...layers.TCPOption) []byte {
	t := layers.TCP{SrcPort: 80, DstPort: 1000, Seq: seq, Ack: ack, Window: 16384, Options: options}
	setFlags(&t, flags)
	return toUE(s.port, tcp(s.server, s.ue, t, payload).bytes())
}

func setFlags(t *layers.TCP, flags string) {
	for _, f := range flags {
		switch f {
		case 'S':
			t.SYN = true
		case 'A':
			t.ACK = true
		case 'F':
			t.FIN = true
		case 'R':
			t.RST = true
		case 'P':
			t.PSH = true
		}
	}
}

// row is a segment to the UPF and its answer.
func (s surfer) row(name string, u user, sent ...[]byte) packet {
	return packet{
		name: name, port: N3, in: onN3(gpdu(pscUL("00000001"), u)), reason: datapath.DropRedirect, seid: plain, pdr: 1, sent: sent,
	}
}

func (s surfer) steps() []step {
	const get = "GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"
	const n = uint32(len(get))
	end := s.first + uint32(len(found))
	mss := layers.TCPOption{OptionType: layers.TCPOptionKindMSS, OptionLength: 4, OptionData: []byte{1220 >> 8, 1220 & 0xff}}
	return rows(
		s.row("SYN", s.says(100, 0, "S", ""), s.hears(s.first-1, 101, "SA", "", mss)),
		s.row("ACK", s.says(101, s.first, "A", "")),
		s.row("request", s.says(101, s.first, "PA", get), s.hears(s.first, 101+n, "FPA", found)),
		s.row("request again", s.says(101, s.first, "PA", get), s.hears(s.first, 101+n, "FPA", found)),
		s.row("its first octet", s.says(101, s.first, "PA", get[:1]), s.hears(s.first, 102, "A", "")),
		s.row("some more of it", s.says(102, s.first, "PA", get[1:20]), s.hears(s.first, 121, "A", "")),
		s.row("the rest of it", s.says(121, s.first, "PA", get[20:]), s.hears(s.first, 101+n, "FPA", found)),
		s.row("the empty line", s.says(101+n-2, s.first, "PA", "\r\n"), s.hears(s.first, 101+n, "FPA", found)),
		s.row("part of the response came", s.says(101+n, s.first+10, "FA", ""), s.hears(s.first+10, 102+n, "FPA", found[10:])),
		s.row("all of it came", s.says(101+n, end+1, "A", "")),
		s.row("FIN", s.says(101+n, end+1, "FA", ""), s.hears(end+1, 102+n, "A", "")),
		s.row("no request at all", s.says(101, s.first, "FA", ""), s.hears(s.first, 102, "FA", "")),
		s.row("RST", s.says(101, s.first, "RA", "")),
		s.row("a connection from before", s.says(7000, s.first-5, "PA", get), s.hears(s.first-5, 0, "R", "")),
		s.row("of another server", s.says(7000, end+2, "A", ""), s.hears(end+2, 0, "R", "")),
	)
}

func portalSession(to *api.Redirect) *api.Session {
	return change(plainSession(), func(s *api.Session) { s.Rules[0].Forward.Redirect = to })
}

// toPortal are packets that are redirected to a URL.
func toPortal() []step {
	web4 := surfer{ue: ue1, server: far, port: 0xf61c}
	web4.first = Cookie(ue1, far, 1000) + 1
	web6 := surfer{ue: ue16, server: far6, port: 0xcfac}
	web6.first = Cookie(ue16, far6, 1000) + 1
	steps := append([]step{install(portalSession(&api.Redirect{Url: portalURL}))}, web4.steps()...)
	steps = append(steps, web6.steps()...)
	quic4, quic6 := udp(ue1, far, 1000, 443, 64), udp(ue16, far6, 1000, 443, 64)
	steps = append(steps, closedSteps(web4)...)
	steps = append(steps, closedSteps(web6)...)
	return append(steps, rows(
		web4.row("UDP to another port", up4),
		web4.row("QUIC", quic4, toUE(portError4, icmp4(prohibited, 0, quic4))),
		web4.row("a later fragment", flags(quic4, 0, 4)),
		web6.row("QUIC over IPv6", quic6, toUE(portError6, icmp6(prohibited6, 0, quic6))),
		web4.row("a wrong checksum", header(web4.says(100, 0, "S", ""), func(b []byte) []byte {
			b[36]++
			return b
		})),
		withReason(web4.row("to many", header(web4.says(100, 0, "S", ""), func(b []byte) []byte {
			copy(b[16:], []byte{239, 1, 2, 3})
			return b
		})), datapath.DropScope),
		packet{
			name: "a packet from outside is not", port: N6, in: onN6(down4), seid: plain, pdr: 2, octets: size4,
			want: outN3(GNBAddress, GNBMAC, portDown4, 0, gpdu(pscDL("00000101"), dn4x)),
		},
	)...)
}

// Of the port of QUIC.
var (
	prohibited  = layers.CreateICMPv4TypeCode(3, 13)
	prohibited6 = layers.CreateICMPv6TypeCode(1, 1)
)

// closedSteps are segments to a closed port.
func closedSteps(s surfer) []step {
	row := func(name string, seq, ack uint32, flags, payload string, answers ...layers.TCP) packet {
		t := layers.TCP{SrcPort: 1000, DstPort: 443, Seq: seq, Ack: ack, Window: 64000}
		setFlags(&t, flags)
		var sent [][]byte
		for _, a := range answers {
			a.SrcPort, a.DstPort, a.RST, a.Window = 443, 1000, true, 16384
			u := tcp(s.server, s.ue, a, "")
			sent = append(sent, toUE(outerPort(user{src: s.server, dst: s.ue, port: 443, raw: u.raw}), u.bytes()))
		}
		return s.row(name, tcp(s.ue, s.server, t, payload), sent...)
	}
	return rows(
		row("SYN of HTTPS", 100, 0, "S", "", layers.TCP{Ack: 101, ACK: true}),
		row("a segment of HTTPS", 100, 700, "PA", "data", layers.TCP{Seq: 700}),
		row("FIN without ACK", 100, 0, "F", "data", layers.TCP{Ack: 105, ACK: true}),
		row("RST of HTTPS", 100, 700, "RA", ""),
	)
}

// host is where packets go instead.
var host, host6 = netip.MustParseAddr("198.51.100.7"), netip.MustParseAddr("2001:db8:51::7")

// toHost are packets that go to another host, and come back as from the first.
func toHost(name string, up, upX, down, downX user, sport uint16, octets uint64) []step {
	return rows(
		packet{
			name: name + " up", port: N3, in: onN3(gpdu(pscUL("00000001"), up)), want: outN6(GatewayMAC, upX),
			seid: plain, pdr: 1, octets: octets, slow: true,
		},
		packet{
			name: name + " down", port: N6, in: onN6(down), seid: plain, pdr: 2, octets: octets, slow: true,
			want: outN3(GNBAddress, GNBMAC, sport, 0, gpdu(pscDL("00000101"), downX)),
		},
	)
}

// udp is a datagram between two ports.
func udp(src, dst netip.Addr, sport, dport uint16, ttl uint8) user {
	u := user{src: src, dst: dst, ttl: ttl, port: sport, payload: 32}
	b := u.bytes()
	ip := gopacket.NewPacket(b, layers.LayerTypeIPv4, gopacket.Default)
	if src.Is6() {
		ip = gopacket.NewPacket(b, layers.LayerTypeIPv6, gopacket.Default)
	}
	d := &layers.UDP{SrcPort: layers.UDPPort(sport), DstPort: layers.UDPPort(dport)}
	must(d.SetNetworkLayerForChecksum(ip.NetworkLayer()))
	return user{raw: serialize(ip.NetworkLayer().(gopacket.SerializableLayer), d, gopacket.Payload(make([]byte, 32)))}
}

// errorAbout is an ICMP error, port unreachable, about a packet.
func errorAbout(src, dst netip.Addr, ttl uint8, about user) user {
	b := gopacket.Payload(about.bytes())
	if src.Is4() {
		ip := &layers.IPv4{Version: 4, TTL: ttl, Protocol: layers.IPProtocolICMPv4, SrcIP: src.AsSlice(), DstIP: dst.AsSlice()}
		return user{src: src, dst: dst, raw: serialize(ip, &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(3, 3)}, b)}
	}
	ip := &layers.IPv6{Version: 6, HopLimit: ttl, NextHeader: layers.IPProtocolICMPv6, SrcIP: src.AsSlice(), DstIP: dst.AsSlice()}
	icmp := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(1, 4)}
	must(icmp.SetNetworkLayerForChecksum(ip))
	return user{src: src, dst: dst, raw: serialize(ip, icmp, gopacket.Payload(append(make([]byte, 4), b...)))}
}

// errorRows are ICMP errors about packets of a flow between two ports of ue and first,
// which is redirected to host: the packet that they quote is as their receiver knows
// it. Others have a quoted packet of no such flow.
func errorRows(ue, first, host, router netip.Addr) []step {
	n := uint64(len(errorAbout(ue, first, 64, udp(first, ue, 9, 1000, 63)).bytes()))
	up := func(name string, in, out user) packet {
		return packet{
			name: name, port: N3, in: onN3(gpdu(pscUL("00000001"), in)), want: outN6(GatewayMAC, out), seid: plain, pdr: 1, octets: n, slow: true,
		}
	}
	down := func(name string, in, out user) packet {
		return packet{
			name: name, port: N6, in: onN6(in), seid: plain, pdr: 2, octets: n, slow: true,
			want: outN3(GNBAddress, GNBMAC, outerPort(out), 0, gpdu(pscDL("00000101"), out)),
		}
	}
	sent, got := udp(ue, host, 1000, 9, 63), udp(host, ue, 9, 1000, 63)
	seenSent, seenGot := udp(ue, first, 1000, 9, 63), udp(first, ue, 9, 1000, 63)
	other := udp(ue, host, 1000, 10, 63)
	return rows(
		up("ICMP error of the UE", errorAbout(ue, first, 64, seenGot), errorAbout(ue, host, 63, got)),
		down("ICMP error of the host", errorAbout(host, ue, 64, sent), errorAbout(first, ue, 63, seenSent)),
		down("ICMP error of a router", errorAbout(router, ue, 64, sent), errorAbout(router, ue, 63, seenSent)),
		down("ICMP error about another flow", errorAbout(router, ue, 64, other), errorAbout(router, ue, 63, other)),
		down("ICMP error about a packet of another", errorAbout(router, ue, 64, got), errorAbout(router, ue, 63, got)),
	)
}

func hostSteps4() []step {
	elsewhere := netip.MustParseAddr("198.18.0.2")
	steps := append([]step{install(portalSession(&api.Redirect{Ipv4: ipv4(host)}))},
		toHost("UDP", udp(ue1, far, 1000, 9, 64), udp(ue1, host, 1000, 9, 63),
			udp(host, ue1, 9, 1000, 64), udp(far, ue1, 9, 1000, 63), 0xf002, size4)...)
	steps = append(steps, errorRows(ue1, far, host, netip.MustParseAddr("203.0.113.1"))...)
	later := func(u user) user { return flags(u, 0, 4) }
	steps = append(steps, toHost("a later fragment", later(udp(ue1, far, 1000, 9, 64)), header(later(udp(ue1, far, 1000, 9, 63)), toward(host)),
		header(later(udp(far, ue1, 9, 1000, 64)), fromHost(host)), later(udp(far, ue1, 9, 1000, 63)), portDown4NoPorts, size4)...)
	return append(steps, rows(
		packet{
			name: "the same ports to another", port: N3, in: onN3(gpdu(pscUL("00000001"), udp(ue1, elsewhere, 1000, 9, 64))),
			reason: datapath.DropRedirect, seid: plain, pdr: 1,
		},
		packet{
			name: "IPv6 to an IPv4 host", port: N3, in: onN3(gpdu(pscUL("00000001"), up6)), reason: datapath.DropRedirect, seid: plain, pdr: 1,
		},
		packet{
			name: "from another host", port: N6, in: onN6(down4), seid: plain, pdr: 2, octets: size4, slow: true,
			want: outN3(GNBAddress, GNBMAC, portDown4, 0, gpdu(pscDL("00000101"), dn4x)),
		},
	)...)
}

// toward and fromHost change an address of an IPv4 packet whose upper layer does
// not show.
func toward(a netip.Addr) func(b []byte) []byte {
	return func(b []byte) []byte { copy(b[16:], a.AsSlice()); return mended(b) }
}

func fromHost(a netip.Addr) func(b []byte) []byte {
	return func(b []byte) []byte { copy(b[12:], a.AsSlice()); return mended(b) }
}

// manySteps: 300 connections within the time of one, more than are kept of a UE. The
// oldest makes room for the newest, so that the UE still gets to the host.
func manySteps() []step {
	const connections = 300
	var all []packet
	for i := range connections {
		port := uint16(2000 + i)
		s := syn(ue1, far, 64, port, 443, 1400)
		all = append(all, packet{
			name: fmt.Sprintf("SYN %d", i+1), port: N3, in: onN3(gpdu(pscUL("00000001"), s)), want: outN6(GatewayMAC, syn(ue1, host, 63, port, 443, 1400)),
			seid: plain, pdr: 1, octets: uint64(len(s.bytes())), slow: true,
		})
	}
	answer, seen := syn(host, ue1, 64, 443, 2000+connections-1, 1400), syn(far, ue1, 63, 443, 2000+connections-1, 1400)
	all = append(all, packet{
		name: "the answer to the last", port: N6, in: onN6(answer), seid: plain, pdr: 2, octets: uint64(len(answer.bytes())), slow: true,
		want: outN3(GNBAddress, GNBMAC, outerPort(user{src: far, dst: ue1, raw: seen.raw}), 0, gpdu(pscDL("00000101"), seen)),
	})
	return append([]step{install(portalSession(&api.Redirect{Ipv4: ipv4(host)}))}, rows(all...)...)
}

func hostSteps6() []step {
	steps := append([]step{install(portalSession(&api.Redirect{Ipv4: ipv4(host), Ipv6: host6.AsSlice()}))},
		toHost("UDP over IPv6", udp(ue16, far6, 1000, 9, 64), udp(ue16, host6, 1000, 9, 63),
			udp(host6, ue16, 9, 1000, 64), udp(far6, ue16, 9, 1000, 63), 0xffb2, size6)...)
	return append(steps, errorRows(ue16, far6, host6, netip.MustParseAddr("2001:db8:113::1"))...)
}

// ownHostSteps: an SMF cannot send a UE's packets to this host by a redirection.
func ownHostSteps() []step {
	return append([]step{install(portalSession(&api.Redirect{Ipv4: ipv4(N6Address)}))},
		rows(packet{
			name: "up", port: N3, in: onN3(gpdu(pscUL("00000001"), udp(ue1, far, 1000, 9, 64))),
			reason: datapath.DropLocal, seid: plain, pdr: 1,
		})...)
}

var redirectScripts = []script{
	{"redirect to a URL", toPortal()},
	{"redirect to an IPv4 host", hostSteps4()},
	{"redirect to a host of both IP versions", hostSteps6()},
	{"redirect of more connections than are kept", manySteps()},
	{"redirect to a host that is the UPF", ownHostSteps()},
	refusal("redirect of packets from CORE", datapath.ErrUnsupported, farRule, 2, func(s *api.Session) {
		s.Rules[1].Forward.Redirect = &api.Redirect{Url: portalURL}
	}),
}
