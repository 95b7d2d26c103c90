package datapath

import (
	"net/netip"
	"slices"

	"plumbline/api"
)

// Endpoint is a place where a datapath terminates GTP-U: N3, N9, S1-U, S5/S8-U.
// TEIDs are one number space over all endpoints of a datapath.
type Endpoint struct {
	Name     string     // "n9"
	Device   string     // "" where a datapath has no devices
	Address  netip.Addr // IPv4; not valid: none
	Address6 netip.Addr // IPv6; not valid: none
	VLAN     uint16     // VID of the tag of its frames on the device; 0: untagged
	// NetworkInstances and Interfaces are those of tunnels that begin and end
	// here; empty: no particular ones, any.
	NetworkInstances []string
	Interfaces       []api.Interface
	// InterfaceTypes are the 3GPP Interface Types likewise.
	// Source: TS 29.244 V18.6.0, 8.2.118.
	InterfaceTypes []uint8
}

// Local returns the address from which packets with an outer header leave for
// peer, as the FAR's Network Instance and Destination Interface say: that of the
// endpoint which has the one, else of one that has the other, else of one for any
// interface, else of the first. It is not valid if no endpoint speaks peer's IP
// version.
func Local(endpoints []Endpoint, networkInstance string, to api.Interface, peer netip.Addr) netip.Addr {
	best, local := -1, netip.Addr{}
	for i := range endpoints {
		e := &endpoints[i]
		a := e.Address
		if peer.Is6() {
			a = e.Address6
		}
		if fit := e.fit(networkInstance, to); a.IsValid() && fit > best {
			best, local = fit, a
		}
	}
	return local
}

// MaxPasses is how many F-TEIDs of the UPF itself a packet goes through, one after the
// other, beside the one to which it came: an SGW-U and a PGW-U in one process take one,
// each way. What would take more of them is in a loop: [DropLoop].
const MaxPasses = 4

// Has reports whether a is the address of an endpoint: what leaves for there has
// arrived.
func Has(endpoints []Endpoint, a netip.Addr) bool {
	return a.IsValid() && slices.ContainsFunc(endpoints, func(e Endpoint) bool { return a == e.Address || a == e.Address6 })
}

// fit says how well tunnels of that kind belong here; more is better.
func (e *Endpoint) fit(networkInstance string, to api.Interface) int {
	switch {
	case networkInstance != "" && slices.Contains(e.NetworkInstances, networkInstance):
		return 3
	case slices.Contains(e.Interfaces, to):
		return 2
	case len(e.Interfaces) == 0:
		return 1
	}
	return 0
}
