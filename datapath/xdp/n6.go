package xdp

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"sync/atomic"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/nexthop"
)

// network is a data network at run time: it writes the ways that lead there as
// the kernel's routes and neighbours change. What it changes is guarded by
// routeTable.mu.
type network struct {
	d          *Driver
	index      int // in Config.N6.Networks
	cfg        *datapath.DataNetwork
	neighbours *nexthop.Watcher
	slots      map[netip.Addr]uint32 // hops of neighbours
	table      nexthop.Table         // as last read
	wanted     map[netip.Addr]bool   // gateways that are kept resolved
}

// openNetworks makes the tables of N6. Nothing is known yet: all packets go
// through the slow path.
func (d *Driver) openNetworks() error {
	var err error
	if d.ways, err = mapMemory[upfN6Way](d.objs.N6Ways); err != nil {
		return err
	}
	if d.numbers, err = openNumbers(d.objs.N6Names, &d.cfg.N6); err != nil {
		return err
	}
	if d.routes, err = newRouteTable(d.objs.GroupByPrefix, d.objs.RouteGroups, d.hops); err != nil {
		return err
	}
	for i := range d.cfg.N6.Networks {
		n := &network{
			d: d, index: i, cfg: &d.cfg.N6.Networks[i], slots: map[netip.Addr]uint32{}, wanted: map[netip.Addr]bool{},
		}
		d.networks = append(d.networks, n)
		for _, way := range n.ways() {
			n.open(way)
		}
		n.clamp()
		n.setMTU()
	}
	if err := d.openNATs(); err != nil {
		return err
	}
	arrivals := uint32(0)
	for i := range d.ways.slots {
		arrivals |= d.ways.slots[i].Flags & (n6NAT | n6MSS)
	}
	if err := d.objs.N6Arrivals.Set(arrivals); err != nil {
		return fmt.Errorf("xdp: set what arrivals on N6 need: %w", err)
	}
	return nil
}

// number returns that of n in the tables.
func (n *network) number() uint32 { return n.d.numbers.number[n.index+1] }

// numbered returns which data network, from 1 on, has the number in the programs; 0:
// none any more.
func (d *Driver) numbered(number uint32) int {
	for i, n := range d.networks {
		if n.number() == number {
			return i + 1
		}
	}
	return 0
}

// ways returns the ways that lead to n.
func (n *network) ways() []int {
	var all []int
	for way := range n.d.cfg.N6.Ways() {
		if n.d.cfg.N6.Of(way) == n.index {
			all = append(all, way)
		}
	}
	return all
}

// open sets what of a way does not change.
func (n *network) open(way int) {
	w := n.d.way(way)
	w.Network, w.Table, w.Ifindex = n.number(), n.tableOf(way), uint32(n.d.ports.n6[n.index].index)
	w.OnlinkIp4, w.OnlinkIp6 = 1, 1 // behind a mask of 0: nothing is on-link
	if n.cfg.NAT != nil {
		w.Flags |= n6NAT
	}
	if p := n.d.cfg.N6.Policy(way); p != nil && p.DSCP >= 0 {
		w.Dscp = uint8(p.DSCP)
		w.Flags |= n6DSCP
	}
}

// setMTU tells the programs how long frames may be: an Ethernet data network has
// no hops that say so.
func (n *network) setMTU() {
	if !n.cfg.Ethernet {
		return
	}
	n.d.hops.mu.Lock()
	mtu := n.d.ports.n6[n.index].mtu
	n.d.hops.mu.Unlock()
	for _, way := range n.ways() {
		n.d.way(way).Mtu = uint16(min(mtu, 1<<16-1))
	}
}

// tableOf returns the number of the table in which the routes of a way are: that
// of the data network, but for a policy with gateways of its own.
func (n *network) tableOf(way int) uint32 {
	if p := n.d.cfg.N6.Policy(way); p != nil && len(p.Gateways) > 0 {
		return uint32(way)
	}
	return uint32(n.index + 1)
}

// mtu returns how many octets an IP packet may have that leaves by a way for an
// address.
func (d *Driver) mtu(way int, to netip.Addr) int {
	n := d.networks[d.cfg.N6.Of(way)]
	d.routes.mu.Lock()
	defer d.routes.mu.Unlock()
	d.hops.mu.Lock()
	mtu := d.ports.n6[n.index].mtu
	d.hops.mu.Unlock()
	if n.cfg.Ethernet {
		return mtu
	}
	if m := d.routes.mtu(n.tableOf(way), to); m != 0 {
		return min(m, mtu)
	}
	return mtu
}

// nextHop returns the neighbour to which the slow path sends a packet that leaves
// by a way: that of the programs for this flow.
func (d *Driver) nextHop(way int, to netip.Addr, flow uint32) netip.Addr {
	d.routes.mu.Lock()
	defer d.routes.mu.Unlock()
	return d.routes.via(d.networks[d.cfg.N6.Of(way)].tableOf(way), to, flow)
}

// networkOn returns the number, from 1 on, of the data network whose packets come
// on the device with this index; 0: none.
func (d *Driver) networkOn(device int) int {
	for i := range d.networks {
		if d.way(i+1).Ifindex == uint32(device) {
			return i + 1
		}
	}
	return 0
}

