package random

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
)

// Ethernet PDU sessions: their rules and frames.

// Stations: UEs', those of the data network, and groups.
var (
	ueMACs     = [][6]byte{{2, 0, 0, 0, 0x77, 1}, {2, 0, 0, 0, 0x77, 2}, {2, 0, 0, 0, 0x77, 3}}
	remoteMACs = [][6]byte{{2, 0, 0, 0, 0x99, 1}, {2, 0, 0, 0, 0x99, 2}}
	groupMACs  = [][6]byte{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, {0x33, 0x33, 0, 0, 0, 1}}

	vids       = []uint32{0, 3, 7}
	ethertypes = []uint32{0x0800, 0x86dd, 0x88b5, 0x0806}
)

// lan is the Ethernet data network of the bed, and lanPort where its frames arrive;
// -1: there is none.
var lan = slices.IndexFunc(conformance.DataNetworks.Networks, isLAN)

const lanPort = conformance.N6 + 3

// frames makes a rule of an Ethernet PDU session: up, down, or a relay's.
func (m maker) frames(r *api.Rule, e ends) {
	name := ""
	if lan >= 0 {
		name = conformance.DataNetworks.Networks[lan].NetworkInstances[0]
	}
	switch kind := m.IntN(8); {
	case kind < 4:
		m.tunnelled(r, e.teid, api.Interface_ACCESS)
		r.Forward.DestinationInterface, r.Forward.NetworkInstance = api.Interface_CORE, name
		if m.one(6) {
			r.Forward.OuterHeaderCreation = m.tags()
		}
	case kind < 7:
		r.Detect.SourceInterface, r.Detect.EthernetSession = api.Interface_CORE, true
		if m.one(2) {
			r.Detect.NetworkInstance = name
		}
		if m.one(6) {
			r.Unwrap = pick(m.dice, api.Unwrap_UNWRAP_S_TAG, api.Unwrap_UNWRAP_S_TAG_C_TAG)
		}
		r.Forward.DestinationInterface, r.Forward.OuterHeaderCreation = api.Interface_ACCESS, e.peer
		m.mark(r)
	default:
		m.relay(r, e)
		r.Detect.UeAddress = nil
	}
	r.Forward.ProxyArp, r.Forward.ProxyNd = m.one(6), m.one(6)
	for range m.IntN(3) {
		r.Detect.EthernetFilters = append(r.Detect.EthernetFilters, m.etherFilter())
	}
}

func (m maker) tags() *api.OuterHeaderCreation {
	o := &api.OuterHeaderCreation{Encapsulation: api.Encapsulation_TAG}
	if m.one(2) {
		o.CTag = optional(0xa000 | pick(m.dice, vids...))
	}
	if m.one(2) {
		o.STag = optional(pick(m.dice, vids...))
	}
	return o
}

func (m maker) etherFilter() *api.EthernetFilter {
	f := &api.EthernetFilter{}
	if m.one(3) {
		from, to := pick(m.dice, ueMACs...), pick(m.dice, remoteMACs...)
		macs := &api.MACs{Source: from[:]}
		if m.one(2) {
			macs = &api.MACs{Destination: to[:]}
		}
		if m.one(3) {
			macs.DestinationUpper = slices.Clone(groupMACs[0][:])
		}
		f.Macs = append(f.Macs, macs)
	}
	if m.one(3) {
		f.Ethertype = pick(m.dice, ethertypes...)
	}
	if m.one(6) {
		f.CTag = &api.VLANTag{Vid: optional(pick(m.dice, vids...))}
	}
	if m.one(8) {
		f.STag = &api.VLANTag{Pcp: optional(5)}
	}
	if m.one(4) {
		f.Filters = []*api.Filter{m.filter()}
	}
	return f
}

// etherFrame makes a frame that the PDI of r is about. None is to a group: that has
// an outcome for each session, and a step only one; scripts of conformance have such.
func (g *generator) etherFrame(r *api.Rule) (frame []byte, note string) {
	ue, remote := pick(g.dice, ueMACs...), pick(g.dice, remoteMACs...)
	dst, src := remote, ue
	if r.GetDetect().GetSourceInterface() != api.Interface_ACCESS {
		dst, src = ue, pick(g.dice, remoteMACs...)
	}
	frame = append(dst[:], src[:]...)
	if g.one(4) {
		frame = binary.BigEndian.AppendUint32(frame, 0x88a8<<16|0xa000|pick(g.dice, vids...))
	}
	if g.one(3) {
		frame = binary.BigEndian.AppendUint32(frame, 0x8100<<16|0xa000|pick(g.dice, vids...))
	}
	kind := uint16(pick(g.dice, ethertypes...))
	frame = binary.BigEndian.AppendUint16(frame, kind)
	frame = append(frame, g.carried(kind)...)
	return frame, fmt.Sprintf("frame %x > %x, type %#x, %d octets", src, dst, kind, len(frame))
}

// carried is what is in a frame of this type.
func (g *generator) carried(kind uint16) []byte {
	p := packet{
		src: pick(g.dice, ues4...), dst: pick(g.dice, remotes4...), sport: pick(g.dice, ports...), dport: pick(g.dice, ports...),
		protocol: byte(pick(g.dice, protocols...)), ttl: pick(g.dice, byte(64), 1), class: pick(g.dice, classes...), payload: pick(g.dice, 0, 32, 1400),
	}
	switch {
	case kind == 0x86dd:
		p.src, p.dst = pick(g.dice, ues6...), pick(g.dice, remotes6...)
		return p.octets()
	case kind == 0x0800:
		return p.octets()
	case kind == 0x0806:
		return g.arp()
	}
	return make([]byte, g.IntN(60))
}

// arp is a request, or a reply. Source: RFC 826.
func (g *generator) arp() []byte {
	b := []byte{0, 1, 8, 0, 6, 4, 0, byte(1 + g.IntN(2))}
	from, who := pick(g.dice, ueMACs...), []netip.Addr{addr("192.168.77.1"), addr("192.168.77.2"), addr("0.0.0.0")}
	b = append(append(b, from[:]...), pick(g.dice, who...).AsSlice()...)
	to := pick(g.dice, ueMACs...)
	return append(append(b, to[:]...), pick(g.dice, who...).AsSlice()...)
}
