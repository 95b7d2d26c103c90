package xdp

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/cilium/ebpf"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/nexthop"
)

// hopTable hands out the slots of the map hops. Slot 0 stands for none and is
// never resolved.
type hopTable struct {
	mapped[upfHop]
	byIP *ebpf.Map           // neighbours on N6
	own  []datapath.Endpoint // at whose addresses no neighbour is

	mu    sync.Mutex
	slot  map[hopKey]uint32
	uses  []hopUse // by slot
	freed queue
	next  uint32
	limbo []uint32 // of N6, from before the start
}

// hopKey is a GTP-U peer that is reached from an endpoint, or a neighbour on N6.
type hopKey struct {
	port int // index in ports.gtpu, or onN6 less the index in ports.n6
	addr netip.Addr
}

// onN6 is the port of the first data network; those of the others are below it.
const onN6 = -2

func (k hopKey) isN6() bool { return k.port <= onN6 }

// network returns the index of the data network of a hop on N6.
func (k hopKey) network() int { return onN6 - k.port }

func n6Key(network int, addr netip.Addr) hopKey { return hopKey{onN6 - network, addr} }

type hopUse struct {
	key    hopKey
	refs   int
	device string // by which packets to a GTP-U peer leave
}

func newHopTable(m, byIP *ebpf.Map, own []datapath.Endpoint) (*hopTable, error) {
	mem, err := mapMemory[upfHop](m)
	return &hopTable{
		mapped: mem, byIP: byIP, own: own, slot: map[hopKey]uint32{}, uses: make([]hopUse, m.MaxEntries()), next: 1,
	}, err
}

// acquire returns the slot of key and whether it is new. A new slot is not
// resolved; a freed one is the last to be used again.
func (t *hopTable) acquire(key hopKey, p *port) (slot uint32, fresh bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if slot, ok := t.slot[key]; ok {
		t.uses[slot].refs++
		return slot, false, nil
	}
	if slot, err = t.reserve(); err != nil {
		return 0, false, err
	}
	want := p.hop(key, t.isOwn(key))
	h := &t.slots[slot]
	atomic.StoreUint64(&h.Dst, 0)
	*h = want // of which Dst is 0, but for the UPF itself
	t.slot[key] = slot
	t.uses[slot] = hopUse{key: key, refs: 1}
	return slot, true, nil
}

func (t *hopTable) reserve() (uint32, error) {
	if int(t.next) < len(t.slots) {
		t.next++
		return t.next - 1, nil
	}
	if slot, ok := t.freed.take(); ok {
		return slot, nil
	}
	return 0, fmt.Errorf("xdp: all %d next hops are taken: %w", len(t.slots)-1, datapath.ErrFull)
}

// hopOwn and ownMTU are the tag and the MTU of a hop that is the UPF itself: HOP_OWN in
// bpf/upf/rules.h, and what an IP packet may have.
const hopOwn, ownMTU = 0xffff, 0xffff

// hop is what the programs have to know of key, but for its MAC address. If it is the
// UPF itself it has that of the device: no neighbour is asked for.
func (p *port) hop(key hopKey, own bool) upfHop {
	h := upfHop{Src: binary.NativeEndian.Uint64(p.mac[:]), Ifindex: uint32(p.index), Mtu: uint32(p.mtu), Vlan: p.VLAN}
	if key.isN6() {
		return h
	}
	local := p.Address
	h.Outer = outerIPv4
	if key.addr.Is6() {
		local, h.Outer = p.Address6, outerIPv6
	}
	h.Ip, h.SrcIp = networkOrder(key.addr), networkOrder(local)
	if own {
		h.Dst, h.Vlan, h.Mtu = h.Src, hopOwn, ownMTU
	}
	return h
}

// outerIPv4 and outerIPv6 are the octets of IP, UDP and the fixed part of GTP-U:
// OUTER_IP4 and OUTER_IP6 in bpf/forward.h.
const outerIPv4, outerIPv6 = 20 + 8 + 8, 40 + 8 + 8

// networkOrder is an address such that its octets in memory are those on the
// wire, IPv4 as ::ffff:a.b.c.d, 0 if it is not valid.
func networkOrder(a netip.Addr) (words [4]uint32) {
	if !a.IsValid() {
		return words
	}
	b := a.As16()
	for i := range words {
		words[i] = binary.NativeEndian.Uint32(b[4*i:])
	}
	return words
}

