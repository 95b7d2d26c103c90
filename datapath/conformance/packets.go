package conformance

import (
	"net/netip"
	"strings"

	"github.com/gopacket/gopacket/layers"

	"github.com/plumbline-upf/plumbline/datapath"
)

// User packets of the rows: as they come and, a hop later, as they go.
var (
	up4   = user{src: ue1, dst: far, ttl: 64, port: 1000, payload: 32}
	up4x  = user{src: ue1, dst: far, ttl: 63, port: 1000, payload: 32}
	up6   = user{src: ue16, dst: far6, ttl: 64, port: 1000, payload: 32}
	up6x  = user{src: ue16, dst: far6, ttl: 63, port: 1000, payload: 32}
	down4 = user{src: far, dst: ue1, ttl: 64, port: 1000, payload: 32}
	dn4x  = user{src: far, dst: ue1, ttl: 63, port: 1000, payload: 32}
	down6 = user{src: far6, dst: ue16, ttl: 64, port: 1000, payload: 32}
	dn6x  = user{src: far6, dst: ue16, ttl: 63, port: 1000, payload: 32}
)

// Octets of the user packets above: IP and UDP header, and 32.
const (
	size4 = 20 + 8 + 32
	size6 = 40 + 8 + 32
)

// Source ports of outer headers: 49152 and 14 bits of the flow's hash.
const (
	portDown4 = 0xf8a6 // far to ue1, ports 1000 and 9
	portDown6 = 0xfefd // far6 to ue16, ports 1000 and 9
)

// pscDL is a downlink header with QFI 9 as the UPF writes it.
func pscDL(teid string) string { return "34ff LEN " + teid + " 0000 00 85 01 00 09 00" }

// pscUL is an uplink header with QFI 9 as gNBs write it.
func pscUL(teid string) string { return "34ff LEN " + teid + " 0000 00 85 01 10 09 00" }

func to(u user, dst string) user {
	u.dst = netip.MustParseAddr(dst)
	return u
}

func from(u user, src string) user {
	u.src = netip.MustParseAddr(src)
	return u
}

func ttl(u user, n uint8) user {
	u.ttl = n
	return u
}

func tos(u user, n uint8) user {
	u.tos = n
	return u
}

func size(u user, octets int) user {
	u.payload = octets - (size4 - 32)
	return u
}

// header cuts or changes a user packet: only octets that are there count.
func header(u user, change func(b []byte) []byte) user { return user{raw: change(u.bytes())} }

var packets = concat(gtpuForms, uplinkRows, uplinkDrops, downlinkRows, downlinkDrops,
	relayRows, relaySignals, filterRows, outer6Rows, interfaceRows, detailRows, splitRows, n6Rows, natRows,
	untouchedRows)

func concat(tables ...[]packet) []packet {
	var all []packet
	for _, t := range tables {
		all = append(all, t...)
	}
	return all
}

// ok4 is an uplink row whose packet goes to the gateway.
func ok4(name, gtpuHeader string) packet {
	return packet{
		name: "uplink, " + name, port: N3, in: onN3(gpdu(gtpuHeader, up4)),
		want: outN6(GatewayMAC, up4x), seid: plain, pdr: 1, octets: size4,
	}
}

// extensionsKnown is the Supported Extension Headers Notification.
const extensionsKnown = "321f 000c 00000000 0000 00 00  8d 06 81 82 83 84 85 c0"

