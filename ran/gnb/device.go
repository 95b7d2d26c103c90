package gnb

import (
	"fmt"
	"net"
	"net/netip"
	"os"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/nsenter"
	"github.com/plumbline-upf/plumbline/internal/vnet"
	"github.com/plumbline-upf/plumbline/internal/yamltext"
)

// Limits of an MTU in octets: what an IPv6 link must carry (RFC 8200, 5), and
// what fits into an IPv4 packet.
const (
	MinMTU = 1280
	maxMTU = 65535
)

// txQueueLen is how many packets the kernel keeps for a reader that is late.
const txQueueLen = 2000

// addrGenModeNone is IN6_ADDR_GEN_MODE_NONE of linux/if_link.h.
const addrGenModeNone = 1

// ValidateDevice returns all that is wrong with what [OpenDevice] would be given, in an
// error that wraps [ErrConfig]. The keys are those of [UE], and mtu.
func ValidateDevice(u UE, mtu int) error {
	var m yamltext.Checks
	u.Count = 1
	m.Under("", u.validateDevice())
	m.Want(mtu >= MinMTU && mtu <= maxMTU, "mtu", mtu, fmt.Sprintf("%d to %d", MinMTU, maxMTU))
	return m.Err(ErrConfig)
}

// OpenDevice makes the TUN device of a UE whose packets do not cross N3, with its addresses and
// routes, and sets it up, from the device's fields of u. It is removed when the result is closed.
// index, unique for each UE, is the metric of its routes.
//
// Errors: [ErrConfig], also for an MTU that IPv6 or IPv4 cannot have.
func OpenDevice(u UE, mtu, index int) (*vnet.Device, error) {
	if err := ValidateDevice(u, mtu); err != nil {
		return nil, err
	}
	if u.Routes == nil {
		u.Routes = u.defaultRoutes()
	}
	return openTUN(u, mtu, index)
}

// openTUN makes u's device, with addresses and routes, and sets it up. It is
// gone when the result is closed. index, unique for each UE, is the metric of
// its routes, so that several UEs of one namespace can have the same routes: a
// program picks its UE by binding to a device or address.
func openTUN(u UE, mtu, index int) (*vnet.Device, error) {
	var device *vnet.Device
	err := nsenter.In(u.Namespace, func() error {
		var err error
		if device, err = vnet.Open(vnet.Config{Name: u.Name}); err != nil {
			return err
		}
		if err = configureTUN(u, mtu, index); err != nil {
			device.Close()
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("gnb: ue %s: %w", u.Name, err)
	}
	return device, nil
}

// configureTUN sets up the device with addresses and routes. It runs in the device's namespace.
func configureTUN(u UE, mtu, index int) error {
	link, err := netlink.LinkByName(u.Name)
	if err != nil {
		return fmt.Errorf("find %s: %w", u.Name, err)
	}
	// No link-local address: its Router Solicitations and MLD reports would go
	// up the tunnel unasked, from an address that no UPF knows.
	if err := netlink.LinkSetIP6AddrGenMode(link, addrGenModeNone); err != nil && needsIPv6(u) {
		return fmt.Errorf("no IPv6 on %s: %w", u.Name, err)
	}
	// Loose reverse path filter: with several UEs in a namespace the best route
	// back may be by another one's device. Where this cannot be set, the
	// namespace's own setting holds.
	_ = os.WriteFile("/proc/sys/net/ipv4/conf/"+u.Name+"/rp_filter", []byte("2"), 0)
	if err := netlink.LinkSetMTU(link, mtu); err != nil {
		return fmt.Errorf("MTU %d of %s: %w", mtu, u.Name, err)
	}
	if err := netlink.LinkSetGSOMaxSize(link, maxSuper); err != nil {
		return fmt.Errorf("segments of %d octets of %s: %w", maxSuper, u.Name, err)
	}
	if err := netlink.LinkSetTxQLen(link, txQueueLen); err != nil {
		return fmt.Errorf("queue length %d of %s: %w", txQueueLen, u.Name, err)
	}
	for _, a := range u.Addresses {
		address := &netlink.Addr{IPNet: ipNet(netip.PrefixFrom(a, a.BitLen()))}
		if a.Is6() {
			address.Flags = unix.IFA_F_NODAD // the link has no other hosts
		}
		if err := netlink.AddrAdd(link, address); err != nil {
			return fmt.Errorf("address %v on %s: %w", a, u.Name, err)
		}
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("set %s up: %w", u.Name, err)
	}
	return addRoutes(u, link, index)
}

func addRoutes(u UE, link netlink.Link, index int) error {
	for _, p := range u.Routes {
		route := &netlink.Route{LinkIndex: link.Attrs().Index, Dst: ipNet(p), Priority: 1 + index}
		for _, a := range u.Addresses {
			if a.Is4() == p.Addr().Is4() {
				route.Src = a.AsSlice()
			}
		}
		if err := netlink.RouteAdd(route); err != nil {
			return fmt.Errorf("route %v by %s: %w", p, u.Name, err)
		}
	}
	return nil
}

func needsIPv6(u UE) bool {
	for _, a := range u.Addresses {
		if a.Is6() {
			return true
		}
	}
	return false
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// deviceOf returns the device that has address a, in the caller's namespace.
func deviceOf(a netip.Addr) (netlink.Link, error) {
	links, err := netlink.LinkList()
	if err != nil {
		return nil, fmt.Errorf("gnb: devices: %w", err)
	}
	for _, link := range links {
		addresses, err := netlink.AddrList(link, netlink.FAMILY_V4)
		if err != nil {
			return nil, fmt.Errorf("gnb: addresses of %s: %w", link.Attrs().Name, err)
		}
		for _, has := range addresses {
			if has.IP.Equal(a.AsSlice()) {
				return link, nil
			}
		}
	}
	return nil, fmt.Errorf("gnb: n3.address %v is on no device", a)
}
