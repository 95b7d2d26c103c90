package conformance

import (
	"slices"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// icmp4 is an ICMP error from the UPF about a packet, of which it quotes what
// has place in 576 octets.
func icmp4(code layers.ICMPv4TypeCode, mtu uint16, about user) []byte {
	b := about.bytes()
	ip := &layers.IPv4{
		Version: 4, TTL: 64, TOS: 0xc0, Protocol: layers.IPProtocolICMPv4,
		SrcIP: N6Address.AsSlice(), DstIP: sourceOf(b),
	}
	return serialize(ip, &layers.ICMPv4{TypeCode: code, Seq: mtu}, gopacket.Payload(b[:min(len(b), 548)]))
}

// icmp6 is the same of ICMPv6, in 1280 octets.
func icmp6(code layers.ICMPv6TypeCode, mtu uint16, about user) []byte {
	b := about.bytes()
	ip := &layers.IPv6{
		Version: 6, HopLimit: 64, TrafficClass: 0xc0, NextHeader: layers.IPProtocolICMPv6,
		SrcIP: N6Address6.AsSlice(), DstIP: sourceOf(b),
	}
	icmp := &layers.ICMPv6{TypeCode: code}
	must(icmp.SetNetworkLayerForChecksum(ip))
	return serialize(ip, icmp, gopacket.Payload(append([]byte{0, 0, byte(mtu >> 8), byte(mtu)}, b[:min(len(b), 1232)]...)))
}

func sourceOf(packet []byte) []byte {
	if packet[0]>>4 == 6 {
		return packet[8:24]
	}
	return packet[12:16]
}

var (
	ttlExceeded  = layers.CreateICMPv4TypeCode(11, 0)
	ttlExceeded6 = layers.CreateICMPv6TypeCode(3, 0)
	needFragment = layers.CreateICMPv4TypeCode(3, 4)
	tooBig6      = layers.CreateICMPv6TypeCode(2, 0)
)

// toUE is a packet of the UPF's own to the UE of session plain, in its tunnel.
// sport is the source port of the outer header.
func toUE(sport uint16, packet []byte) []byte {
	o := outer{src: N3Address, dst: GNBAddress, sport: sport, dport: 2152, tos: packet[1] &^ 3, df: true}
	if packet[0]>>4 == 6 {
		o.tos = (packet[0]<<4 | packet[1]>>4) &^ 3
	}
	return o.packet(message(pscDL("00000101"), packet))
}

// Source ports of outer headers of what the UPF says to the UE of session plain.
const (
	portError4 = 0xdc2e // N6Address to ue1
	portError6 = 0xe9b9 // N6Address6 to ue16
)

// df is an IPv4 packet that must not be cut.
func df(u user) user { return flags(u, 0x40, 0) }

// flags sets flags and Fragment Offset of an IPv4 packet.
func flags(u user, first, second byte) user {
	return header(u, func(b []byte) []byte {
		b[6], b[7] = first, second
		return mended(b)
	})
}

// mended computes the checksum of an IPv4 header anew.
func mended(b []byte) []byte {
	b[10], b[11] = 0, 0
	var sum uint32
	for i := 0; i < 4*int(b[0]&0xf); i += 2 {
		sum += uint32(b[i])<<8 | uint32(b[i+1])
	}
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	b[10], b[11] = ^byte(sum>>8), ^byte(sum)
	return b
}

// piece is a fragment of an IPv4 packet, without options: octets first to end
// behind the header.
func piece(u user, first, end int) user {
	b := u.bytes()
	size := 20 + end - first
	p := append(append([]byte(nil), b[:20]...), b[20+first:20+end]...)
	p[2], p[3] = byte(size>>8), byte(size)
	p[6], p[7] = byte(first/8>>8), byte(first/8)
	if 20+end < len(b) {
		p[6] |= 0x20
	}
	return user{raw: mended(p)}
}

// toolong is an octet more than fits into the tunnel of session plain.
const fits, toolong = MTU - 44, MTU - 43

// tooBigUp and tooBigDown are rows of a packet that does not fit.
func tooBigUp(name string, u user, sent ...[]byte) packet {
	return packet{
		name: "uplink, " + name, port: N3, in: onN3(gpdu(pscUL("00000001"), u)),
		reason: datapath.DropMTU, seid: plain, pdr: 1, sent: sent,
	}
}

func tooBigDown(name string, u user, sent ...[]byte) packet {
	return packet{name: "downlink, " + name, port: N6, in: onN6(u), reason: datapath.DropMTU, seid: plain, pdr: 2, sent: sent}
}

func expiredUp(name string, u user, sent ...[]byte) packet {
	p := tooBigUp(name, u, sent...)
	p.reason = datapath.DropTTL
	return p
}

func expiredDown(name string, u user, sent ...[]byte) packet {
	p := tooBigDown(name, u, sent...)
	p.reason = datapath.DropTTL
	return p
}

// long6 is an IPv6 packet of this length.
func long6(u user, octets int) user {
	u.payload = octets - (size6 - 32)
	return u
}

// fragmentRows: what is too long for the next link is cut, or its sender is told.
func fragmentRows() []step {
	long := size(down4, 3000)
	longX := size(dn4x, 3000)
	out := outN3(GNBAddress, GNBMAC, portDown4, 0, gpdu(pscDL("00000101"), piece(longX, 0, 1432)))
	up := size(up4, 3000)
	upX := size(up4x, 3000)
	return rows(
		packet{
			name: "downlink, cut in three", port: N6, in: onN6(long), want: out, slow: true, seid: plain, pdr: 2, octets: 3000,
			sent: [][]byte{
				outN3(GNBAddress, GNBMAC, portDown4, 0, gpdu(pscDL("00000101"), piece(longX, 1432, 2864)))[14:],
				outN3(GNBAddress, GNBMAC, portDown4, 0, gpdu(pscDL("00000101"), piece(longX, 2864, 2980)))[14:],
			},
		},
		packet{
			name: "uplink, cut in three", port: N3, in: onN3(gpdu(pscUL("00000001"), up)), want: outN6(GatewayMAC, piece(upX, 0, 1480)),
			slow: true, seid: plain, pdr: 1, octets: 3000,
			sent: [][]byte{piece(upX, 1480, 2960).bytes(), piece(upX, 2960, 2980).bytes()},
		},
		tooBigDown("DF, too long", df(size(down4, toolong)), icmp4(needFragment, fits, df(size(down4, toolong)))),
		tooBigUp("DF, too long", df(size(up4, 1501)), toUE(portError4, icmp4(needFragment, 1500, df(size(up4, 1501))))),
		tooBigDown("IPv6, too long", long6(down6, toolong), icmp6(tooBig6, fits, long6(down6, toolong))),
		tooBigUp("IPv6, too long", long6(up6, 1501), toUE(portError6, icmp6(tooBig6, 1500, long6(up6, 1501)))),
		tooBigDown("wrong checksum, too long", header(size(down4, toolong), wrongSum)),
		tooBigDown("DF, too long, a later fragment", flags(size(down4, toolong), 0x40, 1)),
		withReason(tooBigDown("DF, too long, from nobody", df(from(size(down4, toolong), "0.0.0.0"))), datapath.DropScope),
	)
}

// expiredRows: TTL and Hop Limit ran out.
func expiredRows() []step {
	ping := user{raw: mended(octets("45000020 00070000 01010000 0a2d0001 c6120001 0800 f7fd 0001 0001 00000000"))}
	errorUp := user{raw: mended(octets("45000020 00070000 01010000 0a2d0001 c6120001 0301 fcfe 0000 0000 00000000"))}
	return rows(
		expiredUp("TTL 1", ttl(up4, 1), toUE(portError4, icmp4(ttlExceeded, 0, ttl(up4, 1)))),
		expiredUp("TTL 1, ping", ping, toUE(portError4, icmp4(ttlExceeded, 0, ping))),
		expiredUp("TTL 1, ICMP error: not told", errorUp),
		expiredUp("TTL 1, to many: not told", to(ttl(up4, 1), "239.1.2.3")),
		expiredUp("TTL 1, later fragment: not told", flags(ttl(up4, 1), 0, 1)),
		expiredUp("Hop Limit 1", ttl(up6, 1), toUE(portError6, icmp6(ttlExceeded6, 0, ttl(up6, 1)))),
		expiredDown("TTL 1", ttl(down4, 1), icmp4(ttlExceeded, 0, ttl(down4, 1))),
		expiredDown("Hop Limit 1", ttl(down6, 1), icmp6(ttlExceeded6, 0, ttl(down6, 1))),
		expiredDown("TTL 1, long: quoted in part", size(ttl(down4, 1), 1000), icmp4(ttlExceeded, 0, size(ttl(down4, 1), 1000))),
		expiredDown("Hop Limit 1, from many: not told", from(ttl(down6, 1), "ff0e::1")),
	)
}

// rows are steps of a script.
func rows(all ...packet) []step {
	var steps []step
	for _, p := range all {
		steps = append(steps, named(p))
	}
	return steps
}

// plainSession is session plain of the packet table.
func plainSession() *api.Session { return sessions()[0] }

// relayedLong is too long for N9: the tunnel's packet is cut, not the user's.
func relayedLong() packet {
	u := size(up9, 1500)
	return packet{
		name: "relay, too long", port: N3, in: onN3(gpdu(pscUL("00000030"), df(u))),
		want: outN9(port9, gpdu("34ff LEN 00000130 0000 00 85 01 10 09 00", df(u))), slow: true, seid: relayed, pdr: 1, octets: 1500, urrs: []uint32{1},
	}
}

var errorScripts = []script{
	{"too long for the next link", append([]step{install(plainSession())}, fragmentRows()...)},
	{"too long for a tunnel of a relay", []step{install(relayedSession()), frames(1, relayedLong())}},
	{"TTL ran out", append([]step{install(plainSession())}, expiredRows()...)},
	{"a gate is silent", []step{
		install(change(plainSession(), func(s *api.Session) { s.Qers[0].UplinkGateClosed = true })),
		frames(1, packet{port: N3, in: onN3(gpdu(pscUL("00000001"), ttl(up4, 1))), reason: datapath.DropTTL, seid: 1, pdr: 1}),
	}},
	{"no downlink rule that forwards, no answer", []step{
		install(change(plainSession(), func(s *api.Session) { s.Rules[1].Forward = &api.Forward{Action: api.Action_BUFF} })),
		frames(1, packet{port: N3, in: onN3(gpdu(pscUL("00000001"), ttl(up4, 1))), reason: datapath.DropTTL, seid: 1, pdr: 1}),
	}},
}

// exceptionScripts are about what is no plain packet of a plain session.
var exceptionScripts = slices.Concat(errorScripts, advertiseScripts, scopeScripts, redirectScripts, replacementScripts, copyScripts, wrapScripts, []script{natFullScript()})
