package afxdp

import (
	"net/netip"
	"slices"
	"sync"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/nexthop"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// peerTable keeps the GTP-U peers of all sessions resolved: those, and no others, so
// that nothing that a stranger sends makes it grow.
type peerTable struct {
	endpoints []datapath.Endpoint
	hops      map[netip.Addr]*hopTable // by address of an endpoint
	devices   map[int]*device          // by index; those on which tunnels may leave
	waiting   *nexthop.Waiting

	mu      sync.Mutex
	uses    map[nexthop.Peer]int // by how many sessions
	watcher *nexthop.PeerWatcher // nil: the peers are not followed
}

// newPeerTable returns one that tells of packets to peers that did not answer.
func newPeerTable(endpoints []datapath.Endpoint, devices []*device, lost func(packets uint64)) *peerTable {
	t := &peerTable{
		endpoints: endpoints, hops: map[netip.Addr]*hopTable{}, devices: map[int]*device{}, uses: map[nexthop.Peer]int{},
		waiting: nexthop.NewWaiting(lost),
	}
	for _, d := range devices {
		for _, a := range d.locals {
			t.hops[a] = &hopTable{}
		}
		if !d.ethernet { // of which the kernel hears nothing
			t.devices[d.index] = d
		}
	}
	return t
}

// of returns the peers to which a session sends, each once, without the UPF itself.
func (t *peerTable) of(s *api.Session) []nexthop.Peer {
	var all []nexthop.Peer
	add := func(to datapath.Direction, o *api.OuterHeaderCreation) {
		for _, addr := range addressesOf(o) {
			p := nexthop.Peer{Local: datapath.Local(t.endpoints, to, addr), Addr: addr}
			if t.hops[p.Local] != nil && !datapath.Has(t.endpoints, addr) && !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	for _, r := range s.GetRules() {
		f := r.GetForward()
		add(datapath.DirectionOf(f), f.GetOuterHeaderCreation())
		for _, d := range f.GetDuplicates() {
			add(datapath.Direction{NetworkInstance: d.GetNetworkInstance(), Interface: d.GetDestinationInterface()}, d.GetOuterHeaderCreation())
		}
	}
	return all
}

// addressesOf returns those of a peer: one, of either IP version.
func addressesOf(o *api.OuterHeaderCreation) []netip.Addr {
	var all []netip.Addr
	if a := o.GetIpv4(); a != 0 {
		all = append(all, netip.AddrFrom4([4]byte{byte(a >> 24), byte(a >> 16), byte(a >> 8), byte(a)}))
	}
	if a, ok := netip.AddrFromSlice(o.GetIpv6()); ok {
		all = append(all, a)
	}
	return all
}

// use counts one session more for each of these peers.
func (t *peerTable) use(peers []nexthop.Peer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range peers {
		if t.uses[p]++; t.uses[p] > 1 {
			continue
		}
		t.hops[p.Local].add(p.Addr)
		if t.watcher != nil {
			t.watcher.Want(p)
		}
	}
}

// release counts one less.
func (t *peerTable) release(peers []nexthop.Peer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range peers {
		if t.uses[p]--; t.uses[p] > 0 {
			continue
		}
		delete(t.uses, p)
		t.hops[p.Local].remove(p.Addr)
		if t.watcher != nil {
			t.watcher.Forget(p)
		}
		t.waiting.Forget(p)
	}
}

// watch lets a watcher follow the peers; nil: none does from then on.
func (t *peerTable) watch(w *nexthop.PeerWatcher) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.watcher = w
	for p := range t.uses {
		if w != nil {
			w.Want(p)
		} else if h := t.find(p); h != nil {
			h.exit.Store(nil) // it might change unnoticed
		}
	}
}

// mtu returns how many octets an outer packet to a peer may have; 0: that is not known.
func (h *hop) mtu() int {
	if e := h.exit.Load(); e != nil {
		return e.mtu
	}
	return 0
}

// deviceTo names the device by which packets to a peer leave; "": that is not known.
func (t *peerTable) deviceTo(o *stages.Outer) string {
	if h := t.find(nexthop.Peer{Local: o.Local, Addr: o.Peer}); h != nil {
		if e := h.exit.Load(); e != nil {
			return e.name
		}
	}
	return ""
}

// find returns the hop of a peer, or nil.
func (t *peerTable) find(p nexthop.Peer) *hop {
	if hops := t.hops[p.Local]; hops != nil {
		return hops.find(p.Addr)
	}
	return nil
}

// lead receives the paths to peers. It does not lock: a watcher calls it during a request for a peer.
func (t *peerTable) lead(ways map[nexthop.Peer]nexthop.Way) {
	for p, way := range ways {
		h := t.find(p)
		if h == nil {
			continue
		}
		e := &exit{mtu: way.MTU, name: way.Name}
		if dev := t.devices[way.Device]; dev != nil && way.MAC != (nexthop.MAC{}) {
			e.dev, e.mac = dev, macWord(way.MAC)
		}
		h.exit.Store(e)
	}
	t.waiting.Tell(ways)
}

// count returns by how many sessions a peer is used.
func (t *peerTable) count(p nexthop.Peer) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.uses[p]
}