// gtpuForms: every form of GTP-U header, TS 29.281, 5.1 and 5.2.
var gtpuForms = []packet{
	ok4("no optional word", "30ff LEN 00000001"),
	ok4("sequence number", "32ff LEN 00000001 0007 00 00"),
	ok4("S set, E not: next type ignored", "32ff LEN 00000001 0007 00 85"),
	ok4("N-PDU number", "31ff LEN 00000001 0000 07 00"),
	ok4("E set, no extension header", "34ff LEN 00000001 0000 00 00"),
	ok4("PDU Session Container, QFI 9", pscUL("00000001")),
	ok4("all flags", "37ff LEN 00000001 0007 07 85 01 10 09 00"),
	ok4("PDU Session Container of 8 octets", "34ff LEN 00000001 0000 00 85 02 18 09 01 020304 00"),
	ok4("PDU Session Container of 12 octets", "34ff LEN 00000001 0000 00 85 03 18 09 01 02030405 060708 00"),
	ok4("PDCP PDU number first", "34ff LEN 00000001 0000 00 c0 01 0001 85 01 10 09 00"),
	ok4("unknown extension header, not required", "34ff LEN 00000001 0000 00 85 01 10 09 10 01 0000 00"),
	ok4("eight extension headers", "34ff LEN 00000001 0000 00 20"+strings.Repeat(" 01 0000 20", 7)+" 01 0000 00"),
	refused("nine extension headers", "34ff LEN 00000001 0000 00 20"+strings.Repeat(" 01 0000 20", 8)+" 01 0000 00", datapath.DropGTPUExt),
	refused("extension header of length 0", "34ff LEN 00000001 0000 00 85 00 10 09 00", datapath.DropGTPUExt),
	answered("unknown extension header, required", "34ff LEN 00000001 0000 00 86 01 0000 00", datapath.DropGTPUExtType,
		told(N3Address, GNBAddress, extensionsKnown)),
	answered("unknown extension header, required of each node", "34ff LEN 00000001 0000 00 85 01 10 09 ca 01 0000 00", datapath.DropGTPUExtType,
		told(N3Address, GNBAddress, extensionsKnown)),
	answered("unknown TEID, and a header that its end has to comprehend", "34ff LEN 00000099 0000 00 8a 01 0000 00", datapath.DropNoPDR,
		errorIndication("00000099")),
	refused("extension header beyond the message", "34ff LEN 00000001 0000 00 85 40 10 09 00", datapath.DropGTPUShort),
	refused("version 2", "50ff LEN 00000001", datapath.DropGTPUVersion),
	refused("GTP'", "20ff LEN 00000001", datapath.DropGTPUVersion),
	answered("Echo Request", "3201 LEN 00000000 0001 00 00", datapath.PassSignalling,
		told(N3Address, GNBAddress, "3202 0006 00000000 0001 00 00 0e00")),
	refused("End Marker: nothing behind N6 wants it", "30fe LEN 00000001", datapath.PassSignalling),
	answered("TEID that nobody has", pscUL("00000099"), datapath.DropNoPDR, errorIndication("00000099")),
	refused("TEID 0, which no tunnel can have", pscUL("00000000"), datapath.DropNoPDR),
	{name: "uplink, 7 octets of GTP-U", port: N3, in: onN3(message("30ff 0000 000000", nil)), reason: datapath.DropGTPUShort},
	{name: "uplink, ends before the extension", port: N3, in: onN3(message("34ff 0004 00000001 0000 00 85", nil)), reason: datapath.DropGTPUShort},
	{name: "uplink, optional word cut", port: N3, in: onN3(message("32ff 0002 00000001 0000", nil)), reason: datapath.DropGTPUShort},
	{name: "uplink, Length beyond the datagram", port: N3, in: onN3(message("30ff ffff 00000001", up4.bytes())), reason: datapath.DropGTPUShort},
	{name: "uplink, Length an octet beyond the datagram", port: N3, in: onN3(message("30ff 003d 00000001", up4.bytes())), reason: datapath.DropGTPUShort},
	{name: "uplink, no T-PDU", port: N3, in: onN3(message("30ff 0000 00000001", nil)), reason: datapath.DropIPShort},
	{
		name: "uplink, octets behind Length", port: N3, in: onN3(append(gpdu(pscUL("00000001"), up4), 1, 2, 3)),
		want: outN6(GatewayMAC, up4x), seid: plain, pdr: 1, octets: size4,
	},
}

func refused(name, gtpuHeader string, reason datapath.Reason) packet {
	return packet{name: "uplink, " + name, port: N3, in: onN3(gpdu(gtpuHeader, up4)), reason: reason}
}

func answered(name, gtpuHeader string, reason datapath.Reason, sent [][]byte) packet {
	p := refused(name, gtpuHeader, reason)
	p.sent = sent
	return p
}

