package stages

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// Ethernet is what a rule of an Ethernet PDU session has beside all others: its
// T-PDUs are frames, without preamble and FCS. The UPF is a bridge for them: it
// routes nothing, takes nothing off a TTL and cuts nothing.
//
// Source: TS 23.501 V18.8.0, 5.6.10.2; TS 29.244 V18.6.0, 5.13.
type Ethernet struct {
	Filters []EthernetFilter // one has to match; none: any frame
	Push    []uint32         // tags to put on, the outer one first: TPID << 16 | TCI
	Pull    int              // tags to take off

	ProxyARP, ProxyND bool // answered here, for who has the address
}

// mac is a MAC address.
type mac [6]byte

// isGroup reports whether it is a broadcast or multicast address.
func (m mac) isGroup() bool { return m[0]&1 == 1 }

// isReserved reports whether it is a group that no bridge relays to: the nearest
// bridges, PAUSE, LACP, EAPOL, LLDP and others.
//
// Source: IEEE 802.1Q-2022, 8.6.3, table 8-1.
func (m mac) isReserved() bool {
	return [5]byte(m[:]) == [5]byte{0x01, 0x80, 0xc2, 0, 0} && m[5] < 0x10
}

// etherFrame is a frame that has been looked at.
type etherFrame struct {
	octets              []byte
	destination, source mac
	sTag, cTag          int // TCI; -1: none
	tags                int // how many
	ethertype           uint16
	inner               user // IP packet; nil: none, or a broken one
}

// parseEthernet reads a frame. One with more than two tags has what is behind
// the second as its Ethertype.
func parseEthernet(b []byte) (etherFrame, datapath.Reason) {
	f := etherFrame{octets: b, sTag: -1, cTag: -1}
	if len(b) < inet.LenEthernet {
		return f, datapath.DropEthernetShort
	}
	f.destination, f.source = mac(b), mac(b[6:])
	at := 12
	for {
		f.ethertype = binary.BigEndian.Uint16(b[at:])
		tag := &f.cTag
		if f.ethertype == inet.EtherSTag && f.tags == 0 {
			tag = &f.sTag
		} else if f.ethertype != inet.EtherCTag || f.cTag >= 0 {
			break
		}
		if len(b) < at+6 {
			return f, datapath.DropEthernetShort
		}
		*tag = int(binary.BigEndian.Uint16(b[at+2:]))
		f.tags++
		at += 4
	}
	if f.ethertype == inet.EtherIPv4 || f.ethertype == inet.EtherIPv6 {
		if u, reason := parseUser(b[at+2:]); reason == datapath.ReasonNone && u.isIPv6() == (f.ethertype == inet.EtherIPv6) {
			f.inner = u
		}
	}
	return f, datapath.ReasonNone
}

// vlan returns the VID of the outer tag; 0: it is in none.
func (f *etherFrame) vlan() int {
	tci := f.sTag
	if tci < 0 {
		tci = f.cTag
	}
	return max(tci, 0) & 0xfff
}

// to returns the station to which a frame on a data network is.
func (f *etherFrame) to(network int) Station { return Station{network, f.vlan(), f.destination} }

// vlan returns in which one a frame is on the data network to which it goes by r.
func (r *Rule) vlan(f *etherFrame) int {
	if r.Ethernet.Pull == 0 && len(r.Ethernet.Push) == 0 {
		return f.vlan()
	}
	on, _ := parseEthernet(r.Ethernet.tag(f.octets))
	return on.vlan()
}

// names reports whether an Ethernet Packet Filter of r has a MAC address, and not a
// range of them, as the source.
func (r *Rule) names(source mac) bool {
	return slices.ContainsFunc(r.Ethernet.Filters, func(e EthernetFilter) bool {
		return slices.ContainsFunc(e.in.GetMacs(), func(m *api.MACs) bool {
			return bytes.Equal(m.GetSource(), source[:]) && (len(m.GetSourceUpper()) == 0 || bytes.Equal(m.GetSourceUpper(), source[:]))
		})
	})
}

// EthernetFilter is an Ethernet Packet Filter: all of it has to match.
// Source: TS 29.244 V18.6.0, 7.5.2.2-3.
type EthernetFilter struct {
	in      *api.EthernetFilter
	filters []Filter
}

// Packet returns the filter but for what it compares of an IP packet inside.
func (e *EthernetFilter) Packet() *api.EthernetFilter { return e.in }

// SDF returns the SDF filters, of which one has to match; none: any frame.
func (e *EthernetFilter) SDF() []Filter { return e.filters }

