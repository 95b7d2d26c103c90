package xdp

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/cilium/ebpf"

	"plumbline/datapath"
	"plumbline/datapath/nexthop"
)

// hopTable hands out the slots of the map hops. Slot 0 stands for none and is
// never resolved.
type hopTable struct {
	mapped[upfHop]
	byIP *ebpf.Map

	mu    sync.Mutex
	hops  map[hopKey]*hop
	freed []uint32
	next  uint32
}

// hopKey is a peer on N3, or a neighbour on N6.
type hopKey struct {
	n6   bool
	addr netip.Addr
}

type hop struct {
	slot uint32
	refs int
}

func newHopTable(m, byIP *ebpf.Map) (*hopTable, error) {
	mem, err := mapMemory[upfHop](m)
	return &hopTable{mapped: mem, byIP: byIP, hops: map[hopKey]*hop{}, next: 1}, err
}

// acquire returns the slot of key and whether it is new. A new slot is not
// resolved; a freed one is the last to be used again.
func (t *hopTable) acquire(key hopKey, mtu int) (slot uint32, fresh bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if h := t.hops[key]; h != nil {
		h.refs++
		return h.slot, false, nil
	}
	switch {
	case int(t.next) < len(t.slots):
		slot = t.next
		t.next++
	case len(t.freed) > 0:
		slot, t.freed = t.freed[0], t.freed[1:]
	default:
		return 0, false, fmt.Errorf("xdp: all %d next hops are taken: %w", len(t.slots)-1, datapath.ErrFull)
	}
	h := &t.slots[slot]
	atomic.StoreUint64(&h.Dst, 0)
	if key.addr.Is4() {
		a := key.addr.As4()
		atomic.StoreUint32(&h.Ip4, binary.NativeEndian.Uint32(a[:]))
	}
	atomic.StoreUint32(&h.Mtu, uint32(mtu))
	t.hops[key] = &hop{slot, 1}
	return slot, true, nil
}

// release gives back one reference and reports whether it was the last.
func (t *hopTable) release(key hopKey) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.hops[key]
	if h == nil {
		return false
	}
	if h.refs--; h.refs > 0 {
		return false
	}
	atomic.StoreUint64(&t.slots[h.slot].Dst, 0)
	t.freed = append(t.freed, h.slot)
	delete(t.hops, key)
	return true
}

// resolve sets the MAC address of key, the zero value for none.
func (t *hopTable) resolve(key hopKey, mac nexthop.MAC) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if h := t.hops[key]; h != nil {
		var word [8]byte
		copy(word[:], mac[:])
		atomic.StoreUint64(&t.slots[h.slot].Dst, binary.NativeEndian.Uint64(word[:]))
	}
}

// Peer is a next hop as people see it.
type Peer struct {
	Interface string // N3 or N6
	Address   netip.Addr
	MAC       string // "" while it is not resolved
	MTU       uint32 // octets of IP packet
	Sessions  int    // rules and routes that use it
}

func (t *hopTable) list() []Peer {
	t.mu.Lock()
	defer t.mu.Unlock()
	peers := make([]Peer, 0, len(t.hops))
	for key, h := range t.hops {
		p := Peer{Interface: "N3", Address: key.addr, MTU: t.slots[h.slot].Mtu, Sessions: h.refs}
		if key.n6 {
			p.Interface = "N6"
		}
		var word [8]byte
		binary.NativeEndian.PutUint64(word[:], atomic.LoadUint64(&t.slots[h.slot].Dst))
		if word != ([8]byte{}) {
			p.MAC = fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", word[0], word[1], word[2], word[3], word[4], word[5])
		}
		peers = append(peers, p)
	}
	return peers
}
