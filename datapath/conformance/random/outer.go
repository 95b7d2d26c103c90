package random

import (
	"encoding/binary"
	"net/netip"

	"plumbline/api"
	"plumbline/datapath/conformance"
)

// Extension headers that are put in front of a T-PDU, type and octets, without
// the next type.
var extensions = []struct {
	kind byte
	body string
}{
	{0x85, "\x01\x00\x09"}, {0x85, "\x01\x10\x09"}, {0x85, "\x01\x10\x05"}, {0x85, "\x01\x00\x49"},
	{0x85, "\x02\x00\x89\x60\x00\x00\x00"}, {0x85, "\x02\x18\x09\x01\x02\x03\x04"}, {0x85, "\x02\x04\x09\x01\x02\x03\x00"},
	{0xc0, "\x01\x00\x01"}, {0x20, "\x01\x07\x00"}, {0x40, "\x01\x08\x68"}, {0x10, "\x01\xab\xcd"}, {0x86, "\x01\x00\x00"}, {0x84, "\x01\x00\x00"},
}

// gpdu puts GTP-U/UDP/IP around a user packet that comes through the tunnel f.
func (g *generator) gpdu(f *api.FTEID, qfis []uint32, user []byte) []byte {
	var ext []byte
	kind := byte(0)
	at := -1
	add := func(t byte, body string) {
		if at < 0 {
			kind = t
		} else {
			ext[at] = t
		}
		ext = append(append(ext, body...), 0)
		at = len(ext) - 1
	}
	if len(qfis) > 0 || !g.one(3) {
		qfi := pick(g.dice, byte(1), 5, 9)
		if len(qfis) > 0 && !g.one(5) {
			qfi = byte(pick(g.dice, qfis...))
		}
		add(0x85, string([]byte{1, pick(g.dice, byte(0x10), 0), qfi}))
	}
	for g.one(6) {
		e := pick(g.dice, extensions...)
		add(e.kind, e.body)
	}
	flags, opt := byte(0x30), []byte{}
	if len(ext) > 0 {
		flags, opt = 0x34, []byte{0, 0, 0, kind}
	} else if g.one(4) {
		flags, opt = 0x32, []byte{0, 7, 0, 0}
	}
	size := len(opt) + len(ext) + len(user)
	b := []byte{flags, g.messageType(), byte(size >> 8), byte(size)}
	b = binary.BigEndian.AppendUint32(b, f.GetTeid())
	b = append(append(append(b, opt...), ext...), user...)
	return g.udp(f, b)
}

// messageType is mostly that of a G-PDU, and now and then an End Marker, an Echo
// Request or none that there is.
func (g *generator) messageType() byte {
	if g.one(25) {
		return pick(g.dice, byte(254), 1, 2, 26, 31, 77)
	}
	return 255
}

// udp is the outer header: over IPv6 where the tunnel has such an address, now
// and then.
func (g *generator) udp(f *api.FTEID, message []byte) []byte {
	p := packet{
		src: conformance.GNBAddress, dst: conformance.N3Address, protocol: 17, ttl: 64, class: pick(g.dice, byte(0), 0, 0xb8, 0x03),
		options: g.one(20),
	}
	if g.one(10) {
		p.src, p.dst = conformance.PeerAddress, conformance.N9Address
	}
	if len(f.GetIpv6()) > 0 && g.one(2) {
		p.src, p.dst, p.options = conformance.GNBAddress6, conformance.N3Address6, false
	}
	udp := binary.BigEndian.AppendUint16(nil, pick(g.dice, uint16(2152), 2152, 50001))
	udp = binary.BigEndian.AppendUint16(udp, 2152)
	udp = binary.BigEndian.AppendUint16(udp, uint16(8+len(message)))
	udp = append(append(udp, 0, 0), message...)
	if p.src.Is4() {
		return p.ip4(udp)
	}
	b := p.ip6(udp)
	sum6(b, p.src, p.dst)
	return b
}

// sum6 writes the UDP checksum of an IPv6 packet.
func sum6(b []byte, src, dst netip.Addr) {
	udp := b[40:]
	sum := uint32(17 + len(udp))
	for _, part := range [][]byte{src.AsSlice(), dst.AsSlice(), udp} {
		for i := 0; i < len(part); i += 2 {
			word := uint32(part[i]) << 8
			if i+1 < len(part) {
				word |= uint32(part[i+1])
			}
			sum += word
		}
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	if sum = 0xffff - sum; sum == 0 {
		sum = 0xffff
	}
	binary.BigEndian.PutUint16(udp[6:], uint16(sum))
}

// ethernet puts a header in front, and padding behind what is short.
func (g *generator) ethernet(port conformance.Port, packet []byte) []byte {
	dst := conformance.N6MAC
	if port == conformance.N3 {
		dst = conformance.N3MAC
	}
	kind := uint16(0x0800)
	if packet[0]>>4 == 6 {
		kind = 0x86dd
	}
	b := append(dst[:], 2, 0, 0, 0, 0, 0xfe)
	b = append(binary.BigEndian.AppendUint16(b, kind), packet...)
	for len(b) < 60 || g.one(20) {
		b = append(b, 0)
	}
	return b
}

// spoil changes a few octets, or cuts the frame, or adds to it.
func (g *generator) spoil(frame []byte) []byte {
	const header = 14
	switch g.IntN(4) {
	case 0:
		return frame[:header+g.IntN(len(frame)-header)]
	case 1:
		return append(frame, make([]byte, 1+g.IntN(64))...)
	}
	for range 1 + g.IntN(3) {
		at := header + g.IntN(min(len(frame)-header, 120))
		frame[at] = pick(g.dice, frame[at]^1<<g.IntN(8), byte(g.IntN(256)), 0, 0xff)
	}
	return frame
}
