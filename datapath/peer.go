package datapath

import "net/netip"

// Peer is a next hop as people see it.
type Peer struct {
	Interface string // name of the endpoint, or N6
	Address   netip.Addr
	MAC       string // "" while it is not resolved
	MTU       uint32 // octets of IP packet
	Sessions  int    // rules and routes that use it
}
