package stages

import (
	"encoding/binary"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// NAT translates between UEs and one data network. A mapping is of a UE's
// address, port and protocol, whatever the other end is (RFC 4787, REQ-1), and
// takes packets from any other end (endpoint-independent filtering, REQ-8). It
// lasts as long as packets of the UE use it (REQ-6), and not longer than the UE's
// session. Its ports are another UE's only after a time (RFC 6888, REQ-8).
//
// Its methods may be called by several goroutines at once.
type NAT struct {
	cfg   *datapath.NAT
	store NATStore
	// Choose returns a number below n: where the search for a port begins.
	choose func(n int) int
	// Told is told that a UE was given a block of ports, or gave it back.
	told func(b PortBlock, given bool)

	mu       sync.Mutex
	out      map[natKey]*Mapping // by the UE's end
	in       map[natKey]*Mapping // by the end outside
	ues      map[uint32]*natUE
	blocks   []portBlocks // by address
	fragment fragments

	held       []heldBlock          // given back, the oldest first; some are not held any more
	heldBlocks int                  // that are
	had        map[uint32][]blockAt // held blocks by the UE that may have them again, in order
}

// NATStore is where mappings are, for programs that use them, too.
type NATStore interface {
	// Add returns a mapping with this content which packets may use from now on;
	// nil: there is no room.
	Add(m Mapping) *Mapping
	Remove(m *Mapping)
}

// Mapping is struct nat_mapping of bpf/nat.h. Addresses and ports are in host
// order; the port of ICMP is the Identifier.
type Mapping struct {
	UE, Outside         uint32
	UEPort, OutsidePort uint16
	Protocol            uint8
	PeerPort            uint8  // TCP: of the connection that State is of, its octets by exclusive or
	Network             uint16 // that the store gave it
	State               uint32 // NAT_* of bpf/upf/nat.h, by atomic operations
	Peer                uint32 // TCP: the other end of that connection; 0: none yet
	Last                uint64 // ns: when the UE last used it, or natClosing came; likewise
}

// Bits of [Mapping.State].
const (
	natReplied = 1 // a packet came from outside
	natClosing = 2 // TCP: FIN or RST of the one connection was seen, and no SYN or data of the UE since
	natShared  = 4 // TCP: of several connections, so that the end of one is not that of the mapping
)

// PortBlock is ports of an address outside that one UE has.
type PortBlock struct {
	UE, Outside netip.Addr
	First, Last uint16
}

type natKey struct {
	addr     uint32
	port     uint16
	protocol uint8
}

// natUE is what a UE has of the NAT.
type natUE struct {
	address  int // index in blocks: of several addresses it has one (RFC 4787, REQ-2)
	blocks   []int
	mappings map[*Mapping]bool
}

// portBlocks are those of one address.
type portBlocks struct {
	address uint32
	used    []int // mappings by block
	owner   []uint32
	until   []uint64 // ns: how long a block is held, if its owner is natHeld
	free    int
}

// NewNAT returns a NAT without mappings. choose nil: the first free port.
func NewNAT(cfg *datapath.NAT, store NATStore, choose func(n int) int, told func(b PortBlock, given bool)) *NAT {
	if choose == nil {
		choose = func(int) int { return 0 }
	}
	if told == nil {
		told = func(PortBlock, bool) {}
	}
	n := &NAT{
		cfg: cfg, store: store, choose: choose, told: told,
		out: map[natKey]*Mapping{}, in: map[natKey]*Mapping{}, ues: map[uint32]*natUE{}, had: map[uint32][]blockAt{}, fragment: newFragments(),
	}
	blocks := (int(cfg.LastPort) - int(cfg.FirstPort) + 1) / cfg.BlockPorts
	for _, p := range cfg.Addresses {
		for a := p.Masked().Addr(); p.Contains(a); a = a.Next() {
			n.blocks = append(n.blocks, portBlocks{number4(a), make([]int, blocks), make([]uint32, blocks), make([]uint64, blocks), blocks})
		}
	}
	return n
}

// Blocks is how many blocks of ports UEs have, and how many there are.
func (n *NAT) Blocks() (used, all int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range n.blocks {
		b := &n.blocks[i]
		used, all = used+len(b.owner)-b.free, all+len(b.owner)
	}
	return used - n.heldBlocks, all
}

func number4(a netip.Addr) uint32 {
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}

// Has reports whether a is one of the addresses outside.
func (n *NAT) Has(a netip.Addr) bool {
	for _, p := range n.cfg.Addresses {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// mapping returns the mapping of a UE's end, which is made if it is not there.
func (n *NAT) mapping(k natKey, nowNs uint64) (*Mapping, datapath.Reason) {
	if m := n.out[k]; m != nil {
		return m, datapath.ReasonNone
	}
	if k.addr == 0 { // 0 is the owner of what nobody has
		return nil, datapath.DropNATMapping
	}
	n.mature(nowNs)
	ue := n.ues[k.addr]
	if ue == nil {
		address, ok := n.pool(k.addr)
		if !ok {
			return nil, datapath.DropNATFull
		}
		ue = n.newUE(k.addr, address)
	}
	block, port, ok := n.port(k, ue)
	if !ok {
		n.forget(k.addr, ue)
		return nil, datapath.DropNATFull
	}
	b := &n.blocks[ue.address]
	m := n.store.Add(Mapping{UE: k.addr, UEPort: k.port, Protocol: k.protocol, Outside: b.address, OutsidePort: port})
	b.used[block]++
	if m == nil {
		n.unuse(k.addr, ue, block, false, nowNs)
		return nil, datapath.DropNATFull
	}
	ue.mappings[m] = true
	n.out[k] = m
	n.in[m.outside()] = m
	return m, datapath.ReasonNone
}

// newUE makes a UE known that has nothing yet.
func (n *NAT) newUE(addr uint32, address int) *natUE {
	ue := &natUE{address: address, mappings: map[*Mapping]bool{}}
	n.ues[addr] = ue
	return ue
}

// pool returns the address of which the UE has given a block back, or else the one
// with the most free blocks, the first of several.
func (n *NAT) pool(addr uint32) (best int, ok bool) {
	if had := n.had[addr]; len(had) > 0 {
		return had[0].address, true
	}
	for i := range n.blocks {
		if n.blocks[i].free > n.blocks[best].free {
			best = i
		}
	}
	return best, len(n.blocks) > 0 && n.blocks[best].free > 0
}

// port returns a free port in one of the UE's blocks, or in one that it gets.
func (n *NAT) port(k natKey, ue *natUE) (block int, port uint16, ok bool) {
	size := n.cfg.BlockPorts
	address := n.blocks[ue.address].address
	for _, block := range ue.blocks {
		start := n.choose(size)
		for i := range size {
			port := n.cfg.FirstPort + uint16(block*size+(start+i)%size)
			if n.in[natKey{address, port, k.protocol}] == nil {
				return block, port, true
			}
		}
	}
	if len(ue.blocks) >= n.cfg.BlocksPerUE || !n.give(k.addr, ue) {
		return 0, 0, false
	}
	block = ue.blocks[len(ue.blocks)-1]
	return block, n.cfg.FirstPort + uint16(block*size+n.choose(size)), true
}

func (n *NAT) block(addr uint32, ue *natUE, block int) PortBlock {
	first := n.cfg.FirstPort + uint16(block*n.cfg.BlockPorts)
	return PortBlock{ipv4(addr), ipv4(n.blocks[ue.address].address), first, first + uint16(n.cfg.BlockPorts-1)}
}

// forget forgets a UE that has no block.
func (n *NAT) forget(addr uint32, ue *natUE) {
	if len(ue.blocks) == 0 {
		delete(n.ues, addr)
	}
}

// Expire removes the mappings that have not been used for as long as they may.
//
// Source: RFC 4787, REQ-5; RFC 5382, REQ-5; RFC 5508, REQ-2.
func (n *NAT) Expire(nowNs uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, m := range n.out {
		last := atomic.LoadUint64(&m.Last)
		if nowNs < last || nowNs-last < uint64(n.timeout(m)) {
			continue
		}
		n.remove(m, nowNs)
	}
	n.mature(nowNs)
	n.fragment.expire(nowNs)
}

// timeout is how long m lasts without use, in ns.
func (n *NAT) timeout(m *Mapping) int64 {
	switch state := atomic.LoadUint32(&m.State); {
	case m.Protocol == inet.ProtoICMP:
		return int64(n.cfg.ICMP)
	case m.Protocol == inet.ProtoUDP:
		return int64(n.cfg.UDP)
	case state&natReplied != 0 && state&natClosing == 0:
		return int64(n.cfg.TCP)
	}
	return int64(n.cfg.Transitory)
}

// Mappings returns how many there are, and how many UEs have some.
func (n *NAT) Mappings() (mappings, ues int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.out), len(n.ues)
}

// HeapMappings is the [NATStore] of a datapath without programs: at most Max.
type HeapMappings struct {
	Max  int
	held int
}

// Add implements [NATStore].
func (h *HeapMappings) Add(m Mapping) *Mapping {
	if h.held >= h.Max {
		return nil
	}
	h.held++
	return &m
}

// Remove implements [NATStore].
func (h *HeapMappings) Remove(*Mapping) { h.held-- }
