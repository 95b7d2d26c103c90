package conformance

import (
	"github.com/gopacket/gopacket/layers"

	"github.com/plumbline-upf/plumbline/datapath"
)

// ok6 is a downlink row of session plain.
func fromN6(name string, in, out user, sport uint16, dscp uint8, octets uint64) packet {
	return packet{
		name: "downlink, " + name, port: N6, in: onN6(in),
		want: outN3(GNBAddress, GNBMAC, sport, dscp, gpdu(pscDL("00000101"), out)),
		seid: plain, pdr: 2, octets: octets,
	}
}

// downlinkRows: what is forwarded from N6 to N3.
var downlinkRows = []packet{
	fromN6("IPv4", down4, dn4x, portDown4, 0, size4),
	fromN6("IPv6", down6, dn6x, portDown6, 0, size6),
	fromN6("DSCP is copied, ECN is not", tos(down4, 0xbb), tos(dn4x, 0xbb), portDown4, 46, size4),
	fromN6("IPv6 DSCP is copied", tos(down6, 0xb8), tos(dn6x, 0xb8), portDown6, 46, size6),
	fromN6("largest that fits N3", size(down4, MTU-44), size(dn4x, MTU-44), portDown4, 0, MTU-44),
	cutInTwo(fromN6("one octet more is cut", size(down4, toolong), piece(size(dn4x, toolong), 0, 1432), portDown4, 0, toolong)),
	fromN6("fragment: ports are not looked at", header(down4, fragment), header(dn4x, fragment), portDown4NoPorts, 0, size4),
	fromN6("wrong checksum stays wrong", header(down4, wrongSum), header(dn4x, wrongSum), portDown4, 0, size4),
	{
		name: "downlink, padded frame", port: N6, in: append(onN6(size(down4, 28)), make([]byte, 18)...),
		want: outN3(GNBAddress, GNBMAC, portDown4, 0, gpdu(pscDL("00000101"), size(dn4x, 28))), seid: plain, pdr: 2, octets: 28,
	},
	{
		name: "downlink, 4G without container", port: N6, in: onN6(to(down4, "10.45.0.4")),
		want: outN3(GNBAddress, GNBMAC, 0xef50, 0, gpdu("30ff LEN 00000104", to(dn4x, "10.45.0.4"))), seid: lte, pdr: 2, octets: size4,
	},
	{
		name: "downlink, Transport Level Marking", port: N6, in: onN6(tos(to(down4, "10.45.0.5"), 0x28)),
		want: outN3(GNBAddress, GNBMAC, 0xd6de, 46, gpdu(pscDL("00000105"), tos(to(dn4x, "10.45.0.5"), 0x28))), seid: marked, pdr: 2, octets: size4,
	},
	{
		name: "downlink, UE address in the overflow", port: N6, in: onN6(to(down4, "10.45.1.1")),
		want: outN3(GNBAddress, GNBMAC, 0xc684, 0, gpdu(pscDL("deadbf01"), to(dn4x, "10.45.1.1"))), seid: guest, pdr: 2, octets: size4,
	},
}

// portDown4NoPorts is the source port for far to ue1 without their ports.
const portDown4NoPorts = 0xffa3

// fragment makes an IPv4 packet a first fragment and mends the checksum.
func fragment(b []byte) []byte {
	b[6] |= 0x20
	sum := uint32(b[10])<<8 | uint32(b[11])
	sum += 0xffff - 0x2000
	sum = sum&0xffff + sum>>16
	b[10], b[11] = byte(sum>>8), byte(sum)
	return b
}

func cutInTwo(p packet) packet {
	second := gpdu(pscDL("00000101"), piece(size(dn4x, toolong), 1432, toolong-20))
	p.sent = [][]byte{outN3(GNBAddress, GNBMAC, portDown4, 0, second)[14:]}
	return slowly(p)
}

func slowly(p packet) packet {
	p.slow = true
	return p
}

// downlinkDrops: what is not.
var downlinkDrops = []packet{
	{name: "downlink, gate closed", port: N6, in: onN6(to(down4, "10.45.0.2")), reason: datapath.DropGate, seid: gated, pdr: 2},
	{name: "downlink, FAR DROP", port: N6, in: onN6(to(down4, "10.45.0.3")), reason: datapath.DropFAR, seid: dropped, pdr: 2},
	{name: "downlink, no tunnel yet", port: N6, in: onN6(to(down4, "10.45.0.6")), reason: datapath.DropIncomplete, seid: pending, pdr: 2},
	{name: "downlink, TTL 1", port: N6, in: onN6(ttl(down4, 1)), reason: datapath.DropTTL, seid: plain, pdr: 2,
		sent: [][]byte{icmp4(ttlExceeded, 0, ttl(down4, 1))}},
	{name: "downlink, Hop Limit 1", port: N6, in: onN6(ttl(down6, 1)), reason: datapath.DropTTL, seid: plain, pdr: 2,
		sent: [][]byte{icmp6(ttlExceeded6, 0, ttl(down6, 1))}},
	{name: "downlink, address that no UE has", port: N6, in: onN6(to(down4, other.String())), reason: datapath.PassHost},
	{name: "downlink, prefix that no UE has", port: N6, in: onN6(to(down6, "2001:db8:45:9::7")), reason: datapath.PassHost},
	{name: "downlink, an octet short", port: N6, in: cut(onN6(down4), 1), reason: datapath.DropIPShort},
	{name: "downlink, IPv6 an octet short", port: N6, in: cut(onN6(down6), 1), reason: datapath.DropIPShort},
	{name: "N6, ARP", port: N6, in: ethernet(N6MAC, ghostMAC, layers.EthernetTypeARP, make([]byte, 28)), reason: datapath.PassHost},
	{name: "N6, G-PDU: not terminated there", port: N6, in: onN3(gpdu(pscUL("00000001"), up4)), reason: datapath.PassHost, split: true},
	{name: "N6, only an Ethernet header", port: N6, in: ethernet(N6MAC, ghostMAC, layers.EthernetTypeIPv4, nil)[:14], reason: datapath.DropIPShort},
	{name: "N6, IP version 0", port: N6, in: ethernet(N6MAC, ghostMAC, layers.EthernetTypeIPv4, make([]byte, 40)), reason: datapath.DropIPVersion},
}
