package beyond

import (
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"

	"github.com/plumbline-upf/plumbline/internal/nsenter"
)

// surroundings are what is around the devices of a UPF.
type surroundings struct {
	inner []device       // the UPF's
	outer []device       // by which packets come from and go to elsewhere
	ues   []netip.Prefix // that are routed to the UPF's devices
}

// device is one that may be made anew under the same name.
type device struct {
	name  string
	index int
}

// look looks around in a namespace.
func look(namespace string, inner []string) (s surroundings, err error) {
	err = nsenter.In(namespace, func() error {
		links, err := netlink.LinkList()
		if err != nil {
			return err
		}
		for _, l := range links {
			a := l.Attrs()
			d := device{a.Name, a.Index}
			switch {
			case slices.Contains(inner, a.Name):
				s.inner = append(s.inner, d)
				if err := s.addRoutes(a.Index); err != nil {
					return err
				}
			case a.Flags&net.FlagUp != 0 && a.Flags&net.FlagLoopback == 0 && a.MasterIndex == 0:
				s.outer = append(s.outer, d)
			}
		}
		return nil
	})
	return s, err
}

// addRoutes adds the prefixes that are routed to a device.
func (s *surroundings) addRoutes(device int) error {
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		routes, err := netlink.RouteListFiltered(family, &netlink.Route{LinkIndex: device}, netlink.RT_FILTER_OIF)
		if err != nil {
			return err
		}
		for _, r := range routes {
			if prefix, ok := prefixOf(r.Dst); ok {
				s.ues = append(s.ues, prefix)
			}
		}
	}
	return nil
}

// prefixOf is a route's destination, if it can be that of UEs.
func prefixOf(n *net.IPNet) (netip.Prefix, bool) {
	if n == nil {
		return netip.Prefix{}, false
	}
	addr, ok := netip.AddrFromSlice(n.IP)
	bits, _ := n.Mask.Size()
	addr = addr.Unmap()
	return netip.PrefixFrom(addr, bits), ok && bits > 0 && !addr.IsLinkLocalUnicast() && !addr.IsMulticast()
}
