package probetest

import (
	"bytes"
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/inet"
)

// Ends are whom user packets are from and to.
type Ends struct{ From, To netip.Addr }

// Traffic makes user packets of a kind: packet n differs from all others that may be in
// a UPF at the same time, unless Same.
type Traffic struct {
	Name   string
	IPv6   bool
	Packet func(e Ends, n int) []byte

	// Same: packets cannot be told from each other.
	Same bool
	// NAT: packets can be told from each other without addresses and ports as well.
	NAT bool
}

// Ports of all packets.
const (
	portFrom = 40000
	portTo   = 9000
)

// Kinds are packets as applications send them, and rarer ones.
var Kinds = []Traffic{
	{Name: "UDP, Identification 0", NAT: true, Packet: func(e Ends, n int) []byte {
		return e.udp(0, dontFragment, append(number(n), padding(n%900)...))
	}},
	{Name: "UDP, same payload", NAT: true, Packet: func(e Ends, n int) []byte {
		return e.udp(uint16(n), 0, padding(172))
	}},
	{Name: "UDP, no payload", NAT: true, Packet: func(e Ends, n int) []byte {
		return e.udp(uint16(n), 0, nil)
	}},
	{Name: "RTP", NAT: true, Packet: func(e Ends, n int) []byte {
		return e.udp(0, dontFragment, append(rtp(n), padding(160)...))
	}},
	{Name: "TCP acknowledgements, duplicates among them", NAT: true, Packet: func(e Ends, n int) []byte {
		return e.tcp(uint16(n), 1, uint32(n-n%3)*2896, flagACK, nil)
	}},
	TCPData,
	{Name: "ICMP", NAT: true, Packet: func(e Ends, n int) []byte {
		h := header{from: e.From, to: e.To, protocol: unix.IPPROTO_ICMP, id: uint16(n)}
		return h.packet(echo(8, 77, uint16(n), padding(56)))
	}},
	{Name: "fragments", NAT: true, Packet: fragment},
	{Name: "IPv4 options", NAT: true, Packet: func(e Ends, n int) []byte {
		h := header{from: e.From, to: e.To, protocol: unix.IPPROTO_UDP, id: uint16(n), options: []byte{1, 1, 1, 0}}
		return h.packet(udp(portFrom, portTo, padding(64)))
	}},
	{Name: "IPv4 header alone", NAT: true, Packet: func(e Ends, n int) []byte {
		h := header{from: e.From, to: e.To, protocol: experiment, id: uint16(n)}
		return h.packet(nil)
	}},
	{Name: "UDP over IPv6", IPv6: true, NAT: true, Packet: func(e Ends, n int) []byte {
		return e.udp(0, 0, append(number(n), padding(n%900)...))
	}},
	TCPData6,
	{Name: "ICMPv6", IPv6: true, NAT: true, Packet: func(e Ends, n int) []byte {
		h := header{from: e.From, to: e.To, protocol: unix.IPPROTO_ICMPV6}
		return h.packet(echo(128, 77, uint16(n), padding(56)))
	}},
	{Name: "fragments of IPv6", IPv6: true, NAT: true, Packet: fragment6},
}

// TCPData are segments of one connection, one after the other, of equal length.
var TCPData = Traffic{Name: "TCP data", NAT: true, Packet: func(e Ends, n int) []byte {
	return e.tcp(uint16(n), uint32(n)*1000, 1, flagACK, padding(1000))
}}

// TCPData6 is the same over IPv6.
var TCPData6 = Traffic{Name: "TCP over IPv6", IPv6: true, NAT: true, Packet: TCPData.Packet}

// UDPRun are datagrams of one flow and of equal length, one after the other.
var UDPRun = Traffic{Name: "UDP run", NAT: true, Packet: func(e Ends, n int) []byte {
	return e.udp(uint16(n), 0, append(number(n), padding(500)...))
}}

// UDPRun6 is the same over IPv6.
var UDPRun6 = Traffic{Name: "UDP run over IPv6", IPv6: true, NAT: true, Packet: UDPRun.Packet}

// Identical packets are such as a load generator sends that repeats one packet.
var Identical = Traffic{Name: "identical", Same: true, Packet: func(e Ends, _ int) []byte {
	return e.udp(0, dontFragment, padding(100))
}}

// Tail packets differ only behind what a probe looks at: for it they are identical.
var Tail = Traffic{Name: "differ behind 64 octets", Same: true, Packet: func(e Ends, n int) []byte {
	return e.udp(0, dontFragment, append(padding(100), number(n)...))
}}

const experiment = 253 // a protocol above IP for experiments, of which nobody knows more

func (e Ends) udp(id, flags uint16, payload []byte) []byte {
	h := header{from: e.From, to: e.To, protocol: unix.IPPROTO_UDP, id: id, fragment: flags}
	return h.packet(udp(portFrom, portTo, payload))
}

func (e Ends) tcp(id uint16, seq, ack uint32, flags byte, payload []byte) []byte {
	h := header{from: e.From, to: e.To, protocol: unix.IPPROTO_TCP, id: id, fragment: dontFragment}
	return h.packet(tcp(portFrom, portTo, seq, ack, flags, payload))
}

func number(n int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

func padding(octets int) []byte { return bytes.Repeat([]byte{'p'}, octets) }

// rtp is a header of G.711, 20 ms a packet. Source: RFC 3550, 5.1.
func rtp(n int) []byte {
	b := be.AppendUint16([]byte{0x80, 0}, uint16(n))
	b = be.AppendUint32(b, uint32(n)*160)
	return be.AppendUint32(b, 0xfeedface)
}

// A datagram comes in so many fragments of so many octets each.
const (
	fragments      = 3
	fragmentOctets = 104
)

func fragment(e Ends, n int) []byte {
	at := n % fragments
	h := header{from: e.From, to: e.To, protocol: unix.IPPROTO_UDP, id: uint16(n / fragments), fragment: uint16(at * fragmentOctets / 8)}
	if at < fragments-1 {
		h.fragment |= 0x2000 // more follow
	}
	return h.packet(datagram(e, at))
}

// fragment6 has a Fragment header. Source: RFC 8200, 4.5.
func fragment6(e Ends, n int) []byte {
	at := n % fragments
	offset := uint16(at * fragmentOctets)
	if at < fragments-1 {
		offset |= 1
	}
	b := be.AppendUint16([]byte{unix.IPPROTO_UDP, 0}, offset)
	b = be.AppendUint32(b, uint32(n/fragments))
	h := header{from: e.From, to: e.To, protocol: unix.IPPROTO_FRAGMENT}
	return h.packet(append(b, datagram(e, at)...))
}

// datagram returns a fragment of one that is always the same.
func datagram(e Ends, at int) []byte {
	whole := header{from: e.From, to: e.To, protocol: unix.IPPROTO_UDP}
	packet := whole.packet(udp(portFrom, portTo, padding(fragments*fragmentOctets-inet.LenUDP)))
	upper := packet[len(packet)-fragments*fragmentOctets:]
	return upper[at*fragmentOctets : (at+1)*fragmentOctets]
}
