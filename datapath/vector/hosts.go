package vector

import (
	"net/netip"
	"sync/atomic"
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
		word, bit := hostBit(a)
		s.filter[word] |= bit
	}
	h.set.Store(s)
}

// Has reports whether a is one of them.
func (h *Hosts) Has(a netip.Addr) bool {
	if h == nil {
		return false
	}
	s := h.set.Load()
	if s == nil {
		return false
	}
	word, bit := hostBit(a)
	return s.filter[word]&bit != 0 && s.addrs[a]
}

func hostBit(a netip.Addr) (word uint32, bit uint64) {
	b := a.As16()
	x := uint32(b[12])<<24 | uint32(b[13])<<16 | uint32(b[14])<<8 | uint32(b[15])
	x ^= uint32(b[4])<<24 | uint32(b[5])<<16 | uint32(b[6])<<8 | uint32(b[7])
	x *= 0x9e3779b1
	return x >> 26, 1 << (x >> 20 & 63)
}
