package stages

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/gtpu"
)

// ueKey returns the key of bare packets to a.
func ueKey(a netip.Addr) datapath.Key {
	b := a.AsSlice()
	if a.Is4() {
		return datapath.Key{IPv4: binary.BigEndian.Uint32(b)}
	}
	return datapath.Key{IPv6: binary.BigEndian.Uint64(b)}
}

// towards returns the candidates for bare packets to a: those of the UE address,
// else those of the longest framed route that contains it.
//
// Source: TS 29.244 V18.6.0, 8.2.109 and 8.2.111.
func (s *Stages) towards(a netip.Addr) []*Rule {
	if found := s.Tables.Candidates(ueKey(a)); len(found) > 0 {
		return found
	}
	for bits := min(a.BitLen(), 64) - 1; bits > 0; bits-- {
		route := netip.PrefixFrom(a, bits).Masked()
		if found := s.Tables.Candidates(datapath.Key{Route: route}); len(found) > 0 {
			return found
		}
	}
	return nil
}

// detect returns the first of the candidates that matches. If none does, the
// reason is that of the candidate that came nearest: UE IP address, then QFI,
// then SDF filters are compared.
//
// Source: TS 29.244 V18.6.0, 5.2.1A.
func (s *Stages) detect(candidates []*Rule, h gtpu.Header, u user) (*Rule, datapath.Reason) {
	nearest := datapath.DropNoPDR
	for _, r := range candidates {
		reason := s.match(r, h, u)
		if reason == datapath.ReasonNone {
			return r, reason
		}
		nearest = max(nearest, reason) // the reasons stand in this order
	}
	return nil, nearest
}

// match compares what the PDI has beside its key.
func (s *Stages) match(r *Rule, h gtpu.Header, u user) datapath.Reason {
	switch {
	case !r.matchUE(u):
		return datapath.DropUEAddress
	case !r.matchQFI(h):
		return datapath.DropQFI
	case !s.matchFilters(r, u):
		return datapath.DropSDFFilter
	}
	return datapath.ReasonNone
}

// MatchesAll reports whether the PDI has nothing beside its key, which is a UE
// address if packets come bare.
func (r *Rule) MatchesAll(bare bool) bool {
	return (bare || !r.UEIPv4.IsValid() && !r.UEIPv6.IsValid()) && r.QFIs == 0 && len(r.Filters) == 0
}

func (r *Rule) matchUE(u user) bool {
	if !r.UEIPv4.IsValid() && !r.UEIPv6.IsValid() && len(r.Routes) == 0 {
		return true
	}
	ue := u.destination()
	if r.Uplink {
		ue = u.source()
	}
	return ue == r.UEIPv4 || r.UEIPv6.IsValid() && r.UEIPv6.Contains(ue) ||
		slices.ContainsFunc(r.Routes, func(p netip.Prefix) bool { return p.Contains(ue) })
}

func (r *Rule) matchQFI(h gtpu.Header) bool {
	if r.QFIs == 0 {
		return true
	}
	qfi, ok := qfiOf(h)
	return ok && r.QFIs>>qfi&1 == 1
}

// qfiOf returns the QFI in the PDU Session Container of h, which is nil for a
// bare packet.
func qfiOf(h gtpu.Header) (qfi byte, ok bool) {
	if h == nil {
		return 0, false
	}
	return h.QFI()
}

func (s *Stages) matchFilters(r *Rule, u user) bool {
	if len(r.Filters) == 0 {
		return true
	}
	f := fieldsOf(u, r.Uplink)
	s.datagrams.complete(&f, u, r.Uplink, r.SEID, s.Now)
	// Names are learnt from packets for which a filter asks.
	f.name = func() (flowName, bool) { return s.Names.look(r.SEID, &f, u, r.Uplink, s.Now()) }
	for i := range r.Filters {
		if r.Filters[i].match(&f) {
			return true
		}
	}
	return false
}
