package p4

import (
	"encoding/binary"
	"math/bits"
	"net/netip"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// maxFilters is how many entries a list has at most. Longer ones are left to the stages.
const maxFilters = 256

// filterMatch is one entry of a list, without list and priority.
type filterMatch struct {
	v6   bool
	rule int // position among the rules of the key
	key  []match
}

// filtersOf makes the entries of the rules of a key, the first one to be asked first. ok: the
// pipeline can tell the rules apart.
func filtersOf(rules []*stages.Rule, k datapath.Key) (all []filterMatch, ok bool) {
	for i, r := range rules {
		if !k.Local.IsValid() && r.QFIs != 0 {
			continue // it matches nothing that came bare
		}
		for _, qfi := range qfisOf(r) {
			one, ok := filtersOfRule(r, k, i, qfi)
			if !ok {
				return nil, false
			}
			all = append(all, one...)
		}
		if len(all) > maxFilters {
			return nil, false
		}
	}
	return all, true
}

// qfisOf returns a match for each QFI of a rule.
func qfisOf(r *stages.Rule) []match {
	if r.QFIs == 0 {
		return []match{{}}
	}
	var all []match
	for set := r.QFIs; set != 0; set &= set - 1 {
		all = append(all, match{value: number(uint64(bits.TrailingZeros64(set))), mask: []byte{0x7f}})
	}
	return all
}

func filtersOfRule(r *stages.Rule, k datapath.Key, rule int, qfi match) (all []filterMatch, ok bool) {
	var network match
	if !k.Local.IsValid() && r.Network != 0 {
		network = match{value: number(uint64(r.Network)), mask: []byte{0xff}}
	}
	filters := r.Filters
	if len(filters) == 0 {
		filters = []stages.Filter{{Protocol: -1, SPI: -1, FlowLabel: -1}}
	}
	v4, v6 := versions(r, k)
	for i := range filters {
		f := &filters[i]
		if !expressible(f) {
			return nil, false
		}
		for _, version := range [...]struct{ is, v6 bool }{{v4, false}, {v6, true}} {
			if !version.is || !isOf(f.Remote, version.v6) || !isOf(f.Local, version.v6) {
				continue
			}
			for _, protocol := range protocolsOf(f) {
				for _, ports := range portsOf(f) {
					key := append([]match{network, qfi, protocol}, rest(r, f, ports, version.v6)...)
					all = append(all, filterMatch{version.v6, rule, key})
				}
			}
			if len(all) > maxFilters {
				return nil, false
			}
		}
	}
	return all, true
}

// isOf reports whether a prefix, which may be none, is of an IP version.
func isOf(p netip.Prefix, v6 bool) bool { return !p.IsValid() || p.Addr().Is6() == v6 }

// expressible reports whether the pipeline compares all that a filter does.
func expressible(f *stages.Filter) bool { return !f.Named() && f.SPI < 0 && f.FlowLabel < 0 }

// protocolsOf returns a match for each protocol of a filter: with ports, those that have some.
func protocolsOf(f *stages.Filter) []match {
	one := func(protocol int) match { return match{value: number(uint64(protocol)), mask: []byte{0xff}} }
	ports := len(f.RemotePorts)+len(f.LocalPorts) > 0
	switch {
	case !ports && f.Protocol < 0:
		return []match{{}}
	case !ports, f.Protocol == inet.ProtoTCP, f.Protocol == inet.ProtoUDP, f.Protocol == inet.ProtoSCTP:
		return []match{one(f.Protocol)}
	case f.Protocol < 0:
		return []match{one(inet.ProtoTCP), one(inet.ProtoUDP), one(inet.ProtoSCTP)}
	}
	return nil
}

// portPair is a range of each end; none: any.
type portPair struct{ remote, local match }

func portsOf(f *stages.Filter) []portPair {
	ranges := func(all []stages.Ports) []match {
		if len(all) == 0 {
			return []match{{}}
		}
		var out []match
		for _, p := range all {
			if p.First == 0 && p.Last == 65535 {
				return []match{{}} // a range of all is not one: P4Runtime 1.4.1, 9.1.1
			}
			out = append(out, match{value: number(uint64(p.First)), high: number(uint64(p.Last))})
		}
		return out
	}
	var all []portPair
	for _, remote := range ranges(f.RemotePorts) {
		for _, local := range ranges(f.LocalPorts) {
			all = append(all, portPair{remote, local})
		}
	}
	return all
}

// rest is ToS, addresses and ports, in the order of the tables' keys.
func rest(r *stages.Rule, f *stages.Filter, ports portPair, v6 bool) []match {
	var tos match
	if f.TOSMask != 0 {
		tos = match{value: number(uint64(f.TOS & f.TOSMask)), mask: []byte{f.TOSMask}}
	}
	source, destination, from, to := f.Remote, f.Local, ports.remote, ports.local
	if r.Uplink {
		source, destination, from, to = f.Local, f.Remote, ports.local, ports.remote
	}
	key := []match{tos}
	for _, p := range [...]netip.Prefix{source, destination} {
		key = append(key, prefixMatch(p, v6)...)
	}
	return append(key, from, to)
}

// prefixMatch is an address under a mask: one field, or the two halves of an IPv6 address.
func prefixMatch(p netip.Prefix, v6 bool) []match {
	if !v6 {
		if !p.IsValid() || p.Bits() == 0 {
			return []match{{}}
		}
		mask := ^uint64(0) << (32 - p.Bits()) & 0xffffffff
		return []match{{value: number(word4(p.Addr()) & mask), mask: number(mask)}}
	}
	var out [2]match
	if p.IsValid() {
		b := p.Addr().As16()
		for i := range out {
			n := min(max(p.Bits()-64*i, 0), 64)
			if n == 0 {
				continue
			}
			mask := ^uint64(0) << (64 - n)
			out[i] = match{value: number(binary.BigEndian.Uint64(b[8*i:]) & mask), mask: number(mask)}
		}
	}
	return out[:]
}

// endOf returns why packets are dropped that no entry of a list matches; none: the stages say.
// That is so where the PDRs differ in nothing but their SDF filters, of which each has some.
func endOf(rules []*stages.Rule) (reason datapath.Reason, known bool) {
	for _, r := range rules {
		if len(r.Filters) == 0 || r.QFIs != 0 || r.Network != 0 {
			return 0, false
		}
	}
	return datapath.DropSDFFilter, true
}
