package afxdp

import (
	"net/netip"
	"slices"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/nexthop"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// links is what the engine knows of the devices.
type links struct{ *Driver }

// MTU implements [stages.Links].
func (l links) MTU(r *stages.Rule, to netip.Addr) int {
	if r.Outer == nil {
		return l.ways[r.Way].mtuTo(to)
	}
	if h := l.peers.find(nexthop.Peer{Local: r.Outer.Local, Addr: r.Outer.Peer}); h != nil {
		if mtu := h.mtu(); mtu != 0 {
			return mtu
		}
	}
	for _, dev := range l.devices {
		if slices.Contains(dev.locals, r.Outer.Local) {
			return int(dev.mtu.Load())
		}
	}
	return int(l.devices[0].mtu.Load())
}

// Router implements [stages.Links]: the first global address of N6.
func (l links) Router(v6 bool) netip.Addr { return l.host.Router(v6) }

// Least implements [vector.Links].
func (l links) Least() int { return int(l.least.Load()) }

// MTUs implements [vector.Links].
func (l links) MTUs(network int) (n6, tunnel int) {
	n6 = int(l.networks[network].dev.mtu.Load())
	for _, d := range l.devices {
		if mtu := int(d.mtu.Load()); len(d.locals) > 0 && (tunnel == 0 || mtu < tunnel) {
			tunnel = mtu
		}
	}
	return n6, tunnel
}

// setLeast notes the smallest MTU of all devices, routes and peers.
func (d *Driver) setLeast() {
	least := int(d.devices[0].mtu.Load())
	for _, dev := range d.devices {
		least = min(least, int(dev.mtu.Load()))
	}
	for _, n := range d.networks {
		least = min(least, n.leastMTU())
	}
	for _, t := range d.peers.hops {
		for _, h := range t.list() {
			if mtu := h.mtu(); mtu != 0 {
				least = min(least, mtu)
			}
		}
	}
	d.least.Store(int32(least))
}

// networkOf returns the data network of a device, or nil.
func (d *Driver) networkOf(dev *device) *network {
	if dev.network == 0 {
		return nil
	}
	return d.networks[dev.network-1]
}

// Drops implements [datapath.Driver].
func (d *Driver) Drops() (map[string]uint64, error) {
	all, err := d.Engine.Drops()
	if err != nil {
		return nil, err
	}
	d.using.RLock()
	defer d.using.RUnlock()
	lost := d.lost.Load()
	if m := d.machine.Load(); m != nil {
		lost += m.lost()
	}
	all[datapath.DropRxFull.String()] += lost
	return all, nil
}

// Passes returns how many packets were left to the kernel, or wait, by reason.
func (d *Driver) Passes() (map[string]uint64, error) {
	all, err := d.Engine.Passes()
	if err != nil {
		return nil, err
	}
	passed, err := d.tables.passed()
	for r, n := range passed {
		all[r.String()] += n
	}
	return all, err
}

// lost returns how many packets found no room on their way to a worker.
func (m *machine) lost() uint64 {
	sum := uint64(0)
	for _, w := range m.workers {
		for _, s := range w.sockets {
			if n, err := s.Lost(); err == nil {
				sum += n
			}
		}
	}
	return sum
}

// MemoryOctets returns what the frames of all workers take.
func (d *Driver) MemoryOctets() uint64 {
	d.using.RLock()
	defer d.using.RUnlock()
	m := d.machine.Load()
	if m == nil {
		return 0
	}
	sum := uint64(0)
	for _, w := range m.workers {
		sum += uint64(len(w.umem.Memory))
	}
	return sum
}

// Peers lists the next hops.
func (d *Driver) Peers() []datapath.Peer {
	var all []datapath.Peer
	for local, table := range d.peers.hops {
		for _, h := range table.list() {
			p := datapath.Peer{
				Interface: d.endpointOf(local), Address: h.addr, MTU: uint32(h.mtu()),
				Sessions: d.peers.count(nexthop.Peer{Local: local, Addr: h.addr}),
			}
			if exit := h.exit.Load(); exit != nil {
				p.Device, p.MAC = exit.name, macText(exit.mac)
			}
			all = append(all, p)
		}
	}
	for _, n := range d.networks {
		name := "N6"
		if len(d.networks) > 1 {
			name = n.cfg.Name
		}
		for _, h := range n.hops() {
			all = append(all, datapath.Peer{Interface: name, Address: h.addr, Device: n.dev.name, MAC: macText(h.mac.Load()), MTU: uint32(n.dev.mtu.Load())})
		}
	}
	return all
}

// endpointOf returns the name of the endpoint with an address.
func (d *Driver) endpointOf(local netip.Addr) string {
	for i := range d.cfg.Endpoints {
		if e := &d.cfg.Endpoints[i]; e.Address == local || e.Address6 == local {
			return e.Name
		}
	}
	return ""
}

// ZeroCopy reports whether the drivers put frames into the workers' memory themselves.
func (d *Driver) ZeroCopy() bool {
	d.using.RLock()
	defer d.using.RUnlock()
	m := d.machine.Load()
	return m != nil && m.zero()
}
