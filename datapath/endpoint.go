package datapath

import (
	"net/netip"
	"slices"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/internal/endpoint"
)

// Endpoint is a place where a datapath terminates GTP-U: N3, N9, S1-U, S5/S8-U.
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

// Direction is where a FAR sends packets with an outer header, as far as it decides from
// which endpoint they leave.
type Direction struct {
	NetworkInstance string
	Interface       api.Interface
	InterfaceType   *uint32 // 3GPP Interface Type; nil: none
}

// DirectionOf returns that of a FAR.
func DirectionOf(f *api.Forward) Direction {
	return Direction{f.GetNetworkInstance(), f.GetDestinationInterface(), f.InterfaceType}
}

// Local returns the address from which packets with an outer header leave for peer:
// that of the first of the endpoints that fit best, by 3GPP Interface Type, then by
// Network Instance, then by interface, as F-TEIDs are chosen. It is not valid if no
// endpoint speaks peer's IP version.
func Local(endpoints []Endpoint, to Direction, peer netip.Addr) netip.Addr {
	best, local := -1, netip.Addr{}
	for i := range endpoints {
		e := &endpoints[i]
		a := e.Address
		if peer.Is6() {
			a = e.Address6
		}
		if fit := e.fit(to); a.IsValid() && fit > best {
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

// LocalOf returns the address of an endpoint that has this [endpoint.Tag]; not valid: none has.
func LocalOf(endpoints []Endpoint, tag uint32) netip.Addr {
	for i := range endpoints {
		for _, a := range []netip.Addr{endpoints[i].Address, endpoints[i].Address6} {
			if a.IsValid() && endpoint.Tag(a) == tag {
				return a
			}
		}
	}
	return netip.Addr{}
}

// fit says how well tunnels of that kind belong here; more is better.
func (e *Endpoint) fit(to Direction) int {
	p := endpoint.Properties[uint8, api.Interface]{
		InterfaceTypes: e.InterfaceTypes, NetworkInstances: e.NetworkInstances, Interfaces: e.Interfaces,
	}
	if to.InterfaceType == nil {
		return p.Fit(nil, to.NetworkInstance, to.Interface)
	}
	kind := uint8(*to.InterfaceType)
	return p.Fit(&kind, to.NetworkInstance, to.Interface)
}
