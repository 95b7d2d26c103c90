package random

import (
	"encoding/binary"
	"slices"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
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

// gpdu puts GTP-U/UDP/IP around a user packet that comes through the tunnel of r.
func (g *generator) gpdu(p *packet, r *api.Rule, user []byte) []byte {
	f, qfis := r.GetDetect().GetFTeid(), r.GetDetect().GetQfis()
	if g.one(25) {
		p.traits = append(p.traits, "signalling")
		return g.udp(p, f, g.signal(r, user))
	}
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
		p.traits = append(p.traits, "GTP-U extension headers")
	}
	flags, opt := byte(0x30), []byte{}
	if len(ext) > 0 {
		flags, opt = 0x34, []byte{0, 0, 0, kind}
	} else if g.one(4) {
		flags, opt = 0x32, []byte{0, 7, 0, 0}
	}
	return g.udp(p, f, message(flags, 255, f.GetTeid(), opt, ext, user))
}

// message is one of GTP-U.
func message(flags, kind byte, teid uint32, parts ...[]byte) []byte {
	rest := slices.Concat(parts...)
	b := []byte{flags, kind, byte(len(rest) >> 8), byte(len(rest))}
	return append(binary.BigEndian.AppendUint32(b, teid), rest...)
}

// signal is a message that is no G-PDU: of the tunnel, of its peer, or none that
// there is.
func (g *generator) signal(r *api.Rule, user []byte) []byte {
	teid := r.GetDetect().GetFTeid().GetTeid()
	sequence := []byte{0, 7, 0, 0}
	switch g.IntN(6) {
	case 0:
		return message(0x30, 254, teid) // End Marker
	case 1:
		return message(0x32, 1, 0, sequence) // Echo Request
	case 2:
		return message(0x32, 2, 0, sequence, []byte{14, 0})
	case 3: // Error Indication
		about := r.GetForward().GetOuterHeaderCreation()
		ie := append(binary.BigEndian.AppendUint32([]byte{16}, about.GetTeid()), 133, 0, 4)
		return message(0x32, 26, 0, sequence, binary.BigEndian.AppendUint32(ie, about.GetIpv4()))
	case 4:
		return message(0x32, 31, 0, sequence, []byte{141, 1, 0x85})
	}
	return message(0x30, pick(g.dice, byte(77), 255, 26, 1), pick(g.dice, teid, 0, 0x777), user)
}

// udp is the outer header: over IPv6 where the tunnel has such an address, now
// and then.
func (g *generator) udp(p *packet, f *api.FTEID, message []byte) []byte {
	o := packet{
		src: pick(g.dice, conformance.GNBAddress, conformance.GNBAddress, conformance.GNBAddress2), dst: conformance.N3Address,
		protocol: 17, ttl: 64, class: pick(g.dice, byte(0), 0, 0xb8, 0x03),
	}
	if g.one(10) {
		o.src, o.dst = conformance.PeerAddress, conformance.N9Address
	}
	if len(f.GetIpv6()) > 0 && g.one(2) {
		o.src, o.dst = conformance.GNBAddress6, conformance.N3Address6
		p.traits = append(p.traits, "outer IPv6")
	}
	switch g.IntN(60) {
	case 0, 1:
		o.fragment = pick(g.dice, uint16(0x2000), 1)
		p.traits = append(p.traits, "outer fragment")
	case 2, 3:
		o.options = []byte("\x01\x01\x01\x00")
	case 4:
		if o.src.Is6() {
			o.chain = []header{pick(g.dice, chain6...)}
		}
	}
	if o.src.Is6() {
		o.options = nil
	}
	udp := binary.BigEndian.AppendUint16(nil, pick(g.dice, uint16(2152), 2152, 50001))
	udp = binary.BigEndian.AppendUint16(udp, 2152)
	udp = binary.BigEndian.AppendUint16(udp, uint16(8+len(message)))
	udp = append(append(udp, 0, 0), message...)
	if o.src.Is4() {
		return o.ip4(udp)
	}
	o.check(udp, 6)
	return o.ip6(udp)
}

// wrapped puts UDP/IP or IP around a bare packet, to the same address.
func (g *generator) wrapped(p *packet, kind api.Unwrap, octets []byte) []byte {
	o := packet{src: p.src, dst: p.dst, protocol: 17, ttl: 64, class: p.class, sum: p.sum}
	p.traits = append(p.traits, "in UDP/IP or IP")
	if kind == api.Unwrap_UNWRAP_IP {
		o.protocol = 4
		if p.src.Is6() {
			o.protocol = 41
		}
		if o.src.Is4() {
			return o.ip4(octets)
		}
		return o.ip6(octets)
	}
	if g.one(4) {
		octets = octets[:g.IntN(len(octets))]
	}
	port := pick(g.dice, uint16(9), 5683)
	udp := binary.BigEndian.AppendUint16(nil, port)
	udp = binary.BigEndian.AppendUint16(udp, port)
	udp = binary.BigEndian.AppendUint16(udp, uint16(8+len(octets)+pick(g.dice, 0, 0, 0, 0, -1, 1)))
	udp = append(append(udp, 0, 0), octets...)
	o.check(udp, 6)
	if o.src.Is4() {
		return o.ip4(udp)
	}
	return o.ip6(udp)
}

// ethernet puts a header in front, and padding behind what is short.
func (g *generator) ethernet(port conformance.Port, packet []byte) []byte {
	dst := conformance.N6MAC
	switch port {
	case conformance.N3:
		dst = conformance.N3MAC
	case conformance.N6Corp, conformance.N6NAT:
		dst = conformance.CorpMAC
	}
	kind := uint16(0x0800)
	if len(packet) > 0 && packet[0]>>4 == 6 {
		kind = 0x86dd
	}
	b := append(dst[:], 2, 0, 0, 0, 0, 0xfe)
	b = append(binary.BigEndian.AppendUint16(b, kind), packet...)
	for len(b) < 60 || g.one(20) {
		b = append(b, 0)
	}
	return b
}
