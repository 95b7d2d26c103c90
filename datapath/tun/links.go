package tun

import (
	"errors"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"

	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// linkState is what packets ask for.
type linkState struct {
	tunnel    map[netip.Addr]int // MTU of the device that has one of the UPF's addresses
	peer      map[netip.Addr]int // MTU of the route to a peer
	n6        []int              // MTU of the device of a data network
	least     int
	leastTun  int
	router    [2]netip.Addr  // IPv4, IPv6
	connected []netip.Prefix // of other devices
}

// addresses puts into s what the addresses of this host say.
func (h *host) addresses(s *linkState, addrs []netlink.Addr, mtus map[int]int, ours []int) {
	router := h.n6
	if router == 0 && len(ours) > 0 {
		router = ours[0]
	}
	for _, a := range addrs {
		ip, ok := netip.AddrFromSlice(a.IP)
		if !ok {
			continue
		}
		ip = ip.Unmap()
		if ip.IsLinkLocalUnicast() || ip.IsLoopback() {
			continue
		}
		s.tunnel[ip] = mtus[a.LinkIndex]
		if !slices.Contains(ours, a.LinkIndex) {
			ones, _ := a.Mask.Size()
			s.connected = append(s.connected, netip.PrefixFrom(ip, ones).Masked())
		}
		version := 0
		if ip.Is6() {
			version = 1
		}
		if a.LinkIndex == router && ip.IsGlobalUnicast() && !s.router[version].IsValid() {
			s.router[version] = ip
		}
	}
}

// complete makes s what packets see.
func (h *host) complete(s *linkState) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.peer = map[netip.Addr]int{}
	s.leastTun = maxPacket
	for _, e := range h.d.cfg.Endpoints {
		for _, a := range []netip.Addr{e.Address, e.Address6} {
			if mtu := s.tunnel[a]; mtu != 0 {
				s.leastTun = min(s.leastTun, mtu)
			}
		}
	}
	for a, mtu := range h.peers {
		if mtu != 0 {
			s.peer[a] = mtu
			s.leastTun = min(s.leastTun, mtu)
		}
	}
	s.least = s.leastTun
	for _, mtu := range s.n6 {
		s.least = min(s.least, mtu)
	}
	h.now.Store(s)
}

// MTU implements [stages.Links].
func (h *host) MTU(r *stages.Rule, _ netip.Addr) int {
	s := h.now.Load()
	if r.Outer == nil {
		return s.n6[h.d.cfg.N6.Of(r.Way)]
	}
	mtu := s.tunnel[r.Outer.Local]
	if mtu == 0 {
		mtu = s.leastTun
	}
	if peer := s.peer[r.Outer.Peer]; peer != 0 {
		mtu = min(mtu, peer)
	}
	return mtu
}

// Router implements [stages.Links].
func (h *host) Router(v6 bool) netip.Addr {
	s := h.now.Load()
	if v6 {
		return s.router[1]
	}
	return s.router[0]
}

// Least implements [vector.Links].
func (h *host) Least() int { return h.now.Load().least }

// MTUs implements [vector.Links].
func (h *host) MTUs(network int) (n6, tunnel int) {
	s := h.now.Load()
	return s.n6[network], s.leastTun
}

// segment returns how long GTP-U messages are at most that any tunnel carries whole.
func (h *host) segment(v6 bool) int {
	headers := 20 + 8
	if v6 {
		headers = 40 + 8
	}
	return h.now.Load().leastTun - headers
}

// overlaps returns a prefix of another device that p overlaps.
func (h *host) overlaps(p netip.Prefix) (netip.Prefix, error) {
	for _, c := range h.now.Load().connected {
		if c.Overlaps(p) {
			return c, errOverlap
		}
	}
	return netip.Prefix{}, nil
}

var errOverlap = errors.New("overlaps what this host is connected to")
