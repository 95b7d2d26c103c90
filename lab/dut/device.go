package dut

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// makeTUN makes a TUN or TAP device in the namespace of the thread, for a program
// that opens it by its name, and leads the UE pools there. One that is there
// already is replaced.
//
// The program answers ARP requests for the UEs behind a TAP device, one neighbour
// for each UE; the kernel keeps 1024 of them. So the way to all of them leads over
// one neighbour, whose Ethernet address nobody looks at.
func makeTUN(p *Place, name string, tap bool) error {
	if err := removeDevice(name); err != nil {
		return err
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name = name
	device := &netlink.Tuntap{LinkAttrs: attrs, Mode: netlink.TUNTAP_MODE_TUN}
	if tap {
		device.Mode = netlink.TUNTAP_MODE_TAP
	}
	if err := netlink.LinkAdd(device); err != nil {
		return fmt.Errorf("create %s: %w", name, err)
	}
	link, err := netlink.LinkByName(name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if p.MTU > 0 {
		if err := netlink.LinkSetMTU(link, p.MTU); err != nil {
			return fmt.Errorf("MTU %d of %s: %w", p.MTU, name, err)
		}
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("bring up %s: %w", name, err)
	}
	for _, pool := range p.UEPools {
		if err := leadTo(link, pool.Masked(), tap); err != nil {
			return fmt.Errorf("route %v to %s: %w", pool, name, err)
		}
	}
	return nil
}

// leadTo routes a UE pool to a device.
func leadTo(link netlink.Link, pool netip.Prefix, tap bool) error {
	route := &netlink.Route{
		LinkIndex: link.Attrs().Index, Scope: netlink.SCOPE_LINK,
		Dst: ipNet(pool),
	}
	if tap {
		gateway := lastAddr(pool).AsSlice()
		err := netlink.NeighSet(&netlink.Neigh{
			LinkIndex: route.LinkIndex, State: netlink.NUD_PERMANENT, IP: gateway, HardwareAddr: anyNeighbour,
		})
		if err != nil {
			return err
		}
		route.Scope, route.Gw, route.Flags = netlink.SCOPE_UNIVERSE, gateway, int(netlink.FLAG_ONLINK)
	}
	return netlink.RouteReplace(route)
}

// anyNeighbour is a locally administered Ethernet address.
var anyNeighbour = net.HardwareAddr{0x02, 0, 0, 0, 0x0e, 0x01}

// lastAddr is the last address of a prefix but one, in IPv4 that before the
// broadcast address: the gateway of programs that want one.
func lastAddr(p netip.Prefix) netip.Addr {
	b := p.Masked().Addr().AsSlice()
	for bit := p.Bits(); bit < len(b)*8; bit++ {
		b[bit/8] |= 0x80 >> (bit % 8)
	}
	last, _ := netip.AddrFromSlice(b)
	return last.Prev()
}

// removeDevice removes a device of the thread's namespace, if it is there.
func removeDevice(name string) error {
	link, err := netlink.LinkByName(name)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return nil
	}
	if err == nil {
		err = netlink.LinkDel(link)
	}
	if err != nil && !errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	return nil
}
