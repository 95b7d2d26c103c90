// Package endpoint says at which of several GTP-U endpoints a tunnel begins or ends. The
// control plane chooses F-TEIDs by it, and the datapaths the address from which a FAR sends,
// so that both ways of a tunnel have one address here.
package endpoint

import (
	"encoding/binary"
	"net/netip"
	"slices"
)

// Properties are those of the tunnels that begin and end at an endpoint; an empty list:
// any. K is a 3GPP Interface Type, I a Source or Destination Interface.
type Properties[K, I comparable] struct {
	InterfaceTypes   []K
	NetworkInstances []string
	Interfaces       []I
}

// Fit says how well a tunnel belongs at the endpoint; more is better. Its 3GPP Interface Type
// (nil: none) decides, then its Network Instance ("": none), then its interface: best is an
// endpoint for the one in question, then one for any, then one for others.
func (p *Properties[K, I]) Fit(kind *K, instance string, at I) int {
	n := 0
	if kind != nil {
		n = match(p.InterfaceTypes, *kind)
	}
	n *= matches
	if instance != "" {
		n += p.network(instance)
	}
	return matches*n + match(p.Interfaces, at)
}

// matches is how many values network has, which are more than those of match.
const matches = 4

// network is 3 if the list has the name, 2 if it has it without Operator Identifier, 1 if it
// is for any, 0 if it is for others.
func (p *Properties[K, I]) network(instance string) int {
	switch how := Named(p.NetworkInstances, instance); {
	case how > 0:
		return how + 1
	case len(p.NetworkInstances) == 0:
		return 1
	}
	return 0
}

// match is 2 if the list has what is wanted, 1 if it is for any, 0 if it is for others.
func match[T comparable](list []T, wanted T) int {
	switch {
	case slices.Contains(list, wanted):
		return 2
	case len(list) == 0:
		return 1
	}
	return 0
}

// Tag stands for an address at which GTP-U is terminated where there are 32 bits for it: an
// IPv4 address is its own, in host order, and one of IPv6 has a number of 240.0.0.0/4,
// where no address of a host is: two have the same one by chance, 1 in 2^28, which the
// configuration of the UPF refuses. That of no address is 0.
func Tag(a netip.Addr) uint32 {
	if a.Is4() {
		b := a.As4()
		return binary.BigEndian.Uint32(b[:])
	}
	if !a.IsValid() {
		return 0
	}
	const spread = 0x9e3779b97f4a7c15
	b := a.As16()
	h := binary.BigEndian.Uint64(b[:])*spread ^ binary.BigEndian.Uint64(b[8:])
	return 0xf<<28 | uint32(h*spread>>36)
}
