package random

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// packet is a user packet.
type packet struct {
	src, dst     netip.Addr
	sport, dport uint32 // of ICMP the first is the Identifier
	protocol     byte
	class, ttl   byte
	label, spi   uint32
	payload      int // octets of 0 at the end
	id           uint16
	fragment     uint16   // flags and offset of IPv4
	options      []byte   // of IPv4
	chain        []header // extension headers of IPv6
	sum          checksum

	tcp     segment
	icmp    byte   // type
	body    []byte // of ICMP, behind the checksum; nil: Identifier and sequence number
	quoting bool   // ICMP that quotes a packet of the other direction

	traits []string
}

// segment is what TCP has beside ports.
type segment struct {
	seq, ack uint32
	flags    byte
	options  string
	data     string
}

const tcpFIN, tcpSYN, tcpRST, tcpPSH, tcpACK = 1, 2, 4, 8, 16

// checksum says what that of the upper layer is.
type checksum int

const (
	sumRight checksum = iota
	sumNone           // 0
	sumWrong
)

// header is an IPv6 extension header: its type, and its octets but for the next
// type.
type header struct {
	kind byte
	rest string
}

// Octets that are rarely seen.
var (
	chain6 = []header{
		{0, "\x00\x01\x04\x00\x00\x00\x00"}, {60, "\x00\x01\x04\x00\x00\x00\x00"}, {43, "\x00\x02\x00\x00\x00\x00\x00"},
		{60, "\x01\x01\x0c\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"}, {44, "\x00\x00\x00\x00\x00\x00\x07"},
		{135, "\x00\x01\x00\x00\x00\x00\x00"}, {139, "\x00\x01\x00\x00\x00\x00\x00"}, {140, "\x00\x80\x00\x00\x00\x00\x00"},
		{43, "\xff\x02\x00\x00\x00\x00\x00"}, // says to be longer than the packet, mostly
	}
	options4 = []string{
		"\x01\x01\x01\x00", "\x94\x04\x00\x00", "\x07\x07\x04\x00\x00\x00\x00\x00", "\x83\x07\x04\x0a\x06\x00\x02\x00",
		"\x94\x01\x00\x00", "\x07\x09\x04\x00\x94\x04\x00\x00",
		"\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x94\x04\x00\x00\x00\x00\x00\x00",
	}
	synOptions = []string{
		"\x02\x04\x05\xb4", "\x02\x04\x05\xb4\x04\x02\x00\x00", "\x01\x02\x04\x05\xb4\x00\x00\x00", "\x02\x04\x04\x00", "",
		"\x04\x02\x08\x0a\x00\x00\x00\x00\x00\x00\x00\x00\x01\x01\x02\x04\x05\xa0\x00\x00", "\x02\x03\x05\xb4", "\x02\x00\x05\xb4", "\x05\xff\x02\x04",
		"\x03\x03\x07\x02\x04\x05\xa0\x00",
	}
)

// turn lets p go the other way.
func (p *packet) turn() {
	p.src, p.dst, p.sport, p.dport = p.dst, p.src, p.dport, p.sport
}

func (p *packet) note() string {
	return fmt.Sprintf("%v > %v, protocol %d, %d > %d, class %#x, TTL %d, %d octets", p.src, p.dst, p.protocol, p.sport, p.dport, p.class, p.ttl, p.payload)
}

// upper returns what stands behind the IP header.
func (p *packet) upper() []byte {
	var b []byte
	at := -1 // of the checksum
	switch p.protocol {
	case 50:
		b = binary.BigEndian.AppendUint32(nil, p.spi)
	case 51:
		b = binary.BigEndian.AppendUint32([]byte{17, 1, 0, 0}, p.spi)
	case 6:
		b, at = p.segment(), 16
	case 1, 58:
		b, at = p.control(), 2
	default:
		b = binary.BigEndian.AppendUint16(nil, uint16(p.sport))
		b = binary.BigEndian.AppendUint16(b, uint16(p.dport))
		b = binary.BigEndian.AppendUint16(b, uint16(8+p.payload))
		b = append(b, 0, 0)
		if p.protocol == 17 {
			at = 6
		}
	}
	b = append(b, make([]byte, p.payload)...)
	if at >= 0 {
		p.check(b, at)
	}
	return b
}

