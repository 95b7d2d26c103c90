package xdp

import (
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/cilium/ebpf"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/nexthop"
)

// routeTable keeps the routes on N6 in the trie group_by_prefix, and their next
// hops in route_groups.
type routeTable struct {
	mapped[upfRouteGroup]
	trie *ebpf.Map
	hops *hopTable

	mu         sync.Mutex // of what follows, and of all that a network changes
	neighbours int        // that have a hop of their own
	values     map[uint32]map[netip.Prefix]uint32
	groups     map[string]*group
	bySlot     []*group // nil: free
	broken     map[uint32]bool
}

// routeOnlink is ROUTE_ONLINK.
const routeOnlink = ^uint32(0)

// group is next hops that routes share.
type group struct {
	name    string
	slot    uint32
	members []member
	refs    int
}

type member struct {
	nexthop.Gateway
	key hopKey
	hop uint32
}

func newRouteTable(trie, groups *ebpf.Map, hops *hopTable) (*routeTable, error) {
	mem, err := mapMemory[upfRouteGroup](groups)
	if err != nil {
		return nil, err
	}
	return &routeTable{
		mapped: mem, trie: trie, hops: hops, values: map[uint32]map[netip.Prefix]uint32{},
		groups: map[string]*group{}, bySlot: make([]*group, len(mem.slots)), broken: map[uint32]bool{},
	}, nil
}

// set makes a table hold these routes of a data network, whose device is that of
// port. New ones come before old ones go.
//
// Errors: [datapath.ErrFull] if they do not all fit; the table is not to be used
// then.
func (t *routeTable) set(table uint32, network int, port *port, routes []nexthop.Route) error {
	old := t.values[table]
	made := map[netip.Prefix]uint32{}
	var first error
	for _, r := range routes {
		value := routeOnlink
		var err error
		if len(r.Gateways) > 0 {
			value, err = t.acquire(network, port, r)
		}
		if err == nil {
			made[r.Prefix] = value
			if was, has := old[r.Prefix]; !has || was != value {
				err = t.trie.Put(routeKey(table, r.Prefix), value)
			}
		}
		if err != nil && first == nil {
			first = fmt.Errorf("route to %v: %w: %w", r.Prefix, err, datapath.ErrFull)
		}
	}
	for prefix, value := range old {
		if _, has := made[prefix]; !has {
			if err := t.trie.Delete(routeKey(table, prefix)); err != nil && first == nil {
				first = fmt.Errorf("route to %v stays: %w", prefix, err)
			}
		}
		t.release(value)
	}
	t.values[table] = made
	t.broken[table] = first != nil
	return first
}

// routeKey is struct route_key.
func routeKey(table uint32, p netip.Prefix) (k [24]byte) {
	bits := 32 + p.Bits()
	if p.Addr().Is4() {
		bits += 96
	}
	addr := p.Addr().As16()
	binary.NativeEndian.PutUint32(k[0:], uint32(bits))
	binary.NativeEndian.PutUint32(k[4:], table)
	copy(k[8:], addr[:])
	return k
}

// acquire returns the slot of the group of a route's next hops.
func (t *routeTable) acquire(network int, port *port, r nexthop.Route) (uint32, error) {
	name := fmt.Sprint(network, r.Gateways, r.MTU)
	if g := t.groups[name]; g != nil {
		g.refs++
		return g.slot, nil
	}
	slot := slices.Index(t.bySlot[1:], nil) + 1 // slot 0 is of no route
	if slot == 0 {
		return 0, fmt.Errorf("all %d sets of next hops are taken", len(t.bySlot)-1)
	}
	g := &group{name: name, slot: uint32(slot), refs: 1}
	for _, gw := range r.Gateways {
		key := n6Key(network, gw.Addr)
		hop, _, err := t.hops.acquire(key, port)
		if err != nil {
			t.drop(g)
			return 0, err
		}
		g.members = append(g.members, member{gw, key, hop})
	}
	t.groups[name], t.bySlot[slot] = g, g
	atomic.StoreUint32(&t.slots[slot].Mtu, uint32(min(r.MTU, math.MaxUint16)))
	t.fill(g)
	return g.slot, nil
}

func (t *routeTable) release(value uint32) {
	if value == routeOnlink {
		return
	}
	g := t.bySlot[value]
	if g.refs--; g.refs > 0 {
		return
	}
	delete(t.groups, g.name)
	t.bySlot[value] = nil
	for i := range t.slots[value].Hop {
		t.setBucket(value, i, 0)
	}
	t.drop(g)
}

// drop gives the hops of g back.
func (t *routeTable) drop(g *group) {
	for _, m := range g.members {
		t.hops.release(m.hop)
	}
}

// resolved is told that the MAC address of a hop came, changed or went.
func (t *routeTable) resolved(key hopKey) {
	for _, g := range t.groups {
		if slices.ContainsFunc(g.members, func(m member) bool { return m.key == key }) {
			t.fill(g)
		}
	}
}

// fill gives each bucket to that of the resolved hops which has the highest
// score there.
func (t *routeTable) fill(g *group) {
	for b := range t.slots[g.slot].Hop {
		best, hop := -1.0, uint32(0)
		for _, m := range g.members {
			if s := m.Score(b); t.hops.resolved(m.hop) && s > best {
				best, hop = s, m.hop
			}
		}
		t.setBucket(g.slot, b, uint16(hop))
	}
}

// setBucket writes one bucket with the one beside it, whole.
func (t *routeTable) setBucket(slot uint32, b int, hop uint16) {
	words := (*[len(upfRouteGroup{}.Hop) / 2]uint32)(unsafe.Pointer(&t.slots[slot].Hop))
	var pair [4]byte
	binary.NativeEndian.PutUint32(pair[:], words[b/2])
	binary.NativeEndian.PutUint16(pair[b%2*2:], hop)
	atomic.StoreUint32(&words[b/2], binary.NativeEndian.Uint32(pair[:]))
}

// mtu returns the MTU of the route to an address; 0: that of the device.
func (t *routeTable) mtu(table uint32, to netip.Addr) int {
	value, ok := t.find(table, to)
	if !ok || value == routeOnlink {
		return 0
	}
	return int(t.slots[value].Mtu)
}

// find returns what the trie has for an address: the longest prefix's.
func (t *routeTable) find(table uint32, to netip.Addr) (value uint32, ok bool) {
	values := t.values[table]
	for bits := to.BitLen(); bits >= 0; bits-- {
		p, err := to.Prefix(bits)
		if err != nil {
			return 0, false
		}
		if value, ok := values[p]; ok {
			return value, true
		}
	}
	return 0, false
}

// via returns the neighbour to which packets of a flow go, as the programs choose
// it; while none of a route is resolved, the first one, which is not known to
// fail. Without a route it is the destination.
func (t *routeTable) via(table uint32, to netip.Addr, flow uint32) netip.Addr {
	value, ok := t.find(table, to)
	if !ok || value == routeOnlink || t.broken[table] {
		return to
	}
	hop := uint32(t.slots[value].Hop[flow>>26%uint32(len(upfRouteGroup{}.Hop))])
	members := t.bySlot[value].members
	for _, m := range members {
		if m.hop == hop {
			return m.key.addr
		}
	}
	return members[0].key.addr
}

// gateway returns the hop of a gateway in one of the routes of a table; 0: none.
func (t *routeTable) gateway(network int, addr netip.Addr) uint32 {
	if !addr.IsValid() {
		return 0
	}
	t.hops.mu.Lock()
	defer t.hops.mu.Unlock()
	return t.hops.slot[n6Key(network, addr)]
}