// uplinkRows: what is forwarded from N3 to N6.
var uplinkRows = []packet{
	{
		name: "uplink, IPv6", port: N3, in: onN3(gpdu(pscUL("00000001"), up6)),
		want: outN6(GatewayMAC, up6x), seid: plain, pdr: 1, octets: size6,
	},
	{
		name: "uplink, 4G without container, any source", port: N3, in: onN3(gpdu("30ff LEN 00000004", from(up4, "192.0.2.1"))),
		want: outN6(GatewayMAC, from(up4x, "192.0.2.1")), seid: lte, pdr: 1, octets: size4,
	},
	{
		name: "uplink, to another UE's address: N6's", port: N3, in: onN3(gpdu(pscUL("00000001"), to(up4, "10.45.0.4"))),
		want: outN6(GatewayMAC, to(up4x, "10.45.0.4")), seid: plain, pdr: 1, octets: size4,
	},
	{
		name: "uplink, QFI 5 of the PDI", port: N3, in: onN3(gpdu("34ff LEN 00000005 0000 00 85 01 10 05 00", from(up4, "10.45.0.5"))),
		want: outN6(GatewayMAC, from(up4x, "10.45.0.5")), seid: marked, pdr: 1, octets: size4,
	},
	{
		name: "uplink, TEID in the overflow", port: N3, in: onN3(gpdu(pscUL("deadbe01"), from(up4, "10.45.1.1"))),
		want: outN6(GatewayMAC, from(up4x, "10.45.1.1")), seid: guest, pdr: 1, octets: size4,
	},
	{
		name: "uplink, to a neighbour", port: N3, in: onN3(gpdu(pscUL("00000001"), to(up4, "10.6.0.9"))),
		want: outN6(NeighbourMAC, to(up4x, "10.6.0.9")), seid: plain, pdr: 1, octets: size4,
	},
	{
		name: "uplink, to an IPv6 neighbour", port: N3, in: onN3(gpdu(pscUL("00000001"), to(up6, "2001:db8:6::9"))),
		want: outN6(NeighbourMAC6, to(up6x, "2001:db8:6::9")), seid: plain, pdr: 1, octets: size6,
	},
	{
		name: "uplink, neighbour not resolved", port: N3, in: onN3(gpdu(pscUL("00000001"), to(up4, "10.6.0.77"))),
		want: outN6(NeighbourMAC, to(up4x, "10.6.0.77")), seid: plain, pdr: 1, octets: size4, slow: true,
	},
	{
		name: "uplink, DSCP and ECN are the user's", port: N3, in: onN3(gpdu(pscUL("00000001"), tos(up4, 0xb9))),
		want: outN6(GatewayMAC, tos(up4x, 0xb9)), seid: plain, pdr: 1, octets: size4,
	},
	{
		name: "uplink, padded frame", port: N3, in: outer{src: GNBAddress, dst: N3Address, sport: 2152, dport: 2152, pad: 18}.
			frame(N3MAC, ghostMAC, gpdu(pscUL("00000001"), up4)),
		want: outN6(GatewayMAC, up4x), seid: plain, pdr: 1, octets: size4,
	},
	{
		name: "uplink, any source port, UDP checksum, options", port: N3,
		in: outer{src: GNBAddress, dst: N3Address, sport: 50001, dport: 2152, checksum: true, tos: 0xb8,
			options: []layers.IPv4Option{{OptionType: 1}, {OptionType: 1}, {OptionType: 1}, {OptionType: 0}}}.
			frame(N3MAC, ghostMAC, gpdu(pscUL("00000001"), up4)),
		want: outN6(GatewayMAC, up4x), seid: plain, pdr: 1, octets: size4,
	},
	{
		name: "uplink, 1500 octets", port: N3, in: onN3(gpdu(pscUL("00000001"), size(up4, 1500))),
		want: outN6(GatewayMAC, size(up4x, 1500)), seid: plain, pdr: 1, octets: 1500,
	},
	{
		name: "uplink, wrong checksum stays wrong", port: N3, in: onN3(gpdu(pscUL("00000001"), header(up4, wrongSum))),
		want: outN6(GatewayMAC, header(up4x, wrongSum)), seid: plain, pdr: 1, octets: size4,
	},
}

// wrongSum makes the IPv4 header checksum one more than it should be.
func wrongSum(b []byte) []byte {
	b[11]++
	return b
}

