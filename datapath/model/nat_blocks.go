package model

import "slices"

// heldBlock is a block that a UE has given back, and nobody else gets yet.
type heldBlock struct {
	address, block int
	ue             uint32 // whose it may be again; 0: nobody's
	untilNs        uint64
}

// natHeld is the owner of a block that is held.
const natHeld = 1<<32 - 1

// natHold is for how long. Source: RFC 6888, 4, REQ-8.
const natHold = 120_000_000_000

// give gives the UE one more block of its address, one that it has had if it can.
func (n *NAT) give(addr uint32, ue *natUE) bool {
	b := &n.blocks[ue.address]
	for i, h := range n.held {
		if h.ue == addr && h.address == ue.address {
			n.held = slices.Delete(n.held, i, i+1)
			b.owner[h.block] = addr
			ue.blocks = append(ue.blocks, h.block)
			n.told(n.block(addr, ue, h.block), true)
			return true
		}
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
		b.owner[block] = addr
		b.free--
		ue.blocks = append(ue.blocks, block)
		n.told(n.block(addr, ue, block), true)
		return true
	}
	return false
}

// mature lets those have the blocks that were held for long enough who want them.
func (n *NAT) mature(nowNs uint64) {
	for len(n.held) > 0 && nowNs >= n.held[0].untilNs {
		b := &n.blocks[n.held[0].address]
		b.owner[n.held[0].block] = 0
		b.free++
		n.held = n.held[1:]
	}
}

// unhold lets anybody have the block that was given back last, if it is this one:
// nothing has left from it.
func (n *NAT) unhold(address, block int) {
	last := len(n.held) - 1
	if last < 0 || n.held[last].address != address || n.held[last].block != block {
		return
	}
	n.held = n.held[:last]
	n.blocks[address].owner[block] = 0
	n.blocks[address].free++
}

// unuse takes one mapping off a block, which the UE gives back with the last one.
func (n *NAT) unuse(addr uint32, ue *natUE, block int, nowNs uint64) {
	b := &n.blocks[ue.address]
	if b.used[block]--; b.used[block] > 0 {
		return
	}
	b.owner[block] = natHeld
	n.held = append(n.held, heldBlock{ue.address, block, addr, nowNs + natHold})
	for i := range ue.blocks {
		if ue.blocks[i] == block {
			ue.blocks = append(ue.blocks[:i], ue.blocks[i+1:]...)
			break
		}
	}
	n.told(n.block(addr, ue, block), false)
	n.forget(addr, ue)
}
