package xdp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"plumbline/datapath/nexthop"
)

// port is a device at the start of the UPF.
type port struct {
	name  string
	index int
	mac   [8]byte // 6 octets and 2 of 0
	mtu   int
}

type ports struct{ n3, n6 port }

func findPorts(cfg Config) (ports, error) {
	if !cfg.N3Address.Is4() {
		return ports{}, fmt.Errorf("xdp: N3 address %v: want IPv4", cfg.N3Address)
	}
	n3, err := findPort(cfg.N3Device)
	if err != nil {
		return ports{}, fmt.Errorf("xdp: N3: %w", err)
	}
	n6, err := findPort(cfg.N6Device)
	if err != nil {
		return ports{}, fmt.Errorf("xdp: N6: %w", err)
	}
	return ports{n3, n6}, nil
}

func findPort(name string) (port, error) {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return port{}, fmt.Errorf("device %q: %w", name, err)
	}
	a := link.Attrs()
	if len(a.HardwareAddr) != 6 {
		return port{}, fmt.Errorf("device %q has no Ethernet address: %w", name, errors.ErrUnsupported)
	}
	p := port{name: name, index: a.Index, mtu: a.MTU}
	copy(p.mac[:], a.HardwareAddr)
	return p, nil
}

// watchHops starts to follow the neighbours of both devices and sets the route
// of N6.
func (d *Driver) watchHops(p ports) error {
	n6, err := d.watchN6(p.n6)
	if err != nil {
		return err
	}
	n3, err := nexthop.Watch(p.n3.index, d.log, func(a netip.Addr, mac nexthop.MAC) {
		d.hops.resolve(hopKey{false, a}, mac)
	})
	if err != nil {
		return err
	}
	d.detach = append(d.detach, func() error { n3.Close(); return nil })
	d.mu.Lock()
	d.n3 = n3
	d.mu.Unlock()
	return d.routeN6(n6, p.n6)
}

// acquirePeer returns the hop of a peer on N3. The caller holds d.mu.
func (d *Driver) acquirePeer(addr netip.Addr) (uint32, error) {
	key := hopKey{false, addr}
	slot, fresh, err := d.hops.acquire(key, d.n3MTU)
	if err == nil && fresh && d.n3 != nil {
		d.n3.Want(addr)
	}
	return slot, err
}

func (d *Driver) releasePeer(addr netip.Addr) {
	if addr.IsValid() && d.hops.release(hopKey{false, addr}) && d.n3 != nil {
		d.n3.Forget(addr)
	}
}

// maxNeighbours is how many neighbours on N6 have a hop of their own; the rest
// goes through the slow path. Whoever answers to many addresses must not take
// the slots that peers on N3 need.
const maxNeighbours = 1024

// watchN6 keeps the neighbours on N6 in hop_by_ip.
func (d *Driver) watchN6(p port) (*nexthop.Watcher, error) {
	neighbours := map[netip.Addr]bool{}
	w, err := nexthop.Watch(p.index, d.log, func(a netip.Addr, mac nexthop.MAC) {
		key := hopKey{true, a}
		switch known := mac != (nexthop.MAC{}); {
		case known && !neighbours[a]:
			if len(neighbours) < maxNeighbours && d.addNeighbour(key, p.mtu) {
				neighbours[a] = true
			}
		case !known && neighbours[a]:
			delete(neighbours, a)
			d.removeNeighbour(key)
		}
		d.hops.resolve(key, mac)
	})
	if err == nil {
		d.detach = append(d.detach, func() error { w.Close(); return nil })
	}
	return w, err
}

func (d *Driver) addNeighbour(key hopKey, mtu int) bool {
	slot, _, err := d.hops.acquire(key, mtu)
	if err == nil {
		err = d.hops.byIP.Put(key.addr.As16(), slot)
	}
	if err != nil {
		d.log.Warn("neighbour on N6 goes through the slow path", "address", key.addr, "err", err)
	}
	return err == nil
}

func (d *Driver) removeNeighbour(key hopKey) {
	if err := d.hops.byIP.Delete(key.addr.As16()); err != nil {
		d.log.Warn("neighbour on N6 stays", "address", key.addr, "err", err)
		return
	}
	d.hops.release(key)
}

// routeN6 sets where user packets go that leave on N6.
func (d *Driver) routeN6(w *nexthop.Watcher, p port) error {
	link, err := netlink.LinkByIndex(p.index)
	if err != nil {
		return fmt.Errorf("xdp: N6: %w", err)
	}
	var r upfN6Route
	onlink(link, &r)
	if r.GatewayIp4, err = d.gateway(w, link, d.cfg.Gateway4, unix.AF_INET, p.mtu); err != nil {
		return err
	}
	if r.GatewayIp6, err = d.gateway(w, link, d.cfg.Gateway6, unix.AF_INET6, p.mtu); err != nil {
		return err
	}
	if err := d.objs.N6.Set(r); err != nil {
		return fmt.Errorf("xdp: set route of N6: %w", err)
	}
	return nil
}

// onlink sets the prefixes of the device's first addresses that are not
// link-local. Without one the mask is 0 and the prefix is not: nothing is
// on-link.
func onlink(link netlink.Link, r *upfN6Route) {
	r.OnlinkIp4, r.OnlinkIp6 = 1, 1
	addrs, err := netlink.AddrList(link, netlink.FAMILY_ALL)
	if err != nil {
		return
	}
	for _, a := range addrs {
		ip, ok := netip.AddrFromSlice(a.IP)
		if !ok || ip.Unmap().IsLinkLocalUnicast() {
			continue
		}
		ip = ip.Unmap()
		bits, _ := a.Mask.Size()
		switch {
		case ip.Is4() && r.MaskIp4 == 0 && bits < 32:
			b := ip.As4()
			r.MaskIp4 = ^uint32(0) << (32 - bits)
			r.OnlinkIp4 = binary.BigEndian.Uint32(b[:]) & r.MaskIp4
		case ip.Is6() && r.MaskIp6 == 0 && bits <= 64:
			b := ip.As16()
			r.MaskIp6 = ^uint64(0) << (64 - bits)
			r.OnlinkIp6 = binary.BigEndian.Uint64(b[:]) & r.MaskIp6
		}
	}
}

// gateway returns the hop of addr or, if that is not valid, of the default route
// on the device; 0 if there is none.
func (d *Driver) gateway(w *nexthop.Watcher, link netlink.Link, addr netip.Addr, family, mtu int) (uint32, error) {
	if !addr.IsValid() {
		addr = defaultGateway(link, family)
	}
	if !addr.IsValid() {
		return 0, nil
	}
	key := hopKey{true, addr}
	slot, _, err := d.hops.acquire(key, mtu)
	if err == nil {
		w.Want(addr)
	}
	return slot, err
}

func defaultGateway(link netlink.Link, family int) netip.Addr {
	routes, err := netlink.RouteList(link, family)
	if err != nil {
		return netip.Addr{}
	}
	for _, r := range routes {
		if ones := 0; r.Dst != nil {
			if ones, _ = r.Dst.Mask.Size(); ones != 0 {
				continue
			}
		}
		if gw, ok := netip.AddrFromSlice(r.Gw); ok {
			return gw.Unmap()
		}
	}
	return netip.Addr{}
}