// uplinkDrops: what is not.
var uplinkDrops = []packet{
	{name: "uplink, gate closed", port: N3, in: onN3(gpdu(pscUL("00000002"), from(up4, "10.45.0.2"))), reason: datapath.DropGate, seid: gated, pdr: 1},
	{name: "uplink, FAR DROP", port: N3, in: onN3(gpdu(pscUL("00000003"), from(up4, "10.45.0.3"))), reason: datapath.DropFAR, seid: dropped, pdr: 1},
	{name: "uplink, no FAR yet", port: N3, in: onN3(gpdu(pscUL("00000035"), from(up4, "10.45.0.6"))), reason: datapath.DropIncomplete, seid: pending, pdr: 1},
	expiredUp("TTL 1", ttl(up4, 1), toUE(portError4, icmp4(ttlExceeded, 0, ttl(up4, 1)))),
	expiredUp("TTL 0", ttl(up4, 0), toUE(portError4, icmp4(ttlExceeded, 0, ttl(up4, 0)))),
	expiredUp("Hop Limit 1", ttl(up6, 1), toUE(portError6, icmp6(ttlExceeded6, 0, ttl(up6, 1)))),
	{name: "uplink, spoofed IPv4", port: N3, in: onN3(gpdu(pscUL("00000001"), from(up4, "10.45.0.2"))), reason: datapath.DropUEAddress},
	{name: "uplink, spoofed IPv6", port: N3, in: onN3(gpdu(pscUL("00000001"), from(up6, "2001:db8:45:2::7"))), reason: datapath.DropUEAddress},
	{name: "uplink, IPv6 on an IPv4 session", port: N3, in: onN3(gpdu(pscUL("00000005"), up6)), reason: datapath.DropUEAddress},
	{name: "uplink, QFI not in the PDI", port: N3, in: onN3(gpdu("34ff LEN 00000005 0000 00 85 01 10 06 00", from(up4, "10.45.0.5"))), reason: datapath.DropQFI},
	{name: "uplink, no QFI where the PDI has one", port: N3, in: onN3(gpdu("30ff LEN 00000005", from(up4, "10.45.0.5"))), reason: datapath.DropQFI},
	{name: "uplink, T-PDU is IP version 5", port: N3, in: onN3(gpdu(pscUL("00000001"), header(up4, func(b []byte) []byte { b[0] = 0x55; return b }))), reason: datapath.DropIPVersion},
	{name: "uplink, T-PDU of 19 octets", port: N3, in: onN3(gpdu(pscUL("00000001"), header(up4, func(b []byte) []byte { return b[:19] }))), reason: datapath.DropIPShort},
	{name: "uplink, user packet an octet short", port: N3, in: onN3(gpdu(pscUL("00000001"), header(up4, func(b []byte) []byte { return cut(b, 1) }))), reason: datapath.DropIPShort},
	{name: "uplink, IPv6 user packet an octet short", port: N3, in: onN3(gpdu(pscUL("00000001"), header(up6, func(b []byte) []byte { return cut(b, 1) }))), reason: datapath.DropIPShort},
	{name: "uplink, IHL 4", port: N3, in: onN3(gpdu(pscUL("00000001"), header(up4, func(b []byte) []byte { b[0] = 0x44; return b }))), reason: datapath.DropIPShort},
	{name: "uplink, outer fragment", port: N3, in: outer{src: GNBAddress, dst: N3Address, sport: 2152, dport: 2152, flags: layers.IPv4MoreFragments}.
		frame(N3MAC, ghostMAC, gpdu(pscUL("00000001"), up4)), reason: datapath.PassFragment},
	{name: "uplink, frame an octet short", port: N3, in: cut(onN3(gpdu(pscUL("00000001"), up4)), 1), reason: datapath.DropIPShort},
	{name: "N3, other port", port: N3, in: outer{src: GNBAddress, dst: N3Address, sport: 2152, dport: 2153}.
		frame(N3MAC, ghostMAC, gpdu(pscUL("00000001"), up4)), reason: datapath.PassHost},
	{name: "N3, other address", port: N3, in: outer{src: GNBAddress, dst: GNBAddress2, sport: 2152, dport: 2152}.
		frame(N3MAC, ghostMAC, gpdu(pscUL("00000001"), up4)), reason: datapath.PassHost},
	{name: "N3, ARP", port: N3, in: ethernet(N3MAC, ghostMAC, layers.EthernetTypeARP, make([]byte, 28)), reason: datapath.PassHost},
	{name: "N3, IPv6", port: N3, in: ethernet(N3MAC, ghostMAC, layers.EthernetTypeIPv6, up6.bytes()), reason: datapath.PassHost},
	{name: "N3, downlink packet", port: N3, in: ethernet(N3MAC, ghostMAC, layers.EthernetTypeIPv4, down4.bytes()), reason: datapath.PassHost, split: true},
	{name: "N3, only an Ethernet header", port: N3, in: ethernet(N3MAC, ghostMAC, layers.EthernetTypeIPv4, nil)[:14], reason: datapath.PassHost, split: true},
}

func cut(b []byte, octets int) []byte { return b[:len(b)-octets] }
