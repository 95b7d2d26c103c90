package random

import (
	"fmt"
	"slices"
	"time"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
)

// wide is how many octets of payload fit anywhere.
const wide = 1300

// frame adds a packet that meets a rule of a session, or nearly.
func (g *generator) frame() {
	r, kind := g.aim()
	step := g.userFrame(r, kind)
	share := 10
	if g.hostile {
		share = 2
	}
	if g.one(share) {
		step.Frame, step.Note = g.spoil(step.Frame), step.Note+", spoilt"
		step.Traits = append(step.Traits, "hostile")
	}
	for range pick(g.dice, 1, 1, 1, 2, 4) {
		g.script = append(g.script, step)
	}
	if slices.ContainsFunc(step.Traits, isTold) {
		// The sender is told, but not as often as it likes; how many datapaths
		// look at before one is told is theirs to say.
		g.script = append(g.script, Step{Wait: time.Second})
	}
}

// isTold reports whether the sender of a packet with this trait may be told
// something, of which there is a bound.
func isTold(trait string) bool {
	switch trait {
	case "TTL 1", "too big", "Neighbour Discovery", "scope", "signalling":
		return true
	}
	return false
}

// aim returns a rule that a packet shall meet, mostly one that is there, and
// and what its T-PDUs are.
func (g *generator) aim() (r *api.Rule, kind api.PDUType) {
	type target struct {
		rule *api.Rule
		kind api.PDUType
	}
	var all []target
	for seid := range uint64(sessions + 1) {
		for _, r := range g.held[seid].GetRules() {
			all = append(all, target{r, g.held[seid].GetPduType()})
		}
	}
	if len(all) == 0 {
		e := ends{teid: teids[0], ue: g.ue(1), peer: g.peer()}
		return g.rule(&api.Session{Seid: 1}, 1, e), api.PDUType_IP
	}
	t := pick(g.dice, all...)
	return t.rule, t.kind
}

// userFrame is a frame with a user packet for r.
func (g *generator) userFrame(r *api.Rule, kind api.PDUType) Step {
	f := r.GetDetect().GetFTeid()
	if kind == api.PDUType_ETHERNET && !g.one(12) {
		return g.bridgedFrame(r)
	}
	opaque := kind == api.PDUType_UNSTRUCTURED
	step := Step{Port: conformance.N3}
	if f == nil {
		step.Port = g.arrival(r)
	}
	p := g.packet(r, step.Port)
	octets := p.octets()
	switch {
	case f == nil && r.GetUnwrap() != api.Unwrap_UNWRAP_NONE && !g.one(6):
		octets = g.wrapped(&p, r.GetUnwrap(), octets)
	case f != nil && opaque && g.one(2):
		octets = octets[:g.IntN(len(octets))] // octets that are no packet
		p.traits = append(p.traits, "unstructured")
	}
	step.Note = p.note()
	if f != nil {
		step.Note = fmt.Sprintf("TEID %#x, %s", f.GetTeid(), step.Note)
		octets = g.gpdu(&p, r, octets)
	}
	step.Frame, step.Traits = g.ethernet(step.Port, octets), p.traits
	if len(octets) > conformance.MTU {
		step.Traits = append(step.Traits, "too big")
	}
	return step
}

// bridgedFrame is one of an Ethernet PDU session for r.
func (g *generator) bridgedFrame(r *api.Rule) Step {
	p := packet{traits: []string{"Ethernet frame"}}
	step := Step{Port: lanPort}
	step.Frame, step.Note = g.etherFrame(r)
	if r.GetDetect().GetFTeid() != nil {
		step.Port = conformance.N3
		step.Frame = g.ethernet(step.Port, g.gpdu(&p, r, step.Frame))
	}
	step.Traits = p.traits
	return step
}

// arrival returns where a bare packet for r arrives.
func (g *generator) arrival(r *api.Rule) conformance.Port {
	all := []conformance.Port{conformance.N6, conformance.N6, conformance.N6Corp, conformance.N6NAT}
	name := r.GetDetect().GetNetworkInstance()
	if name == "" || g.one(15) {
		return pick(g.dice, all...)
	}
	for i, n := range conformance.DataNetworks.Networks {
		if slices.Contains(n.NetworkInstances, name) {
			return conformance.N6 + conformance.Port(i)
		}
	}
	return conformance.N6
}

// packet makes one that the PDI of r is about.
func (g *generator) packet(r *api.Rule, port conformance.Port) packet {
	ue, remote := g.addresses(r)
	p := packet{
		src: remote, dst: ue, sport: pick(g.dice, ports...), dport: pick(g.dice, ports...), protocol: 17, id: pick(g.dice, uint16(7), 7, 8),
		class: pick(g.dice, byte(0), 0, 0, pick(g.dice, classes...)), ttl: pick(g.dice, byte(64), 64, 64, 64, 64, 64, 2, 255),
		spi: pick(g.dice, spis...), label: pick(g.dice, labels...), payload: pick(g.dice, sizes...), sum: pick(g.dice, sumRight, sumRight, sumNone, sumWrong),
	}
	if !g.one(3) {
		p.payload = 32
	}
	if g.one(15) {
		p.ttl = pick(g.dice, byte(0), 1)
	}
	g.shape(&p, r)
	if f := r.GetDetect().GetFilters(); len(f) > 0 && !g.one(4) {
		g.meet(&p, pick(g.dice, f...))
	}
	if r.GetDetect().GetSourceInterface() == api.Interface_ACCESS != g.one(20) {
		p.turn()
	}
	g.translated(&p, r, port)
	g.strange(&p)
	if p.ttl <= 1 {
		p.traits = append(p.traits, "TTL 1")
	}
	if p.payload > wide {
		p.traits = append(p.traits, "too big")
	}
	return p
}

// translated makes a packet from the data network with a NAT one to its addresses
// outside, mostly.
func (g *generator) translated(p *packet, r *api.Rule, port conformance.Port) {
	switch {
	case port == conformance.N6NAT && p.dst.Is4() && !g.one(4):
		p.dst, p.dport = pick(g.dice, outside...), firstOutside+uint32(g.IntN(4))
		p.traits = append(p.traits, "NAT, inbound")
	case r.GetForward().GetNetworkInstance() == "nat" && p.src.Is4():
		p.traits = append(p.traits, "NAT, outbound")
		if g.one(12) { // and back
			p.dst, p.dport = pick(g.dice, outside...), firstOutside+uint32(g.IntN(3))
			p.traits = append(p.traits, "NAT, hairpin")
		}
	}
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
	if f.GetHost() != "" || f.GetPath() != "" {
		g.says(p)
	}
}
