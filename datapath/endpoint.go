package datapath

import (
	"net/netip"
	"slices"
)

// Endpoint is a place where a datapath terminates GTP-U: N3, N9, S1-U, S5/S8-U.
// TEIDs are one number space over all endpoints of a datapath.
type Endpoint struct {
	Name             string     // "n9"
	Device           string     // "" where a datapath has no devices
	Address          netip.Addr // IPv4; not valid: none
	Address6         netip.Addr // IPv6; not valid: none
	NetworkInstances []string   // those whose tunnels end here
}

// Local returns the address from which packets with an outer header leave
// towards peer, which are of the network instance: that of the endpoint which
// has it, else of the first one that speaks peer's IP version. It is not valid
// if there is none.
func Local(endpoints []Endpoint, networkInstance string, peer netip.Addr) netip.Addr {
	var first netip.Addr
	for _, e := range endpoints {
		a := e.Address
		if peer.Is6() {
			a = e.Address6
		}
		if !a.IsValid() {
			continue
		}
		if networkInstance != "" && slices.Contains(e.NetworkInstances, networkInstance) {
			return a
		}
		if !first.IsValid() {
			first = a
		}
	}
	return first
}
