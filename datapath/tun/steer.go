package tun

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Routing rules of the UPF start at this priority, and their tables at this number; the index of
// the device is added. Other rules are not touched.
const (
	rulePriority = 5000
	firstTable   = 0x504c0000
)

// steering is a routing table of the kernel for what one device gives it: gateways of a
// data network or forwarding policy, in place of the default route.
type steering struct {
	rules []*netlink.Rule
	route *netlink.Route
}

// openDevices makes the device of each data network, and of each forwarding policy that
// has gateways of its own, and says which a way leaves by.
func (t *traffic) openDevices() error {
	c := &t.d.cfg
	for i := range c.N6.Networks {
		if err := t.openDevice(c.N6.Networks[i].Ethernet); err != nil {
			return err
		}
	}
	for _, a := range c.Addresses {
		address := &netlink.Addr{IPNet: ipNet(a)}
		if a.Addr().Is6() {
			address.Flags = unix.IFA_F_NODAD // the link has no other hosts
		}
		if err := netlink.AddrAdd(t.devices[0].link, address); err != nil {
			return fmt.Errorf("address %v on %s: %w", a, t.devices[0].Name, err)
		}
	}
	for way := range c.N6.Ways() {
		dev := t.devices[c.N6.Of(way)]
		if p := c.N6.Policy(way); p != nil && len(p.Gateways) > 0 {
			if err := t.openDevice(false); err != nil {
				return err
			}
			dev = t.devices[len(t.devices)-1]
		}
		t.ways = append(t.ways, dev)
	}
	return nil
}

func (t *traffic) openDevice(ethernet bool) error {
	dev, err := openDevice(&t.d.cfg, t.d.cfg.Prefix+strconv.Itoa(len(t.devices)), ethernet)
	if err == nil {
		t.devices = append(t.devices, dev)
	}
	return err
}

// steer sends what leaves by ways with gateways to these.
func (t *traffic) steer() error {
	c := &t.d.cfg
	for i := range c.N6.Networks {
		if err := t.lead(t.devices[i], c.N6.Networks[i].Device, c.N6.Networks[i].Gateways); err != nil {
			return err
		}
	}
	for way := range c.N6.Ways() {
		if p := c.N6.Policy(way); p != nil {
			if err := t.lead(t.ways[way], c.N6.Networks[c.N6.Of(way)].Device, p.Gateways); err != nil {
				return err
			}
		}
	}
	return nil
}

// lead has the kernel send to gateways what comes from dev, unless it has a route for it
// that is not the default one: what is on-link is.
func (t *traffic) lead(dev *device, over string, gateways []netip.Addr) error {
	for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
		via := ofFamily(gateways, family)
		if len(via) == 0 {
			continue
		}
		s, err := newSteering(dev, over, family, via)
		if err != nil {
			return err
		}
		t.steered = append(t.steered, s)
		if err := s.add(t.d.host.kernel, dev.Name); err != nil {
			return fmt.Errorf("gateways %v of what comes from %s: %w", via, dev.Name, err)
		}
	}
	return nil
}

func ofFamily(all []netip.Addr, family int) []netip.Addr {
	var some []netip.Addr
	for _, a := range all {
		if a.Is4() == (family == unix.AF_INET) {
			some = append(some, a)
		}
	}
	return some
}

func newSteering(dev *device, over string, family int, gateways []netip.Addr) (steering, error) {
	table := firstTable + dev.index()
	main, own := netlink.NewRule(), netlink.NewRule()
	main.Family, main.IifName, main.Table, main.Priority, main.SuppressPrefixlen = family, dev.Name, unix.RT_TABLE_MAIN, rulePriority, 0
	own.Family, own.IifName, own.Table, own.Priority = family, dev.Name, table, rulePriority+1
	all := &net.IPNet{IP: net.IPv4zero, Mask: net.CIDRMask(0, 32)}
	if family == unix.AF_INET6 {
		all = &net.IPNet{IP: net.IPv6zero, Mask: net.CIDRMask(0, 128)}
	}
	index := 0
	if over != "" {
		link, err := netlink.LinkByName(over)
		if err != nil {
			return steering{}, fmt.Errorf("device %s of gateways %v: %w", over, gateways, err)
		}
		index = link.Attrs().Index
	}
	route := &netlink.Route{Table: table, Dst: all, Protocol: protocol, Family: family}
	for _, g := range gateways {
		route.MultiPath = append(route.MultiPath, &netlink.NexthopInfo{LinkIndex: index, Gw: g.AsSlice()})
	}
	return steering{rules: []*netlink.Rule{main, own}, route: route}, nil
}

// add adds route and rules, after it has removed rules for the device that a process
// before this one has left.
func (s *steering) add(kernel *netlink.Handle, device string) error {
	stale, err := kernel.RuleList(s.route.Family)
	if err != nil {
		return err
	}
	for i := range stale {
		if r := &stale[i]; r.IifName == device && (r.Priority == rulePriority || r.Priority == rulePriority+1) {
			if err := kernel.RuleDel(r); err != nil {
				return err
			}
		}
	}
	if err := kernel.RouteReplace(s.route); err != nil {
		return err
	}
	for _, r := range s.rules {
		if err := kernel.RuleAdd(r); err != nil {
			return err
		}
	}
	return nil
}

// steerAgain adds the routes again, which the kernel removes when a device goes down.
// It fails while a gateway cannot be reached.
func (t *traffic) steerAgain() error {
	var errs []error
	for i := range t.steered {
		s := &t.steered[i]
		if err := t.d.host.kernel.RouteReplace(s.route); err != nil {
			errs = append(errs, fmt.Errorf("gateways of what comes from %s: %w", s.rules[0].IifName, err))
		}
	}
	return errors.Join(errs...)
}

// straighten undoes steer.
func (t *traffic) straighten() error {
	var errs []error
	for _, s := range t.steered {
		for _, r := range s.rules {
			if err := t.d.host.kernel.RuleDel(r); err != nil && !errors.Is(err, unix.ENOENT) {
				errs = append(errs, fmt.Errorf("rule for %s: %w", r.IifName, err))
			}
		}
		_ = t.d.host.kernel.RouteDel(s.route) // gone with its device, if that is gone
	}
	t.steered = nil
	return errors.Join(errs...)
}
