package rawip

import (
	"encoding/binary"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
)

// Host knows the host's own addresses, asked for anew when they are older than
// localAge.
type Host struct {
	list func() ([]netlink.Addr, error)
	n6   int // index of the device
	log  *slog.Logger

	mu     sync.Mutex
	asked  time.Time
	err    error // of when they were asked for
	addrs  map[netip.Addr]bool
	n6Addr [2]netip.Addr // of the UPF as a router: IPv4, IPv6; not valid: none
}

const localAge = time.Second

// NewHost returns what knows the addresses of the network namespace of kernel. n6 is
// the index of the device whose addresses are those of the UPF as a router.
func NewHost(kernel *netlink.Handle, n6 int, log *slog.Logger) *Host {
	list := func() ([]netlink.Addr, error) { return kernel.AddrList(nil, netlink.FAMILY_ALL) }
	return &Host{list: list, n6: n6, log: log}
}

// Has reports whether a user packet to a must not be given to the kernel, which
// would deliver it to this host: a UE has no business with the UPF's own
// sockets. What is not global unicast is treated the same.
func (l *Host) Has(a netip.Addr) bool {
	if !a.IsGlobalUnicast() {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.fresh() || l.addrs[a]
}

// Router returns the first global address of N6.
func (l *Host) Router(v6 bool) netip.Addr {
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

// fresh asks for the addresses if they are old, and reports whether they are known:
// what failed is not asked again for each packet.
func (l *Host) fresh() bool {
	if !l.asked.IsZero() && time.Since(l.asked) <= localAge {
		return l.err == nil
	}
	addrs, err := l.list()
	if err != nil && l.err == nil {
		l.log.Warn("addresses of this host are not known: user packets of the slow path are dropped", "error", err)
	}
	l.asked, l.err = time.Now(), err
	if err != nil {
		return false
	}
	l.addrs, l.n6Addr = map[netip.Addr]bool{}, [2]netip.Addr{}
	for _, a := range Own(addrs) {
		l.addrs[a] = true
	}
	for _, a := range addrs {
		ip, ok := netip.AddrFromSlice(a.IP)
		if !ok {
			continue
		}
		ip = ip.Unmap()
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

// Own returns the addresses to which the kernel delivers packets here, of those that it
// lists: with the broadcast addresses of their networks, the first and the last one, also
// where the address names none, and the anycast address of the routers there.
//
// Source: RFC 4291, 2.6.1; RFC 3021 and RFC 6164 (networks of two addresses have none).
func Own(addrs []netlink.Addr) []netip.Addr {
	var all []netip.Addr
	for _, a := range addrs {
		ip, ok := netip.AddrFromSlice(a.IP)
		if !ok {
			continue
		}
		ip = ip.Unmap()
		all = append(all, ip)
		if ones, bits := a.Mask.Size(); bits-ones > 1 {
			network := netip.PrefixFrom(ip, ones).Masked()
			all = append(all, network.Addr())
			if ip.Is4() {
				all = append(all, last(network))
			}
		}
		if b, ok := netip.AddrFromSlice(a.Broadcast); ok && !b.IsUnspecified() {
			all = append(all, b.Unmap())
		}
	}
	slices.SortFunc(all, netip.Addr.Compare)
	return slices.Compact(all)
}

// last returns the last address of an IPv4 network.
func last(network netip.Prefix) netip.Addr {
	b := network.Addr().As4()
	binary.BigEndian.PutUint32(b[:], binary.BigEndian.Uint32(b[:])|(1<<(32-network.Bits())-1))
	return netip.AddrFrom4(b)
}