// addrOf is the inverse of networkOrder.
func addrOf(words [4]uint32) netip.Addr {
	var b [16]byte
	for i, w := range words {
		binary.NativeEndian.PutUint32(b[4*i:], w)
	}
	return netip.AddrFrom16(b).Unmap()
}

// release gives back one reference and returns the key if it was the last.
func (t *hopTable) release(slot uint32) (gone hopKey, last bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	u := &t.uses[slot]
	if u.refs == 0 {
		return hopKey{}, false
	}
	if u.refs--; u.refs > 0 {
		return hopKey{}, false
	}
	gone = u.key
	atomic.StoreUint64(&t.slots[slot].Dst, 0)
	t.freed.put(slot)
	if t.slot[gone] == slot {
		delete(t.slot, gone)
	}
	*u = hopUse{}
	return gone, true
}

// resolve sets the MAC address of key, the zero value for none.
func (t *hopTable) resolve(key hopKey, mac nexthop.MAC) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if slot, ok := t.slot[key]; ok {
		atomic.StoreUint64(&t.slots[slot].Dst, macWord(mac))
	}
}

// macWord is a MAC address as the programs have it.
func macWord(mac nexthop.MAC) uint64 {
	var word [8]byte
	copy(word[:], mac[:])
	return binary.NativeEndian.Uint64(word[:])
}

// resolved reports whether the MAC address of a hop is known.
func (t *hopTable) resolved(slot uint32) bool { return atomic.LoadUint64(&t.slots[slot].Dst) != 0 }

// setDevice lets all packets to N6 on a device leave with another source address and
// MTU. The device's ports are among those given.
func (t *hopTable) setDevice(ports []port, index int, mac nexthop.MAC, mtu int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range ports {
		if p := &ports[i]; p.index == index {
			p.mtu = mtu
			copy(p.mac[:], mac[:])
		}
	}
	for slot := range t.slots {
		if h := &t.slots[slot]; h.Outer == 0 && h.Ifindex == uint32(index) {
			atomic.StoreUint64(&h.Src, macWord(mac))
			atomic.StoreUint32(&h.Mtu, uint32(mtu))
		}
	}
}

// keyOf returns what the slot is held for.
func (t *hopTable) keyOf(slot uint32) hopKey {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.uses[slot].key
}

func (t *hopTable) list(p *ports) []datapath.Peer {
	t.mu.Lock()
	defer t.mu.Unlock()
	peers := make([]datapath.Peer, 0, len(t.slot))
	for key, slot := range t.slot {
		if t.isOwn(key) { // not on a link
			continue
		}
		h := &t.slots[slot]
		peer := datapath.Peer{Interface: "N6", Address: key.addr, MTU: h.Mtu, Sessions: t.uses[slot].refs}
		if !key.isN6() {
			peer.Interface, peer.Device = p.gtpu[key.port].Name, t.uses[slot].device
		} else if peer.Device = p.n6[key.network()].name; len(p.n6) > 1 {
			peer.Interface = p.n6[key.network()].Name
		}
		var word [8]byte
		binary.NativeEndian.PutUint64(word[:], atomic.LoadUint64(&h.Dst))
		if word != ([8]byte{}) {
			peer.MAC = fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", word[0], word[1], word[2], word[3], word[4], word[5])
		}
		peers = append(peers, peer)
	}
	return peers
}

// isOwn reports whether a hop is the UPF itself, at an F-TEID of its own.
func (t *hopTable) isOwn(key hopKey) bool { return !key.isN6() && datapath.Has(t.own, key.addr) }

// peers returns the GTP-U peers in use: neighbours, or beyond one.
func (t *hopTable) peers() map[hopKey]bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := map[hopKey]bool{}
	for key := range t.slot {
		if !key.isN6() && !t.isOwn(key) {
			all[key] = true
		}
	}
	return all
}

// isPeer reports whether packets are sent to addr through a tunnel.
func (t *hopTable) isPeer(p *ports, addr netip.Addr) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range p.gtpu {
		if _, ok := t.slot[hopKey{i, addr}]; ok {
			return true
		}
	}
	return false
}
