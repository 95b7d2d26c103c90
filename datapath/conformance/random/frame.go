package random

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"time"

	"plumbline/api"
	"plumbline/datapath/conformance"
)

// wide is how many octets of payload fit anywhere.
const wide = 1300

// frame adds a packet that meets a rule of a session, or nearly.
func (g *generator) frame() {
	var rules []*api.Rule
	for seid := range uint64(sessions + 1) {
		rules = append(rules, g.held[seid].GetRules()...)
	}
	if len(rules) == 0 {
		rules = []*api.Rule{g.rule(&api.Session{Seid: 1}, 1, ends{teids[0], g.ue(1), g.peer()})}
	}
	r := pick(g.dice, rules...)
	p := g.packet(r)
	step := Step{Port: conformance.N6, Note: p.note()}
	octets := p.octets()
	if f := r.GetDetect().GetFTeid(); f != nil {
		step.Port = conformance.N3
		step.Note = fmt.Sprintf("TEID %#x, %s", f.GetTeid(), step.Note)
		octets = g.gpdu(f, r.GetDetect().GetQfis(), octets)
	}
	step.Frame = g.ethernet(step.Port, octets)
	if g.one(8) {
		step.Frame, step.Note = g.spoil(step.Frame), step.Note+", spoilt"
	}
	for range pick(g.dice, 1, 1, 1, 2, 4) {
		g.script = append(g.script, step)
	}
	if p.ttl <= 1 || p.payload > wide {
		// The sender is told, but not as often as it likes; how many datapaths
		// look at before one is told is theirs to say.
		g.script = append(g.script, Step{Wait: time.Second})
	}
}

// packet is a user packet.
type packet struct {
	src, dst     netip.Addr
	sport, dport uint32
	protocol     byte
	class, ttl   byte
	label, spi   uint32
	payload      int
	fragment     uint16 // flags and offset of IPv4
	options      bool   // of IPv4, or extension headers of IPv6
}

// packet makes one that the PDI of r is about.
func (g *generator) packet(r *api.Rule) packet {
	ue, remote := g.addresses(r)
	p := packet{
		src: remote, dst: ue, sport: pick(g.dice, ports...), dport: pick(g.dice, ports...), protocol: 17,
		class: pick(g.dice, byte(0), 0, 0, pick(g.dice, classes...)), ttl: pick(g.dice, byte(64), 64, 64, 64, 64, 2, 1, 255),
		spi: pick(g.dice, spis...), label: pick(g.dice, labels...), payload: pick(g.dice, sizes...), options: g.one(12),
	}
	if g.one(2) {
		p.payload = 32
	}
	if g.one(3) {
		p.protocol = byte(pick(g.dice, protocols...))
	}
	if g.one(12) {
		p.fragment = pick(g.dice, uint16(0x2000), 0x4000, 1, 0x2001, 0x8000)
	}
	if f := r.GetDetect().GetFilters(); len(f) > 0 && !g.one(4) {
		g.meet(&p, pick(g.dice, f...))
	}
	if r.GetDetect().GetSourceInterface() == api.Interface_ACCESS != g.one(20) {
		p.src, p.dst, p.sport, p.dport = p.dst, p.src, p.dport, p.sport
	}
	return p
}

// addresses returns both ends of a packet of r.
func (g *generator) addresses(r *api.Rule) (ue, remote netip.Addr) {
	own := asNetIP(r)
	if len(own) == 0 || g.one(15) {
		own = append(append(append(own, ues4...), ues6...), behind...)
	}
	ue = pick(g.dice, own...)
	if ue.Is4() {
		return ue, pick(g.dice, remotes4...)
	}
	return ue, pick(g.dice, remotes6...)
}

// meet makes p match most of f: seen from the remote end.
func (g *generator) meet(p *packet, f *api.Filter) {
	if f.Protocol != nil {
		p.protocol = byte(f.GetProtocol())
	}
	if f.TosMask != 0 {
		p.class = byte(f.Tos)
	}
	if f.Spi != nil {
		p.spi, p.protocol = f.GetSpi(), pick(g.dice, byte(50), 51)
	}
	if f.FlowLabel != nil {
		p.label = f.GetFlowLabel()
	}
	if l := f.GetRemotePorts(); len(l) > 0 {
		p.sport = pick(g.dice, l...).First
	}
	if l := f.GetLocalPorts(); len(l) > 0 {
		p.dport = pick(g.dice, l...).Last
	}
}

func (p packet) note() string {
	return fmt.Sprintf("%v > %v, protocol %d, %d > %d, class %#x, TTL %d, %d octets", p.src, p.dst, p.protocol, p.sport, p.dport, p.class, p.ttl, p.payload)
}

// upper returns what stands behind the IP header.
func (p packet) upper() []byte {
	var b []byte
	switch p.protocol {
	case 50:
		b = binary.BigEndian.AppendUint32(nil, p.spi)
	case 51:
		b = binary.BigEndian.AppendUint32([]byte{17, 1, 0, 0}, p.spi)
	default:
		b = binary.BigEndian.AppendUint16(nil, uint16(p.sport))
		b = binary.BigEndian.AppendUint16(b, uint16(p.dport))
		b = binary.BigEndian.AppendUint16(b, uint16(8+p.payload))
		b = append(b, 0, 0)
	}
	return append(b, make([]byte, p.payload)...)
}

func (p packet) octets() []byte {
	if p.src.Is4() {
		return p.ip4(p.upper())
	}
	return p.ip6(p.upper())
}

func (p packet) ip4(upper []byte) []byte {
	b := []byte{0x45, p.class, 0, 0, 0, 7, byte(p.fragment >> 8), byte(p.fragment), p.ttl, p.protocol, 0, 0}
	b = append(append(b, p.src.AsSlice()...), p.dst.AsSlice()...)
	if p.options {
		b[0]++
		b = append(b, 1, 1, 1, 0)
	}
	binary.BigEndian.PutUint16(b[2:], uint16(len(b)+len(upper)))
	sum := uint32(0)
	for i := 0; i < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	sum = sum>>16 + sum&0xffff
	binary.BigEndian.PutUint16(b[10:], ^uint16(sum>>16+sum))
	return append(b, upper...)
}

func (p packet) ip6(upper []byte) []byte {
	next := p.protocol
	switch {
	case p.fragment&0x3fff != 0: // a Fragment header
		offset := p.fragment&0x1fff<<3 | p.fragment>>13&1
		upper = append([]byte{next, 0, byte(offset >> 8), byte(offset), 0, 0, 0, 7}, upper...)
		next = 44
	case p.options: // Hop-by-Hop with padding
		upper = append([]byte{next, 0, 1, 4, 0, 0, 0, 0}, upper...)
		next = 0
	}
	b := binary.BigEndian.AppendUint32(nil, 6<<28|uint32(p.class)<<20|p.label)
	b = binary.BigEndian.AppendUint16(b, uint16(len(upper)))
	b = append(b, next, p.ttl)
	b = append(append(b, p.src.AsSlice()...), p.dst.AsSlice()...)
	return append(b, upper...)
}