func newEthernet(s *api.Session, r *api.Rule) *Ethernet {
	if s.GetPduType() != api.PDUType_ETHERNET {
		return nil
	}
	e := &Ethernet{ProxyARP: r.GetForward().GetProxyArp(), ProxyND: r.GetForward().GetProxyNd()}
	for _, in := range r.GetDetect().GetEthernetFilters() {
		f := EthernetFilter{in: in}
		for _, sdf := range in.GetFilters() {
			f.filters = append(f.filters, newFilter(sdf))
		}
		e.Filters = append(e.Filters, f)
	}
	switch r.GetUnwrap() {
	case api.Unwrap_UNWRAP_S_TAG:
		e.Pull = 1
	case api.Unwrap_UNWRAP_S_TAG_C_TAG:
		e.Pull = 2
	}
	if o := r.GetForward().GetOuterHeaderCreation(); o.GetEncapsulation() == api.Encapsulation_TAG {
		if o.STag != nil {
			e.Push = append(e.Push, inet.EtherSTag<<16|o.GetSTag()&0xffff)
		}
		if o.CTag != nil {
			e.Push = append(e.Push, inet.EtherCTag<<16|o.GetCTag()&0xffff)
		}
	}
	return e
}

func (e *EthernetFilter) match(f *etherFrame, uplink bool) bool {
	in := e.in
	switch {
	case len(in.GetMacs()) > 0 && !slices.ContainsFunc(in.GetMacs(), func(m *api.MACs) bool { return matchMACs(m, f) }):
		return false
	case in.GetEthertype() != 0 && in.GetEthertype() != uint32(f.ethertype):
		return false
	case in.CTag != nil && !matchTag(in.GetCTag(), f.cTag), in.STag != nil && !matchTag(in.GetSTag(), f.sTag):
		return false
	case len(e.filters) == 0:
		return true
	case f.inner == nil:
		return false
	}
	fields := fieldsOf(f.inner, uplink)
	return slices.ContainsFunc(e.filters, func(sdf Filter) bool { return sdf.match(&fields) })
}

func matchMACs(m *api.MACs, f *etherFrame) bool {
	return matchMAC(m.GetSource(), m.GetSourceUpper(), f.source) && matchMAC(m.GetDestination(), m.GetDestinationUpper(), f.destination)
}

// matchMAC compares with one address, or with a range that has both ends in it.
func matchMAC(first, last []byte, m mac) bool {
	switch {
	case len(first) == 0:
		return true
	case len(last) == 0:
		return bytes.Equal(first, m[:])
	}
	return bytes.Compare(first, m[:]) <= 0 && bytes.Compare(m[:], last) <= 0
}

// matchTag compares parts of a TCI; a frame without the tag does not match.
func matchTag(t *api.VLANTag, tci int) bool {
	return tci >= 0 &&
		(t.Vid == nil || t.GetVid() == uint32(tci)&0xfff) &&
		(t.Pcp == nil || t.GetPcp() == uint32(tci)>>13) &&
		(t.Dei == nil || t.GetDei() == uint32(tci)>>12&1)
}

// emitEthernet makes the frame that leaves, or the G-PDU around it.
func (r *Rule) emitEthernet(a arrived) []Sent {
	frame := r.Ethernet.tag(a.user)
	if r.Outer == nil {
		return []Sent{{Packet: frame, Way: r.Way, Ethernet: true}}
	}
	return []Sent{{Packet: r.encapsulate(arrived{user: frame, header: a.header}, frame), Outer: r.Outer}}
}

// tag takes tags off and puts others on. The frame is a copy.
func (e *Ethernet) tag(frame []byte) []byte {
	f, _ := parseEthernet(frame) // it did once
	out := append(make([]byte, 0, len(frame)+4*len(e.Push)), frame[:12]...)
	for _, t := range e.Push {
		out = binary.BigEndian.AppendUint32(out, t)
	}
	return append(out, frame[12+4*min(e.Pull, f.tags):]...)
}

// inner is the IP packet by which a packet is marked and spread: itself, or what
// is in the frame; nil: none.
func (r *Rule) inner(u user) user {
	switch {
	case !r.Opaque:
		return u
	case r.Ethernet == nil:
		return nil
	}
	f, _ := parseEthernet(u)
	return f.inner
}

// dscp returns that of the user's IP packet; 0: there is none.
func (r *Rule) dscp(a arrived) byte {
	if u := r.inner(a.user); u != nil {
		return u.dscp()
	}
	return 0
}
