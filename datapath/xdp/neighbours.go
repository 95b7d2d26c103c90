package xdp

import (
	"net/netip"

	"plumbline/datapath/nexthop"
)

// watchHops starts to follow devices, neighbours and routes.
func (d *Driver) watchHops() error {
	watchers := map[int]*nexthop.Watcher{}
	for _, dev := range d.ports.devices() {
		w, err := nexthop.Watch(dev.index, d.log, func(a netip.Addr, mac nexthop.MAC) { d.resolvePeer(dev.index, a, mac) })
		if err != nil {
			return err
		}
		d.detach = append(d.detach, func() error { w.Close(); return nil })
		watchers[dev.index] = w
		if err := d.watchDevice(dev.index, w); err != nil {
			return err
		}
	}
	d.mu.Lock()
	d.watchers = watchers
	d.mu.Unlock()
	for key := range d.hops.peers() { // adopted ones
		watchers[d.ports.gtpu[key.port].index].Want(key.addr)
	}
	for _, n := range d.networks {
		if err := n.watch(); err != nil {
			return err
		}
	}
	return nil
}

// watchDevice follows the address and the MTU of a device of GTP-U.
func (d *Driver) watchDevice(index int, w *nexthop.Watcher) error {
	up := true
	t, err := nexthop.WatchDevice(index, d.log, func(t nexthop.Table) {
		if t.MTU != 0 {
			d.hops.setDevice(d.ports.gtpu, index, t.MAC, t.MTU)
			d.routes.mu.Lock()
			for _, n := range d.networks {
				n.clamp()
			}
			d.routes.mu.Unlock()
		}
		if t.Up && !up {
			w.Renew()
		}
		up = t.Up
	})
	if err == nil {
		d.detach = append(d.detach, func() error { t.Close(); return nil })
	}
	return err
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
	if !last || key.port < 0 {
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
