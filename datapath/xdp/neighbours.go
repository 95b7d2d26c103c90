package xdp

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"plumbline/datapath/nexthop"
)

// watchHops starts to follow the neighbours of all devices and sets the route
// of N6.
func (d *Driver) watchHops() error {
	n6, err := d.watchN6()
	if err != nil {
		return err
	}
	watchers := map[int]*nexthop.Watcher{}
	for _, dev := range d.ports.devices() {
		w, err := nexthop.Watch(dev.index, d.log, func(a netip.Addr, mac nexthop.MAC) { d.resolvePeer(dev.index, a, mac) })
		if err != nil {
			return err
		}
		d.detach = append(d.detach, func() error { w.Close(); return nil })
		watchers[dev.index] = w
	}
	d.mu.Lock()
	d.watchers = watchers
	d.mu.Unlock()
	for key := range d.hops.peers() { // adopted ones
		watchers[d.ports.gtpu[key.port].index].Want(key.addr)
	}
	return d.routeN6(n6)
}

// resolvePeer sets the MAC address of a peer for all endpoints on the device.
func (d *Driver) resolvePeer(index int, addr netip.Addr, mac nexthop.MAC) {
	for i := range d.ports.gtpu {
		if d.ports.gtpu[i].index == index {
			d.hops.resolve(hopKey{i, addr}, mac)
		}
	}
}

// acquirePeer returns the hop of a GTP-U peer that is reached from the endpoint
// with index i. The caller holds d.mu.
func (d *Driver) acquirePeer(i int, addr netip.Addr) (uint32, error) {
	p := &d.ports.gtpu[i]
	slot, fresh, err := d.hops.acquire(hopKey{i, addr}, p)
	if w := d.watchers[p.index]; err == nil && fresh && w != nil {
		w.Want(addr)
	}
	return slot, err
}

func (d *Driver) releasePeer(slot uint32) {
	key, last := d.hops.release(slot)
	if !last || key.port == gonePort {
		return
	}
	if w := d.watchers[d.ports.gtpu[key.port].index]; w != nil && !d.hops.anotherOn(d.ports, key) {
		w.Forget(key.addr)
	}
}

// anotherOn reports whether another endpoint on the same device has the peer.
func (t *hopTable) anotherOn(p *ports, key hopKey) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range p.gtpu {
		if _, ok := t.slot[hopKey{i, key.addr}]; ok && p.gtpu[i].index == p.gtpu[key.port].index {
			return true
		}
	}
	return false
}

// maxNeighbours is how many neighbours on N6 have a hop of their own; the rest
// goes through the slow path. Whoever answers to many addresses must not take
// the slots that GTP-U peers need.
const maxNeighbours = 1024

// watchN6 keeps the neighbours on N6 in hop_by_ip.
func (d *Driver) watchN6() (*nexthop.Watcher, error) {
	neighbours := map[netip.Addr]bool{}
	w, err := nexthop.Watch(d.ports.n6.index, d.log, func(a netip.Addr, mac nexthop.MAC) {
		key := hopKey{onN6, a}
		switch known := mac != (nexthop.MAC{}); {
		case known && !neighbours[a]:
			if len(neighbours) < maxNeighbours && d.addNeighbour(key) {
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

func (d *Driver) addNeighbour(key hopKey) bool {
	slot, _, err := d.hops.acquire(key, &d.ports.n6)
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
	d.hops.mu.Lock()
	slot := d.hops.slot[key]
	d.hops.mu.Unlock()
	d.hops.release(slot)
}

// routeN6 sets where user packets go that leave on N6.
func (d *Driver) routeN6(w *nexthop.Watcher) error {
	link, err := netlink.LinkByIndex(d.ports.n6.index)
	if err != nil {
		return fmt.Errorf("xdp: N6: %w", err)
	}
	var r upfN6Route
	onlink(link, &r)
	if r.GatewayIp4, err = d.gateway(w, link, d.cfg.Gateway4, unix.AF_INET); err != nil {
		return err
	}
	if r.GatewayIp6, err = d.gateway(w, link, d.cfg.Gateway6, unix.AF_INET6); err != nil {
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
func (d *Driver) gateway(w *nexthop.Watcher, link netlink.Link, addr netip.Addr, family int) (uint32, error) {
	if !addr.IsValid() {
		addr = defaultGateway(link, family)
	}
	if !addr.IsValid() {
		return 0, nil
	}
	slot, _, err := d.hops.acquire(hopKey{onN6, addr}, &d.ports.n6)
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
