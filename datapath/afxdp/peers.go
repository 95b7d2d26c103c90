package afxdp

import (
	"net/netip"
	"slices"
	"sync"

	"plumbline/api"
	"plumbline/datapath"
	"plumbline/datapath/nexthop"
)

// peerTable keeps the GTP-U peers of all sessions resolved: those, and no others, so
// that nothing that a stranger sends makes it grow.
type peerTable struct {
	endpoints []datapath.Endpoint
	local     map[netip.Addr]*device // by address of an endpoint

	mu       sync.Mutex
	hops     map[*device]*hopTable
	uses     map[peer]int                 // by how many sessions
	watchers map[*device]*nexthop.Watcher // nil while nobody watches
}

// peer is one that is reached through a device.
type peer struct {
	dev  *device
	addr netip.Addr
}

func newPeerTable(endpoints []datapath.Endpoint, devices []*device) *peerTable {
	t := &peerTable{
		endpoints: endpoints, local: map[netip.Addr]*device{}, hops: map[*device]*hopTable{}, uses: map[peer]int{},
	}
	for _, d := range devices {
		if len(d.locals) == 0 {
			continue
		}
		t.hops[d] = &hopTable{}
		for _, a := range d.locals {
			t.local[a] = d
		}
	}
	return t
}

// of returns the peers to which a session sends, each once.
func (t *peerTable) of(s *api.Session) []peer {
	var all []peer
	add := func(instance string, to api.Interface, o *api.OuterHeaderCreation) {
		for _, addr := range addressesOf(o) {
			p := peer{t.local[datapath.Local(t.endpoints, instance, to, addr)], addr}
			if p.dev != nil && !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	for _, r := range s.GetRules() {
		f := r.GetForward()
		add(f.GetNetworkInstance(), f.GetDestinationInterface(), f.GetOuterHeaderCreation())
		for _, d := range f.GetDuplicates() {
			add(d.GetNetworkInstance(), d.GetDestinationInterface(), d.GetOuterHeaderCreation())
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
func (t *peerTable) use(peers []peer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range peers {
		if t.uses[p]++; t.uses[p] > 1 {
			continue
		}
		t.hops[p.dev].add(p.addr)
		if w := t.watchers[p.dev]; w != nil {
			w.Want(p.addr)
		}
	}
}

// release counts one less.
func (t *peerTable) release(peers []peer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range peers {
		if t.uses[p]--; t.uses[p] > 0 {
			continue
		}
		delete(t.uses, p)
		t.hops[p.dev].remove(p.addr)
		if w := t.watchers[p.dev]; w != nil {
			w.Forget(p.addr)
		}
	}
}

// watch lets the watchers keep the peers resolved; nil: nobody does any more.
func (t *peerTable) watch(watchers map[*device]*nexthop.Watcher) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.watchers = watchers
	for p := range t.uses {
		if h := t.hops[p.dev].find(p.addr); h != nil && watchers == nil {
			h.mac.Store(0) // nobody would tell of another one
		}
		if w := watchers[p.dev]; w != nil {
			w.Want(p.addr)
		}
	}
}

// resolve is told the MAC address of a neighbour on a device. It does not lock: a
// watcher calls it while it is asked for a peer.
func (t *peerTable) resolve(d *device, addr netip.Addr, mac nexthop.MAC) {
	if h := t.hops[d]; h != nil {
		if found := h.find(addr); found != nil {
			found.resolve(mac)
		}
	}
}

// count returns by how many sessions a peer is used.
func (t *peerTable) count(p peer) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.uses[p]
}
