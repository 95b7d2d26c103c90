package datapath

import "net/netip"

// Peer is a next hop as people see it.
type Peer struct {
	Interface string // name of the endpoint, or N6
	Address   netip.Addr
	Device    string // by which packets leave; "" while there is no route
	MAC       string // "" while it is not resolved, or if the kernel sends there
	MTU       uint32 // octets of IP packet
	Sessions  int    // rules and routes that use it
}
