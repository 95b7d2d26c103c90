package nexthop

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Table is what the kernel says of a device: its own address, and what is
// reached through it by the main routing table, or by that of the VRF that the
// device is in.
type Table struct {
	MAC    MAC
	MTU    int  // octets of IP packet
	Up     bool // administratively, and with a carrier
	Routes []Route
}

// Route is where packets to a prefix go. Of several with the same prefix only
// those with the lowest metric are there.
type Route struct {
	Prefix   netip.Prefix
	Gateways []Gateway // none: on-link
	MTU      int       // metric of the route, octets of IP packet; 0: none
}

// Gateway is one next hop of a route.
type Gateway struct {
	Addr   netip.Addr // may be IPv6 for an IPv4 route
	Weight int        // from 1 on
}

// TableWatcher follows a [Table].
type TableWatcher struct {
	*follower
	index   int
	routes  bool // wanted, too
	changed func(Table)
}

// WatchDevice is [WatchTable] without routes.
func WatchDevice(index int, log *slog.Logger, changed func(Table)) (*TableWatcher, error) {
	return watch(&TableWatcher{index: index, changed: changed}, topics{links: true}, log)
}

// WatchTable follows the device with the index in the caller's network namespace.
// changed is called with the table as it is before it returns, and from then on,
// one call at a time, when anything about routes or the device may have changed.
func WatchTable(index int, log *slog.Logger, changed func(Table)) (*TableWatcher, error) {
	return watch(&TableWatcher{index: index, changed: changed, routes: true}, topics{links: true, routes: true, addrs: true}, log)
}

func watch(w *TableWatcher, t topics, log *slog.Logger) (_ *TableWatcher, err error) {
	if w.follower, err = open(t, log); err != nil {
		return nil, err
	}
	if err := w.ask(); err != nil {
		w.Close()
		return nil, err
	}
	w.follow(w.read, w.ask)
	return w, nil
}

// Close stops the watcher: once it has returned, changed is not called any more.
func (w *TableWatcher) Close() {
	w.stop()
	w.release()
}

func (w *TableWatcher) read(n *news) { w.gather(n, nil, w.ask, "routes") }

// ask tells of the table as it is. A device that has gone has none.
func (w *TableWatcher) ask() error {
	link, err := w.kernel.LinkByIndex(w.index)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		w.changed(Table{})
		return nil
	}
	if err != nil {
		return fmt.Errorf("nexthop: device %d: %w", w.index, err)
	}
	a := link.Attrs()
	t := Table{MTU: a.MTU, Up: a.Flags&net.FlagUp != 0 && a.RawFlags&unix.IFF_LOWER_UP != 0}
	if len(a.HardwareAddr) == len(t.MAC) {
		t.MAC = MAC(a.HardwareAddr)
	}
	if !w.routes {
		w.changed(t)
		return nil
	}
	number, err := w.tableOf(a)
	if err != nil {
		return err
	}
	for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
		routes, err := w.kernel.RouteListFiltered(family, &netlink.Route{Table: number}, netlink.RT_FILTER_TABLE)
		if err != nil {
			return fmt.Errorf("nexthop: routes of %s: %w", a.Name, err)
		}
		t.Routes = append(t.Routes, w.through(routes, family)...)
	}
	w.changed(t)
	return nil
}

// tableOf returns the number of the device's routing table.
func (w *TableWatcher) tableOf(a *netlink.LinkAttrs) (int, error) {
	if a.MasterIndex == 0 {
		return unix.RT_TABLE_MAIN, nil
	}
	master, err := w.kernel.LinkByIndex(a.MasterIndex)
	if err != nil {
		return 0, fmt.Errorf("nexthop: master of %s: %w", a.Name, err)
	}
	if vrf, ok := master.(*netlink.Vrf); ok {
		return int(vrf.Table), nil
	}
	return unix.RT_TABLE_MAIN, nil
}

// through returns the routes that leave through the device, merged by prefix.
func (w *TableWatcher) through(routes []netlink.Route, family int) []Route {
	slices.SortStableFunc(routes, func(a, b netlink.Route) int { return cmp.Compare(a.Priority, b.Priority) })
	var out []Route
	metric := map[netip.Prefix]int{}
	at := map[netip.Prefix]int{}
	for i := range routes {
		r := &routes[i]
		prefix, ok := prefixOf(r, family)
		hops, ours := w.hops(r)
		if !ok || !ours || r.Type != unix.RTN_UNICAST {
			continue
		}
		j, there := at[prefix]
		switch {
		case !there:
			at[prefix], metric[prefix] = len(out), r.Priority
			out = append(out, Route{Prefix: prefix, Gateways: hops, MTU: r.MTU})
		case metric[prefix] == r.Priority && len(hops) > 0 && len(out[j].Gateways) > 0: // IPv6 lists each next hop
			out[j].Gateways = append(out[j].Gateways, hops...)
		}
	}
	return out
}

func prefixOf(r *netlink.Route, family int) (netip.Prefix, bool) {
	if r.Dst == nil {
		if family == unix.AF_INET {
			return netip.PrefixFrom(netip.IPv4Unspecified(), 0), true
		}
		return netip.PrefixFrom(netip.IPv6Unspecified(), 0), true
	}
	addr, ok := netip.AddrFromSlice(r.Dst.IP)
	bits, _ := r.Dst.Mask.Size()
	if family == unix.AF_INET {
		addr = addr.Unmap()
	}
	return netip.PrefixFrom(addr, bits).Masked(), ok && !addr.IsMulticast() && !addr.IsLinkLocalUnicast()
}

// hops returns the gateways of r on the device, and whether r leaves through it
// at all: with none it is on-link.
func (w *TableWatcher) hops(r *netlink.Route) ([]Gateway, bool) {
	if len(r.MultiPath) == 0 {
		gw, ok := gatewayOf(r.Gw, r.Via)
		switch {
		case r.LinkIndex != w.index || r.Flags&unix.RTNH_F_DEAD != 0:
			return nil, false
		case !ok:
			return nil, true
		}
		return []Gateway{{gw, 1}}, true
	}
	var all []Gateway
	for _, n := range r.MultiPath {
		if n.LinkIndex != w.index || n.Flags&(unix.RTNH_F_DEAD|unix.RTNH_F_LINKDOWN) != 0 {
			continue
		}
		if gw, ok := gatewayOf(n.Gw, n.Via); ok {
			all = append(all, Gateway{gw, n.Hops + 1})
		}
	}
	return all, len(all) > 0
}

func gatewayOf(gw net.IP, via netlink.Destination) (netip.Addr, bool) {
	if v, ok := via.(*netlink.Via); ok && v != nil {
		gw = v.Addr
	}
	a, ok := netip.AddrFromSlice(gw)
	return a.Unmap(), ok && !a.IsUnspecified()
}