// watch starts to follow what is about n in the kernel.
func (n *network) watch() error {
	index := n.d.ports.n6[n.index].index
	w, err := nexthop.Watch(index, n.d.log, n.neighbour)
	if err != nil {
		return err
	}
	n.neighbours = w
	n.d.detach = append(n.d.detach, func() error { w.Close(); return nil })
	t, err := nexthop.WatchTable(index, n.d.log, n.changed)
	if err != nil {
		return err
	}
	n.d.detach = append(n.d.detach, func() error { t.Close(); return nil })
	return nil
}

// maxNeighbours is how many neighbours on N6 have a hop of their own; the rest
// goes through the slow path. Whoever answers to many addresses must not take
// the slots that GTP-U peers need.
const maxNeighbours = 1024

// neighbour sets the MAC address of a neighbour, the zero value for none.
func (n *network) neighbour(addr netip.Addr, mac nexthop.MAC) {
	d, key := n.d, n6Key(n.index, addr)
	d.routes.mu.Lock()
	defer d.routes.mu.Unlock()
	slot, has := n.slots[addr]
	switch known := mac != (nexthop.MAC{}); {
	case known && !has && d.routes.neighbours < maxNeighbours:
		n.addNeighbour(key)
	case !known && has:
		n.removeNeighbour(key, slot)
	}
	d.hops.resolve(key, mac)
	d.routes.resolved(key)
}

// neighbourKey is struct neighbour_key.
func (n *network) neighbourKey(addr netip.Addr) (k [20]byte) {
	a := addr.As16()
	copy(k[:], a[:])
	binary.NativeEndian.PutUint32(k[16:], n.number())
	return k
}

func (n *network) addNeighbour(key hopKey) {
	slot, _, err := n.d.hops.acquire(key, &n.d.ports.n6[n.index])
	if err == nil {
		if err = n.d.hops.byIP.Put(n.neighbourKey(key.addr), slot); err != nil {
			n.d.hops.release(slot)
		}
	}
	if err != nil {
		n.d.log.Warn("neighbour on N6 goes through the slow path", "network", n.cfg.Name, "address", key.addr, "err", err)
		return
	}
	n.slots[key.addr] = slot
	n.d.routes.neighbours++
}

func (n *network) removeNeighbour(key hopKey, slot uint32) {
	if err := n.d.hops.byIP.Delete(n.neighbourKey(key.addr)); err != nil {
		n.d.log.Warn("neighbour on N6 stays", "network", n.cfg.Name, "address", key.addr, "err", err)
		return
	}
	delete(n.slots, key.addr)
	n.d.routes.neighbours--
	n.d.hops.release(slot)
}

// changed takes the kernel's routes, and what it says of the device.
func (n *network) changed(t nexthop.Table) {
	d := n.d
	if t.MTU != 0 {
		d.hops.setDevice(d.ports.n6, d.ports.n6[n.index].index, t.MAC, t.MTU)
	}
	n.setMTU()
	d.routes.mu.Lock()
	renew := t.Up && !n.table.Up && n.table.MTU != 0
	n.table = t
	before := n.wanted
	n.wanted = map[netip.Addr]bool{}
	for _, way := range n.ways() {
		n.route(way)
	}
	n.clamp()
	wanted := n.wanted
	d.routes.mu.Unlock()
	// The watcher calls back, so it is not called under the lock.
	for a := range wanted {
		if !before[a] {
			n.neighbours.Want(a)
		}
	}
	for a := range before {
		if !wanted[a] {
			n.neighbours.Forget(a)
		}
	}
	if renew {
		n.neighbours.Renew()
	}
}

// route sets where packets of a way go.
func (n *network) route(way int) {
	routes := n.routesOf(way)
	for _, r := range routes {
		for _, g := range r.Gateways {
			n.wanted[g.Addr] = true
		}
	}
	w := n.d.way(way)
	table := n.tableOf(way)
	var err error
	if n.owns(way) {
		err = n.d.routes.set(table, n.index, &n.d.ports.n6[n.index], routes)
	} else if n.d.routes.broken[table] {
		err = datapath.ErrFull
	}
	flags := atomic.LoadUint32(&w.Flags)
	// The trie, which has all routes, decides while the rest is changed.
	atomic.StoreUint32(&w.Flags, flags|n6Routes4|n6Routes6)
	if err != nil {
		n.d.log.Error("all packets of the data network go through the slow path", "network", n.cfg.Name, "err", err)
		atomic.StoreUint32(&w.Table, noTable)
		return
	}
	atomic.StoreUint32(&w.Table, table)
	flags &^= n6Routes4 | n6Routes6
	if !n.simple4(w, routes) {
		flags |= n6Routes4
	}
	if !n.simple6(w, routes) {
		flags |= n6Routes6
	}
	atomic.StoreUint32(&w.Flags, flags)
}

// noTable is a table in which no route is.
const noTable = 1 << 31

// owns reports whether the way is the one that writes its table: others that
// have the same one come behind it.
func (n *network) owns(way int) bool {
	for _, w := range n.ways() {
		if n.tableOf(w) == n.tableOf(way) {
			return w == way
		}
	}
	return false
}

// routesOf returns the routes of a way: the kernel's, with the configured gateways
// in place of its default routes; or those of a policy.
func (n *network) routesOf(way int) []nexthop.Route {
	if p := n.d.cfg.N6.Policy(way); p != nil && len(p.Gateways) > 0 {
		return nexthop.Defaults(p.Gateways)
	}
	return nexthop.Instead(n.cfg.Gateways, n.table.Routes)
}

// String is what logs say.
func (n *network) String() string { return fmt.Sprintf("%s on %s", n.cfg.Name, n.cfg.Device) }
