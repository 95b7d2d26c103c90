package dut

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/lab/topology"
)

// links are N3 and N6, once if they are one device.
func (p *Place) links() []topology.Link {
	if p.N3.UPF.Device == p.N6.UPF.Device {
		return []topology.Link{p.N3}
	}
	return []topology.Link{p.N3, p.N6}
}

// owned are the addresses of the UPF that the kernel has in the namespace, by
// device.
func (p *Place) owned() map[string][]netip.Prefix {
	list := map[string][]netip.Prefix{"lo": {netip.PrefixFrom(p.N4UPF, p.N4UPF.BitLen())}}
	for _, l := range []topology.Link{p.N3, p.N6} {
		for _, a := range []netip.Prefix{l.UPF.Address, l.UPF.Address6} {
			if a.IsValid() {
				list[l.UPF.Device] = append(list[l.UPF.Device], a)
			}
		}
	}
	return list
}

// takeAddresses removes the UPF's addresses from the kernel of the thread's
// namespace, for a program that has a stack of its own: the kernel would answer
// its packets as well.
func takeAddresses(p *Place) error {
	return eachAddress(p, func(link netlink.Link, a *netlink.Addr) error {
		if err := netlink.AddrDel(link, a); !errors.Is(err, unix.EADDRNOTAVAIL) {
			return err
		}
		return nil
	})
}

// giveAddresses puts them back.
func giveAddresses(p *Place) error { return eachAddress(p, netlink.AddrReplace) }

func eachAddress(p *Place, do func(netlink.Link, *netlink.Addr) error) error {
	for device, addresses := range p.owned() {
		link, err := netlink.LinkByName(device)
		if err != nil {
			return fmt.Errorf("%s: %w", device, err)
		}
		for _, a := range addresses {
			if err := do(link, &netlink.Addr{IPNet: ipNet(a), Flags: flags(a)}); err != nil {
				return fmt.Errorf("address %v of %s: %w", a, device, err)
			}
		}
	}
	return nil
}

// flags of an address: one of IPv6 can be used at once, since nobody else is on the link.
func flags(a netip.Prefix) int {
	if a.Addr().Is6() {
		return unix.IFA_F_NODAD
	}
	return 0
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}
