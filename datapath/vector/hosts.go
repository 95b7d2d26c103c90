package vector

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"sync/atomic"

	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// Hosts is the addresses of this host, to which no user packet may go: a UE has no
// business with the UPF's own sockets. It is for several goroutines; the zero value
// and nil have none.
type Hosts struct{ set atomic.Pointer[hostSet] }

// hostSet is asked for each packet, so it has an answer for nearly all of them in
// one bit.
type hostSet struct {
	filter   [64]uint64 // bit of each address; all, if there are networks
	addrs    map[netip.Addr]bool
	networks []netip.Prefix
}

// Set makes the addresses those of the host, and all of the networks.
func (h *Hosts) Set(addrs []netip.Addr, networks ...netip.Prefix) {
	s := &hostSet{addrs: make(map[netip.Addr]bool, len(addrs)), networks: networks}
	if len(networks) > 0 {
		for i := range s.filter {
			s.filter[i] = ^uint64(0)
		}
	}
	for _, a := range addrs {
		a = a.Unmap()
		s.addrs[a] = true
		at, bit := hostBit(hostWord(a))
		s.filter[at] |= bit
	}
	h.set.Store(s)
}

// Has reports whether a is one of them.
func (h *Hosts) Has(a netip.Addr) bool {
	if !h.maybe(hostWord(a)) {
		return false
	}
	s := h.set.Load()
	return s.addrs[a] || slices.ContainsFunc(s.networks, func(p netip.Prefix) bool { return p.Contains(a) })
}

// maybe reports whether one of them has this word.
func (h *Hosts) maybe(word uint32) bool {
	if h == nil {
		return false
	}
	s := h.set.Load()
	if s == nil {
		return false
	}
	at, bit := hostBit(word)
	return s.filter[at]&bit != 0
}

// hostWord is what of an address is looked at first: IPv4 all of it, IPv6 the second
// and the last word.
func hostWord(a netip.Addr) uint32 {
	b := a.As16()
	if a.Is4() {
		return binary.BigEndian.Uint32(b[12:])
	}
	return binary.BigEndian.Uint32(b[4:]) ^ binary.BigEndian.Uint32(b[12:])
}

func hostBit(word uint32) (at uint32, bit uint64) {
	word *= stages.FlowFactor
	return word >> 26, 1 << (word >> 20 & 63)
}
