package model

import (
	"encoding/binary"
	"net/netip"
	"sync"
	"sync/atomic"

	"plumbline/datapath"
)

// NAT translates between UEs and one data network. A mapping is of a UE's
// address, port and protocol, whatever the other end is (RFC 4787, REQ-1), and
// takes packets from any other end (endpoint-independent filtering, REQ-8). It
// lasts as long as packets of the UE use it (REQ-6).
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
	_                   uint8
	Network             uint16 // that the store gave it
	State               uint32 // NAT_* of bpf/nat.h, by atomic operations
	_                   uint32
	Last                uint64 // ns: when the UE last used it, or natClosing came; likewise
}

// Bits of [Mapping.State].
const (
	natReplied = 1 // a packet came from outside
	natClosing = 2 // TCP: FIN or RST was seen, and no SYN of the UE since
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
	address int // index in blocks: of several addresses it has one (RFC 4787, REQ-2)
	blocks  []int
}

// portBlocks are those of one address.
type portBlocks struct {
	address uint32
	used    []int // mappings by block
	owner   []uint32
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
		out: map[natKey]*Mapping{}, in: map[natKey]*Mapping{}, ues: map[uint32]*natUE{}, fragment: newFragments(),
	}
	blocks := (int(cfg.LastPort) - int(cfg.FirstPort) + 1) / cfg.BlockPorts
	for _, p := range cfg.Addresses {
		for a := p.Masked().Addr(); p.Contains(a); a = a.Next() {
			n.blocks = append(n.blocks, portBlocks{number4(a), make([]int, blocks), make([]uint32, blocks), blocks})
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
	return used, all
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
func (n *NAT) mapping(k natKey) (*Mapping, datapath.Reason) {
	if m := n.out[k]; m != nil {
		return m, datapath.ReasonNone
	}
	if k.addr == 0 { // 0 is the owner of what nobody has
		return nil, datapath.DropNATMapping
	}
	ue := n.ues[k.addr]
	if ue == nil {
		address, ok := n.pool()
		if !ok {
			return nil, datapath.DropNATFull
		}
		ue = &natUE{address: address}
		n.ues[k.addr] = ue
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
		n.unuse(k.addr, ue, block)
		return nil, datapath.DropNATFull
	}
	n.out[k] = m
	n.in[m.outside()] = m
	return m, datapath.ReasonNone
}

// pool returns the address with the most free blocks, the first of several.
func (n *NAT) pool() (best int, ok bool) {
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

// give gives the UE one more block of its address.
func (n *NAT) give(addr uint32, ue *natUE) bool {
	b := &n.blocks[ue.address]
	if b.free == 0 {
		return false
	}
	start := n.choose(len(b.owner))
	for i := range b.owner {
		block := (start + i) % len(b.owner)
		if b.owner[block] != 0 {
			continue
		}
		b.owner[block] = addr
		b.free--
		ue.blocks = append(ue.blocks, block)
		n.told(n.block(addr, ue, block), true)
		return true
	}
	return false
}

func (n *NAT) block(addr uint32, ue *natUE, block int) PortBlock {
	first := n.cfg.FirstPort + uint16(block*n.cfg.BlockPorts)
	return PortBlock{ipv4(addr), ipv4(n.blocks[ue.address].address), first, first + uint16(n.cfg.BlockPorts-1)}
}

// unuse takes one mapping off a block, which the UE gives back with the last one.
func (n *NAT) unuse(addr uint32, ue *natUE, block int) {
	b := &n.blocks[ue.address]
	if b.used[block]--; b.used[block] > 0 {
		return
	}
	b.owner[block] = 0
	b.free++
	for i := range ue.blocks {
		if ue.blocks[i] == block {
			ue.blocks = append(ue.blocks[:i], ue.blocks[i+1:]...)
			break
		}
	}
	n.told(n.block(addr, ue, block), false)
	n.forget(addr, ue)
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
	for k, m := range n.out {
		last := atomic.LoadUint64(&m.Last)
		if nowNs < last || nowNs-last < uint64(n.timeout(m)) {
			continue
		}
		delete(n.out, k)
		delete(n.in, m.outside())
		ue, block := n.ues[m.UE], int(m.OutsidePort-n.cfg.FirstPort)/n.cfg.BlockPorts
		n.store.Remove(m)
		n.unuse(k.addr, ue, block)
	}
	n.fragment.expire(nowNs)
}

// timeout is how long m lasts without use, in ns.
func (n *NAT) timeout(m *Mapping) int64 {
	switch state := atomic.LoadUint32(&m.State); {
	case m.Protocol == protoICMP:
		return int64(n.cfg.ICMP)
	case m.Protocol == protoUDP:
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
