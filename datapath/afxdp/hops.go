package afxdp

import (
	"encoding/binary"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/plumbline-upf/plumbline/datapath/nexthop"
)

// hop is a neighbour on a device, or a GTP-U peer.
type hop struct {
	addr netip.Addr
	mac  atomic.Uint64 // as macWord; 0: not resolved

	exit atomic.Pointer[exit] // of a peer; nil: not known
}

// exit is how packets to a peer leave.
type exit struct {
	dev  *device // nil: the kernel sends there
	mac  uint64  // as macWord
	mtu  int     // octets of IP packet; 0: there is no route
	name string  // of the device, which may be any
}

// hopTable finds hops of a device, or of an endpoint, by address. It is read for each packet, without a
// lock, and is rebuilt when hops change.
type hopTable struct {
	mu    sync.Mutex
	all   map[netip.Addr]*hop
	slots atomic.Pointer[[]*hop] // by hash, then the next ones; nil ends
}

// add returns the hop of an address, which it makes if it is new.
func (t *hopTable) add(addr netip.Addr) *hop {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.all[addr]
	if h == nil {
		h = &hop{addr: addr}
		if t.all == nil {
			t.all = map[netip.Addr]*hop{}
		}
		t.all[addr] = h
		t.publish()
	}
	return h
}

// remove removes an address. Holders of the hop may keep it.
func (t *hopTable) remove(addr netip.Addr) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all[addr] != nil {
		delete(t.all, addr)
		t.publish()
	}
}

// publish makes slots of which at least half are free, so that a search ends.
func (t *hopTable) publish() {
	size := 8
	for size < 2*len(t.all) {
		size *= 2
	}
	slots := make([]*hop, size)
	for addr, h := range t.all {
		i := hashOf(addr)
		for slots[i&uint32(size-1)] != nil {
			i++
		}
		slots[i&uint32(size-1)] = h
	}
	t.slots.Store(&slots)
}

// find returns the hop of an address, or nil.
func (t *hopTable) find(addr netip.Addr) *hop {
	p := t.slots.Load()
	if p == nil {
		return nil
	}
	slots := *p
	for i := hashOf(addr); ; i++ {
		h := slots[i&uint32(len(slots)-1)]
		if h == nil || h.addr == addr {
			return h
		}
	}
}

// count returns how many hops there are.
func (t *hopTable) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.all)
}

// list returns all hops.
func (t *hopTable) list() []*hop {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []*hop
	for _, h := range t.all {
		all = append(all, h)
	}
	return all
}

func hashOf(addr netip.Addr) uint32 {
	b := addr.As16()
	h := binary.LittleEndian.Uint64(b[:])*0x9e3779b97f4a7c15 ^ binary.LittleEndian.Uint64(b[8:])
	h *= 0xbf58476d1ce4e5b9 // splitmix64
	return uint32(h >> 32)
}

// resolve notes the MAC address of a hop, the zero value for none.
func (h *hop) resolve(mac nexthop.MAC) { h.mac.Store(macWord(mac)) }
