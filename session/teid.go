package session

import (
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"sync"
)

// maxSlotBits leaves at least 8 random bits in a TEID.
const maxSlotBits = 24

// errSlots: every slot is taken.
var errSlots = errors.New("no free TEID")

// teids knows who holds each TEID, and hands out new ones: a slot number, dense,
// in the low bits, and random bits, new each time, in the high ones. So a
// datapath may use the low bits as an index and find a stale or guessed TEID by
// the others.
//
// A slot that becomes free is used again as late as can be. A TEID that the CP
// function chose takes its slot too, so that no TEID of ours ever shares a slot
// with it; only when its slot is taken already it stands in a map.
type teids struct {
	bits uint // of the slot number

	mu     sync.RWMutex
	slots  places            // the tag is the TEID
	others map[uint32]uint32 // holders of TEIDs whose slot was taken
}

// newTEIDs returns an allocator with at least capacity slots, at most 2^24.
func newTEIDs(capacity int) (*teids, error) {
	if capacity < 1 || capacity > 1<<maxSlotBits {
		return nil, fmt.Errorf("%d TEIDs: not between 1 and %d", capacity, 1<<maxSlotBits)
	}
	n := uint(bits.Len(uint(capacity - 1)))
	return &teids{bits: n, slots: newPlaces(1 << n), others: make(map[uint32]uint32)}, nil
}

// allocate gives holder a TEID that nobody has. Errors: errSlots.
func (t *teids) allocate(holder uint32) (uint32, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i, ok := t.slots.take(holder)
	if !ok {
		return 0, fmt.Errorf("all of %d slots taken: %w", t.slots.size, errSlots)
	}
	pl := t.slots.at(i)
	teid := pl.tag
	for teid == pl.tag || teid == 0 || t.others[teid] != 0 {
		teid = rand.Uint32()<<t.bits | i
	}
	pl.tag = teid
	return teid, nil
}

// reserve gives holder a TEID that the CP function chose, or that a restored
// session had. It returns who holds it: another holder if it was not free.
func (t *teids) reserve(teid, holder uint32) uint32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if h := t.find(teid); h != 0 {
		return h
	}
	if i := t.slot(teid); t.slots.occupy(i, holder) {
		t.slots.at(i).tag = teid
	} else {
		t.others[teid] = holder
	}
	return holder
}

// free gives back a TEID that allocate or reserve gave.
func (t *teids) free(teid uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := t.slot(teid); t.slots.at(i).holder != 0 && t.slots.at(i).tag == teid {
		t.slots.free(i)
		return
	}
	delete(t.others, teid)
}

// holder returns who holds a TEID; 0: nobody.
func (t *teids) holder(teid uint32) uint32 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.find(teid)
}

func (t *teids) find(teid uint32) uint32 {
	if pl := t.slots.peek(t.slot(teid)); pl != nil && pl.holder != 0 && pl.tag == teid {
		return pl.holder
	}
	return t.others[teid]
}

// slot is the slot of a TEID: its low bits.
func (t *teids) slot(teid uint32) uint32 { return teid & (1<<t.bits - 1) }
