package xdp

import (
	"net/netip"
	"slices"
	"sync/atomic"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/nexthop"
)

// watchHops starts to follow devices, neighbours and routes.
func (d *Driver) watchHops() error {
	var devices []int
	for _, dev := range d.ports.devices() {
		if err := d.watchDevice(dev.index); err != nil {
			return err
		}
	}
	for _, p := range d.outlets() {
		devices = append(devices, p.index)
	}
	w, err := nexthop.WatchPeers(devices, d.log, d.lead)
	if err != nil {
		return err
	}
	d.detach = append(d.detach, func() error { w.Close(); return nil })
	d.mu.Lock()
	d.peers = w
	d.mu.Unlock()
	for key := range d.hops.peers() { // adopted ones
		w.Want(d.ports.peer(key))
	}
	for _, n := range d.networks {
		if err := n.watch(); err != nil {
			return err
		}
	}
	return nil
}

// watchDevice follows the address and the MTU of a device of GTP-U.
func (d *Driver) watchDevice(index int) error {
	t, err := nexthop.WatchDevice(index, d.log, func(t nexthop.Table) {
		if t.MTU != 0 {
			d.hops.setDevice(d.ports.gtpu, index, t.MAC, t.MTU)
			d.routes.mu.Lock()
			for _, n := range d.networks {
				n.clamp()
			}
			d.routes.mu.Unlock()
		}
	})
	if err == nil {
		d.detach = append(d.detach, func() error { t.Close(); return nil })
	}
	return err
}

// outlets returns the ports on whose devices tunnels may leave. An Ethernet data
// network's is none: what the kernel asks there for a neighbour is not answered to it.
func (d *Driver) outlets() []port { return slices.Concat(d.ports.gtpu, d.routed()) }

// outlet returns the tag of packets of an endpoint, by its index, that leave by a device.
// ok: the programs may send there. Which of several tags it is the kernel's program
// says, by where a packet goes.
func (d *Driver) outlet(endpoint, device int) (vid uint16, ok bool) {
	if p := &d.ports.gtpu[endpoint]; p.index == device {
		return p.VLAN, true
	}
	for _, p := range d.outlets() {
		if p.index != device {
			continue
		}
		if ok && p.VLAN != vid {
			return 0, false
		}
		vid, ok = p.VLAN, true
	}
	return vid, ok
}

// peer is what the hop of a GTP-U peer is followed by.
func (p *ports) peer(key hopKey) nexthop.Peer {
	return nexthop.Peer{Local: p.localOf(key), Addr: key.addr}
}

// lead lets packets to GTP-U peers go the ways that the kernel's routes say. By those
// that no port has, the slow path sends them.
func (d *Driver) lead(ways map[nexthop.Peer]nexthop.Way) {
	hops := map[hopKey]lane{}
	for peer, way := range ways {
		for i := range d.ports.gtpu {
			key := hopKey{i, peer.Addr}
			if d.ports.peer(key) != peer {
				continue
			}
			h := lane{upfHop{Src: macWord(way.Source), Ifindex: uint32(way.Device), Mtu: uint32(way.MTU)}, way.Name}
			var ok bool
			if h.Vlan, ok = d.outlet(i, way.Device); ok {
				h.Dst = macWord(way.MAC)
			}
			hops[key] = h
		}
	}
	d.hops.lead(hops)
	d.waiting.Tell(ways)
}

// unanswered counts packets that the slow path has sent and the kernel has not.
func (d *Driver) unanswered(packets uint64) { d.slow.counts[datapath.DropNextHop].Add(packets) }

// lane is what a hop's way changes of it.
type lane struct {
	upfHop
	device string
}

// lead sets the ways of hops. A packet that has seen one is not to leave by half of
// another, so a way that was taken is closed first, until no packet is on it.
func (t *hopTable) lead(ways map[hopKey]lane) {
	if t.closeOld(ways) {
		waitForPackets()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, way := range ways {
		slot, ok := t.slot[key]
		if !ok {
			continue
		}
		h := &t.slots[slot]
		t.uses[slot].device = way.device
		atomic.StoreUint64(&h.Src, way.Src)
		if way.Mtu != 0 { // 0 is that of a hop that was never used
			atomic.StoreUint32(&h.Mtu, way.Mtu)
		}
		if h.Ifindex != way.Ifindex || h.Vlan != way.Vlan {
			h.Ifindex, h.Vlan = way.Ifindex, way.Vlan
		}
		atomic.StoreUint64(&h.Dst, way.Dst)
	}
}

// closeOld takes the MAC address from hops that are to leave by another device, and
// reports whether there were any.
func (t *hopTable) closeOld(ways map[hopKey]lane) (some bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, way := range ways {
		slot, ok := t.slot[key]
		if h := &t.slots[slot]; ok && (h.Ifindex != way.Ifindex || h.Vlan != way.Vlan) {
			some = atomic.SwapUint64(&h.Dst, 0) != 0 || some
		}
	}
	return some
}

// mtu returns how many octets an outer packet to a peer may have; 0: that is not known.
func (t *hopTable) mtu(key hopKey) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return int(t.slots[t.slot[key]].Mtu)
}

// deviceOf names the device by which packets to a peer leave, if it is one.
func (t *hopTable) deviceOf(key hopKey) (name string, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	slot, known := t.slot[key]
	if !known {
		return "", false
	}
	return t.uses[slot].device, true
}

// acquirePeer returns the hop of a GTP-U peer that is sent to from the endpoint
// with index i. The caller holds d.mu.
func (d *Driver) acquirePeer(i int, addr netip.Addr) (uint32, error) {
	key := hopKey{i, addr}
	slot, fresh, err := d.hops.acquire(key, &d.ports.gtpu[i])
	if err == nil && fresh && d.peers != nil && !d.hops.isOwn(key) {
		d.peers.Want(d.ports.peer(key))
	}
	return slot, err
}

func (d *Driver) releasePeer(slot uint32) {
	key, last := d.hops.release(slot)
	if last && key.port >= 0 && d.peers != nil {
		d.peers.Forget(d.ports.peer(key))
		d.waiting.Forget(d.ports.peer(key))
	}
}
