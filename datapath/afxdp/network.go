package afxdp

import (
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/nexthop"
)

// network is a data network at run time: where its packets go, as the kernel's
// routes and neighbours say.
type network struct {
	number     int // from 1 on
	cfg        *datapath.DataNetwork
	dev        *device
	neighbours hopTable
	ways       []*way // that lead here

	mu      sync.Mutex
	table   nexthop.Table // as last read
	gateway map[netip.Addr]*hop
}

// way is what a packet may leave by.
type way struct {
	*network
	gateways []netip.Addr // of a forwarding policy, in place of all routes
	routes   atomic.Pointer[routes]
}

// newNetworks returns the data networks, and the ways by their numbers.
func newNetworks(n6 *datapath.N6, devices []*device) ([]*network, []*way) {
	var all []*network
	for i := range n6.Networks {
		n := &network{number: i + 1, cfg: &n6.Networks[i], gateway: map[netip.Addr]*hop{}}
		for _, d := range devices {
			if d.network == n.number {
				n.dev = d
			}
		}
		all = append(all, n)
	}
	var ways []*way
	for number := range n6.Ways() {
		w := &way{network: all[n6.Of(number)]}
		if p := n6.Policy(number); p != nil {
			w.gateways = p.Gateways
		}
		w.routes.Store(&routes{})
		w.network.ways = append(w.network.ways, w)
		ways = append(ways, w)
	}
	return all, ways
}

// maxNeighbours limits the stored neighbours of a data network: packets to others go through the
// kernel. A host that answers to many addresses must not exhaust the memory.
const maxNeighbours = 1024

// begin forgets the gateways and neighbours of a watcher before: the next one tells of
// those that are there.
func (n *network) begin() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.gateway = map[netip.Addr]*hop{}
	for _, h := range n.neighbours.list() {
		n.neighbours.remove(h.addr)
	}
}

// neighbour handles a new, changed or lost MAC address of a neighbour.
func (n *network) neighbour(addr netip.Addr, mac nexthop.MAC) {
	n.mu.Lock()
	defer n.mu.Unlock()
	known := mac != (nexthop.MAC{})
	h := n.neighbours.find(addr)
	switch {
	case h == nil && known && n.neighbours.count() < maxNeighbours:
		h = n.neighbours.add(addr)
	case h != nil && !known:
		n.neighbours.remove(addr)
	}
	if h != nil {
		h.resolve(mac)
	}
	if g := n.gateway[addr]; g != nil {
		was := g.mac.Load() != 0
		g.resolve(mac)
		if was != known {
			n.route()
		}
	}
}

// changed takes the kernel's routes, and returns which gateways are to be kept
// resolved from now on, and which no more.
func (n *network) changed(t nexthop.Table) (want, forget []netip.Addr) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.table = t
	before := n.gateway
	n.gateway = map[netip.Addr]*hop{}
	for _, w := range n.ways {
		for _, r := range w.table() {
			for _, g := range r.Gateways {
				if n.gateway[g.Addr] == nil {
					n.gateway[g.Addr] = n.kept(before, g.Addr)
				}
			}
		}
	}
	n.route()
	for a := range n.gateway {
		if before[a] == nil {
			want = append(want, a)
		}
	}
	for a := range before {
		if n.gateway[a] == nil {
			forget = append(forget, a)
		}
	}
	return want, forget
}

// kept returns the hop of a gateway that there was before, or a new one.
func (n *network) kept(before map[netip.Addr]*hop, addr netip.Addr) *hop {
	if h := before[addr]; h != nil {
		return h
	}
	h := &hop{addr: addr}
	if known := n.neighbours.find(addr); known != nil {
		h.mac.Store(known.mac.Load())
	}
	return h
}

// route rebuilds the tables of all ways. n.mu is held.
func (n *network) route() {
	for _, w := range n.ways {
		w.routes.Store(newRoutes(w.table(), func(a netip.Addr) *hop { return n.gateway[a] }))
	}
}

// table returns the routes of a way: those of its policy, or the kernel's with the
// configured gateways.
func (w *way) table() []nexthop.Route {
	if len(w.gateways) > 0 {
		return nexthop.Defaults(w.gateways)
	}
	return nexthop.Instead(w.cfg.Gateways, w.network.table.Routes)
}

// next returns the neighbour to which a packet of a flow goes, and how long it may be,
// in octets. h is nil if the neighbour is not known: the packet goes to via by the
// kernel, which finds it.
func (w *way) next(to netip.Addr, flow uint32) (h *hop, via netip.Addr, mtu int) {
	r := w.routes.Load().find(to)
	mtu = int(w.dev.mtu.Load())
	switch {
	case r == nil:
		return nil, to, mtu
	case r.mtu != 0:
		mtu = min(mtu, r.mtu)
	}
	if r.onlink {
		return w.neighbours.find(to), to, mtu
	}
	h = r.hops[nexthop.Bucket(flow)]
	return h, h.addr, mtu
}

// mtuTo returns how many octets an IP packet to an address may have.
func (w *way) mtuTo(to netip.Addr) int {
	mtu := int(w.dev.mtu.Load())
	if w.cfg.Ethernet {
		return mtu
	}
	if r := w.routes.Load().find(to); r != nil && r.mtu != 0 {
		return min(mtu, r.mtu)
	}
	return mtu
}

// leastMTU returns the smallest MTU of the device and all routes.
func (n *network) leastMTU() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	least := int(n.dev.mtu.Load())
	for _, r := range n.table.Routes {
		if r.MTU != 0 {
			least = min(least, r.MTU)
		}
	}
	return least
}

// hops returns gateways and neighbours, each once.
func (n *network) hops() []*hop {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := n.neighbours.list()
	for a, h := range n.gateway {
		if n.neighbours.find(a) == nil {
			all = append(all, h)
		}
	}
	return all
}
