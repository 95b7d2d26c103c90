package stages

import (
	"encoding/binary"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// Networks is what happens to packets on the side of N6: between emit and a data
// network, and before detect.
//
//	uplink    ... forward ► NAT mapping ► enforce ► measure ► emit: NAT, MSS, DSCP ►
//	downlink  NAT, MSS ► detect ► ...
type Networks struct {
	N6   *datapath.N6
	NATs []*NAT // by data network; nil: none
	// MSS returns what a data network's MSS is clamped to, octets; 0: not.
	MSS func(network int, v6 bool) int
}

// of returns the index of the data network behind a way.
func (n *Networks) of(way int) int {
	if n.N6 == nil || len(n.N6.Networks) == 0 {
		return -1
	}
	return n.N6.Of(way)
}

// nat returns the NAT of a data network with this index, or nil.
func (n *Networks) nat(network int) *NAT {
	if network < 0 || network >= len(n.NATs) {
		return nil
	}
	return n.NATs[network]
}

func (n *Networks) clamp(network int, u user) {
	if n.MSS == nil || network < 0 {
		return
	}
	if limit := n.MSS(network, u.isIPv6()); limit != 0 {
		u.clampMSS(limit)
	}
}

// fromNetwork returns those of the rules that take packets from the data network
// with this number.
func fromNetwork(rules []*Rule, network int) []*Rule {
	for i, r := range rules {
		if r.Network == 0 || r.Network == network {
			continue
		}
		some := append([]*Rule(nil), rules[:i]...)
		for _, r := range rules[i+1:] {
			if r.Network == 0 || r.Network == network {
				some = append(some, r)
			}
		}
		return some
	}
	return rules
}

// arrive is what happens to a packet that comes from a data network, before any
// rule sees it. Of several the first is the packet, the others have waited.
func (s *Stages) arrive(network int, u user) ([]user, datapath.Reason) {
	nat := s.N6.nat(network - 1)
	if s.N6.MSS == nil && nat == nil {
		return []user{u}, datapath.ReasonNone
	}
	u = append(user(nil), u...)
	s.N6.clamp(network-1, u)
	if nat == nil || u.isIPv6() || !nat.Has(u.destination()) {
		return []user{u}, datapath.ReasonNone
	}
	return nat.In(u, s.Now())
}

// hides reports whether a NAT is before the UEs for a packet from a data network, which
// then has to be to an address of the NAT.
func (s *Stages) hides(network int, u user) bool {
	return s.N6.nat(network-1) != nil && !u.isIPv6()
}

// departs reports whether a packet out of a tunnel leaves for a data network, as
// an IP packet of its own.
func (r *Rule) departs(a arrived) bool { return r.routes(a) && r.Outer == nil && r.Wrap == nil }

// admitN6 says why a packet that a rule sends out bare cannot leave.
func (s *Stages) admitN6(r *Rule, a arrived) datapath.Reason {
	if r.Action != api.Action_FORW || !r.departs(a) || a.user.isIPv6() {
		return datapath.ReasonNone
	}
	if nat := s.N6.nat(s.N6.of(r.Way)); nat != nil {
		return nat.Admit(a.user, s.Now())
	}
	return datapath.ReasonNone
}

// depart is what happens to a packet that a rule sends out bare. It is the
// caller's to change.
func (s *Stages) depart(r *Rule, u user) ([]user, datapath.Reason) {
	network := s.N6.of(r.Way)
	s.N6.clamp(network, u)
	if network >= 0 {
		if p := s.N6.N6.Policy(r.Way); p != nil && p.DSCP >= 0 {
			u.setDSCP(byte(p.DSCP))
		}
	}
	if nat := s.N6.nat(network); nat != nil && !u.isIPv6() {
		return nat.Out(u, s.Now())
	}
	return []user{u}, datapath.ReasonNone
}

// hairpin reports whether a packet that leaves for a data network comes back:
// its destination is an address of the NAT there. RFC 4787, REQ-9.
func (s *Stages) hairpin(r *Rule, u user) bool {
	nat := s.N6.nat(s.N6.of(r.Way))
	return nat != nil && !u.isIPv6() && nat.Has(u.destination())
}

// setDSCP marks a packet, whose ECN stays. RFC 1624.
func (u user) setDSCP(dscp byte) {
	before := binary.BigEndian.Uint16(u)
	if u.isIPv6() {
		binary.BigEndian.PutUint16(u, before&^(0x3f<<6)|uint16(dscp)<<6)
		return
	}
	after := before&^(0x3f<<2) | uint16(dscp)<<2
	binary.BigEndian.PutUint16(u, after)
	var change sumChange
	change.add16(before, after)
	binary.BigEndian.PutUint16(u[10:], change.apply(binary.BigEndian.Uint16(u[10:])))
}

// outBare is what becomes of a packet that leaves for a data network: it goes
// there, or comes back from the NAT, or waits there for the first fragment.
func (s *Stages) outBare(r *Rule, a arrived) Out {
	sent, reason := s.emitBare(r, a)
	if reason != datapath.ReasonNone {
		return Out{Reason: reason, Rule: r}
	}
	if s.hairpin(r, sent[0].Packet) {
		return s.Bare(s.N6.of(r.Way)+1, sent[0].Packet)
	}
	copies, lost := s.copies(r, a)
	return Out{Packet: sent[0].Packet, Rule: r, Flow: sent[0].Flow, Others: sent[1:], Copies: copies, Lost: lost}
}

// emitBare makes the packet that leaves for a data network, or several if it is
// too long or fragments have waited for it.
func (s *Stages) emitBare(r *Rule, a arrived) ([]Sent, datapath.Reason) {
	limit := s.limit(r, a)
	all, reason := s.depart(r, append(user(nil), a.user...))
	var sent []Sent
	for _, u := range all {
		u.hop()
		pieces := []user{u}
		if len(u) > limit {
			pieces = u.fragments(limit)
		}
		for _, piece := range pieces {
			sent = append(sent, Sent{Packet: piece, Way: r.Way, Flow: a.user.flow()})
		}
	}
	return sent, reason
}

// quoteOutside translates the quoted packet of an ICMP error of the UPF's own that
// goes to a data network.
func (s *Stages) quoteOutside(network int, report user) {
	if nat := s.N6.nat(network - 1); nat != nil && !report.isIPv6() {
		nat.Quote(report)
	}
}

// Expire removes the mappings of all NATs that have not been used for as long as
// they may.
func (n *Networks) Expire(nowNs uint64) {
	for _, nat := range n.NATs {
		if nat != nil {
			nat.Expire(nowNs)
		}
	}
}

// Release is [NAT.Release] of all NATs.
func (n *Networks) Release(k datapath.Key, nowNs uint64, other func(addr uint32) bool) {
	for _, nat := range n.NATs {
		if nat != nil {
			nat.Release(k, nowNs, other)
		}
	}
}

// heapNetworks is the side of N6 of a UPF without programs, whose devices have
// one MTU.
func heapNetworks(cfg *Config) Networks {
	n := Networks{N6: &cfg.N6}
	if len(cfg.N6.Networks) > 0 {
		n.MSS = func(network int, v6 bool) int {
			return cfg.N6.Networks[network].MSS(cfg.MTU, cfg.MTU-datapath.OuterOctets(cfg.Endpoints), v6)
		}
	}
	for i := range cfg.N6.Networks {
		var nat *NAT
		if c := cfg.N6.Networks[i].NAT; c != nil {
			nat = NewNAT(c, &HeapMappings{Max: datapath.MaxMappings}, nil, nil)
		}
		n.NATs = append(n.NATs, nat)
	}
	return n
}
