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

	mu    sync.Mutex
	read  time.Time
	addrs map[netip.Addr]bool
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
	if time.Since(l.read) > localAge {
		addrs, err := l.kernel.AddrList(nil, netlink.FAMILY_ALL)
		if err != nil {
			return true
		}
		l.read, l.addrs = time.Now(), map[netip.Addr]bool{}
		for _, a := range addrs {
			if ip, ok := netip.AddrFromSlice(a.IP); ok {
				l.addrs[ip.Unmap()] = true
			}
		}
	}
	return l.addrs[a]
}