func (p *packet) segment() []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(p.sport))
	b = binary.BigEndian.AppendUint16(b, uint16(p.dport))
	b = binary.BigEndian.AppendUint32(b, p.tcp.seq)
	b = binary.BigEndian.AppendUint32(b, p.tcp.ack)
	b = append(b, byte(5+len(p.tcp.options)/4)<<4, p.tcp.flags, 0xfa, 0, 0, 0, 0, 0)
	return append(append(b, p.tcp.options...), p.tcp.data...)
}

func (p *packet) control() []byte {
	b := []byte{p.icmp, 0, 0, 0}
	switch {
	case p.body != nil:
		return append(b, p.body...)
	case p.quoting:
		about := packet{src: p.dst, dst: p.src, sport: p.dport, dport: p.sport, protocol: 17, ttl: 1, id: 7}
		return append(append(b, 0, 0, 0, 0), about.octets()...)
	}
	// An echo has one port; the other end's is that of the mapping.
	id := p.sport
	if p.icmp == 0 {
		id = p.dport
	}
	return append(binary.BigEndian.AppendUint16(b, uint16(id)), 0, 3)
}

// check writes the checksum of the upper layer b at octet at.
func (p *packet) check(b []byte, at int) {
	if p.sum == sumNone || len(b) < at+2 {
		return
	}
	sum := uint32(0)
	if p.protocol != 1 { // with a pseudo-header
		sum = uint32(p.protocol) + uint32(len(b)) + sumOf(p.src.AsSlice()) + sumOf(p.dst.AsSlice())
	}
	sum += sumOf(b)
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	if sum = 0xffff - sum; sum == 0 && p.protocol == 17 {
		sum = 0xffff
	}
	if p.sum == sumWrong {
		sum ^= 0x0100
	}
	binary.BigEndian.PutUint16(b[at:], uint16(sum))
}

func sumOf(b []byte) (sum uint32) {
	for i := 0; i < len(b); i += 2 {
		word := uint32(b[i]) << 8
		if i+1 < len(b) {
			word |= uint32(b[i+1])
		}
		sum += word
	}
	return sum
}

func (p *packet) octets() []byte {
	upper := p.upper()
	if p.src.Is4() {
		return p.ip4(upper)
	}
	return p.ip6(upper)
}

func (p *packet) ip4(upper []byte) []byte {
	b := []byte{0x45, p.class, 0, 0, byte(p.id >> 8), byte(p.id), byte(p.fragment >> 8), byte(p.fragment), p.ttl, p.protocol, 0, 0}
	b = append(append(b, p.src.AsSlice()...), p.dst.AsSlice()...)
	b[0] += byte(len(p.options) / 4)
	b = append(b, p.options...)
	binary.BigEndian.PutUint16(b[2:], uint16(len(b)+len(upper)))
	sum := sumOf(b)
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	binary.BigEndian.PutUint16(b[10:], ^uint16(sum))
	return append(b, upper...)
}

func (p *packet) ip6(upper []byte) []byte {
	next := p.protocol
	if p.fragment&0x3fff != 0 { // a Fragment header
		offset := p.fragment&0x1fff<<3 | p.fragment>>13&1
		upper = append([]byte{next, 0, byte(offset >> 8), byte(offset), 0, 0, byte(p.id >> 8), byte(p.id)}, upper...)
		next = 44
	}
	for _, h := range p.chain {
		upper = append(append([]byte{next}, h.rest...), upper...)
		next = h.kind
	}
	b := binary.BigEndian.AppendUint32(nil, 6<<28|uint32(p.class)<<20|p.label)
	b = binary.BigEndian.AppendUint16(b, uint16(len(upper)))
	b = append(b, next, p.ttl)
	b = append(append(b, p.src.AsSlice()...), p.dst.AsSlice()...)
	return append(b, upper...)
}
