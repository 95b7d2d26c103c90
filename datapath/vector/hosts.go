package vector

import (
	"encoding/binary"
	"net/netip"
	"sync/atomic"

	"plumbline/datapath/model"
)

// Hosts is the addresses of this host, to which no user packet may go: a UE has no
// business with the UPF's own sockets. It is for several goroutines; the zero value
// and nil have none.
type Hosts struct{ set atomic.Pointer[hostSet] }

// hostSet is asked for each packet, so it has an answer for nearly all of them in
// one bit.
type hostSet struct {
	filter [64]uint64 // bit of each address
	addrs  map[netip.Addr]bool
}

// Set makes the addresses those of the host.
func (h *Hosts) Set(addrs []netip.Addr) {
	s := &hostSet{addrs: make(map[netip.Addr]bool, len(addrs))}
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
	return h.maybe(hostWord(a)) && h.set.Load().addrs[a]
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
	word *= model.FlowFactor
	return word >> 26, 1 << (word >> 20 & 63)
}
