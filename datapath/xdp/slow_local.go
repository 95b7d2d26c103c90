package xdp

import (
	"net/netip"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
)

// localAddresses knows the host's own addresses, read anew when they are older
// than localAge.
type localAddresses struct {
	kernel *netlink.Handle
	n6     int // index of the device

	mu     sync.Mutex
	read   time.Time
	addrs  map[netip.Addr]bool
	n6Addr [2]netip.Addr // of the UPF as a router: IPv4, IPv6; not valid: none
}

const localAge = time.Second

// has reports whether a user packet to a must not be given to the kernel, which
// would deliver it to this host: a UE has no business with the UPF's own
// sockets. What is not global unicast is treated the same.
func (l *localAddresses) has(a netip.Addr) bool {
	if !a.IsGlobalUnicast() {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.fresh() || l.addrs[a]
}

// router returns the first global address of N6.
func (l *localAddresses) router(v6 bool) netip.Addr {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !l.fresh():
		return netip.Addr{}
	case v6:
		return l.n6Addr[1]
	}
	return l.n6Addr[0]
}

// fresh reads the addresses if they are old, and reports whether that went well.
func (l *localAddresses) fresh() bool {
	if time.Since(l.read) <= localAge {
		return true
	}
	addrs, err := l.kernel.AddrList(nil, netlink.FAMILY_ALL)
	if err != nil {
		return false
	}
	l.read, l.addrs, l.n6Addr = time.Now(), map[netip.Addr]bool{}, [2]netip.Addr{}
	for _, a := range addrs {
		ip, ok := netip.AddrFromSlice(a.IP)
		if !ok {
			continue
		}
		ip = ip.Unmap()
		l.addrs[ip] = true
		version := 0
		if ip.Is6() {
			version = 1
		}
		if a.LinkIndex == l.n6 && ip.IsGlobalUnicast() && !l.n6Addr[version].IsValid() {
			l.n6Addr[version] = ip
		}
	}
	return true
}
