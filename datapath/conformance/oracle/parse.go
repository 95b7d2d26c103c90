package oracle

import (
	"encoding/binary"
	"net/netip"
)

// packet is an IP packet, as far as rules ask for it.
type packet struct {
	octets       []byte // without what is behind its length
	v6           bool
	src, dst     netip.Addr
	tos, ttl     uint8
	protocol     uint8
	upper        []byte // behind all IP headers
	label        uint32
	id           uint32
	dontFragment bool
	fragment     bool // it is one
	later        bool // and not the first
	options      bool
}

func number(a netip.Addr) uint32 { b := a.As4(); return binary.BigEndian.Uint32(b[:]) }

// parse reads a packet that is well-formed.
func parse(b []byte) packet {
	if b[0]>>4 == 6 {
		p := packet{v6: true, tos: uint8(binary.BigEndian.Uint16(b) >> 4), label: binary.BigEndian.Uint32(b) & 0xfffff, protocol: b[6], ttl: b[7]}
		p.octets = b[:40+int(binary.BigEndian.Uint16(b[4:]))]
		p.src, _ = netip.AddrFromSlice(b[8:24])
		p.dst, _ = netip.AddrFromSlice(b[24:40])
		p.upper = p.octets[40:]
		if p.protocol == 44 { // Fragment header: RFC 8200, 4.5
			field := binary.BigEndian.Uint16(p.upper[2:])
			p.later, p.fragment = field>>3 != 0, field>>3 != 0 || field&1 != 0
			p.id, p.protocol, p.upper = binary.BigEndian.Uint32(p.upper[4:]), p.upper[0], p.upper[8:]
		}
		return p
	}
	header := 4 * int(b[0]&15)
	field := binary.BigEndian.Uint16(b[6:])
	p := packet{
		tos: b[1], ttl: b[8], protocol: b[9], id: uint32(binary.BigEndian.Uint16(b[4:])), options: header > 20,
		dontFragment: field&0x4000 != 0, later: field&0x1fff != 0, fragment: field&0x3fff != 0,
	}
	p.octets = b[:binary.BigEndian.Uint16(b[2:])]
	p.src, _ = netip.AddrFromSlice(b[12:16])
	p.dst, _ = netip.AddrFromSlice(b[16:20])
	p.upper = p.octets[header:]
	return p
}

// parseGPDU reads a G-PDU in an outer packet, which has at most one extension header, a PDU
// Session Container.
func parseGPDU(outer packet) (in arrived, teid uint32) {
	message := outer.upper[8:binary.BigEndian.Uint16(outer.upper[4:])]
	teid, rest := binary.BigEndian.Uint32(message[4:]), message[8:]
	if message[0]&7 != 0 {
		extension := rest[3]
		rest = rest[4:]
		if message[0]&4 != 0 && extension == 0x85 {
			in.marked, in.pduType, in.qfi = true, rest[1]>>4, rest[2]&0x3f
			rest = rest[4*int(rest[0]):]
		}
	}
	in.packet, in.tunnel = parse(rest), true
	return in, teid
}
