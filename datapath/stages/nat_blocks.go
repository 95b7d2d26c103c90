package stages

import (
	"slices"

	"github.com/plumbline-upf/plumbline/datapath"
)

// natHeld is the owner of a block that was returned and is not free for other UEs yet.
const natHeld = 1<<32 - 1

// natHold is for how long, in ns. Source: RFC 6888, 4, REQ-8.
const natHold = 120_000_000_000

// blockAt is a block of an address: indices in NAT.blocks, and of the block there.
type blockAt struct{ address, block int }

// heldBlock is an entry of the queue of held blocks.
type heldBlock struct {
	blockAt
	ue      uint32 // whose it may be again
	untilNs uint64
}

// give gives the UE one more block of its address, one that it has had if it can.
func (n *NAT) give(addr uint32, ue *natUE) bool {
	b := &n.blocks[ue.address]
	for _, h := range n.had[addr] { // in order: which one it is must not depend on chance
		if h.address != ue.address {
			continue
		}
		n.forgetHeld(addr, h)
		n.heldBlocks--
		n.hand(addr, ue, h.block)
		return true
	}
	if b.free == 0 {
		return false
	}
	start := n.choose(len(b.owner))
	for i := range b.owner {
		block := (start + i) % len(b.owner)
		if b.owner[block] != 0 {
			continue
		}
		b.free--
		n.hand(addr, ue, block)
		return true
	}
	return false
}

func (n *NAT) hand(addr uint32, ue *natUE, block int) {
	n.blocks[ue.address].owner[block] = addr
	ue.blocks = append(ue.blocks, block)
	n.told(n.block(addr, ue, block), true)
}

// unuse takes one mapping off a block, which the UE gives back with the last one. hold
// says that packets may have left from it.
func (n *NAT) unuse(addr uint32, ue *natUE, block int, hold bool, nowNs uint64) {
	b := &n.blocks[ue.address]
	if b.used[block]--; b.used[block] > 0 {
		return
	}
	b.owner[block] = 0
	if hold {
		at := blockAt{ue.address, block}
		b.owner[block] = natHeld
		b.until[block] = nowNs + natHold
		n.held = append(n.held, heldBlock{at, addr, b.until[block]})
		n.heldBlocks++
		i, _ := slices.BinarySearchFunc(n.had[addr], block, func(h blockAt, block int) int { return h.block - block })
		n.had[addr] = slices.Insert(n.had[addr], i, at)
	} else {
		b.free++
	}
	ue.blocks = slices.DeleteFunc(ue.blocks, func(i int) bool { return i == block })
	n.told(n.block(addr, ue, block), false)
	n.forget(addr, ue)
}

// mature lets anybody have the blocks that were held for long enough.
func (n *NAT) mature(nowNs uint64) {
	for len(n.held) > 0 && nowNs >= n.held[0].untilNs {
		h := n.held[0]
		n.held = n.held[1:]
		b := &n.blocks[h.address]
		if b.owner[h.block] != natHeld || b.until[h.block] != h.untilNs {
			continue // its UE has it again, or had
		}
		n.forgetHeld(h.ue, h.blockAt)
		n.heldBlocks--
		b.owner[h.block] = 0
		b.free++
	}
}

// forgetHeld forgets whose a held block was.
func (n *NAT) forgetHeld(addr uint32, at blockAt) {
	n.had[addr] = slices.DeleteFunc(n.had[addr], func(h blockAt) bool { return h == at })
	if len(n.had[addr]) == 0 {
		delete(n.had, addr)
	}
}

// Release removes the mappings of the UE addresses that k leads to, which is the key of a
// session that has ended or lost it: what comes to their ports must not reach whoever gets
// the address next. Addresses of a framed route that other tells are somebody's own stay.
func (n *NAT) Release(k datapath.Key, nowNs uint64, other func(addr uint32) bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if k.IPv4 != 0 {
		n.drop(k.IPv4, nowNs)
	}
	if !k.Route.IsValid() || !k.Route.Addr().Is4() {
		return
	}
	for addr := range n.ues {
		if k.Route.Contains(ipv4(addr)) && !other(addr) {
			n.drop(addr, nowNs)
		}
	}
	for addr := range n.had {
		if k.Route.Contains(ipv4(addr)) && !other(addr) {
			delete(n.had, addr)
		}
	}
}

// drop removes all mappings of a UE, which gets none of its blocks again.
func (n *NAT) drop(addr uint32, nowNs uint64) {
	if ue := n.ues[addr]; ue != nil {
		for m := range ue.mappings {
			n.remove(m, nowNs)
		}
	}
	delete(n.had, addr)
}

// remove removes a mapping.
func (n *NAT) remove(m *Mapping, nowNs uint64) {
	addr, ue, block := m.UE, n.ues[m.UE], int(m.OutsidePort-n.cfg.FirstPort)/n.cfg.BlockPorts
	delete(n.out, m.inside())
	delete(n.in, m.outside())
	delete(ue.mappings, m)
	n.store.Remove(m)
	n.unuse(addr, ue, block, true, nowNs)
}
