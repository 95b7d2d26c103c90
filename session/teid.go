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

// teids hands out TEIDs: a slot number, dense, in the low bits, and random
// bits, new each time, in the high ones. So a datapath may use the low bits as
// an index and find a stale or guessed TEID by the others.
//
// A slot that becomes free goes to the end of a queue: it is used again as late
// as can be. A TEID that the CP function chose takes its slot out of the queue
// too, so that no TEID of ours ever shares a slot with it.
//
// The queue is a ring through slot numbers, closed by a sentinel at the index
// one behind the last slot.
type teids struct {
	bits uint // of the slot number

	mu    sync.Mutex
	slots []slot
}

// slot is one place of the ring, 16 octets.
type slot struct {
	prev, next uint32 // in the queue; both the slot itself: not queued
	last       uint32 // TEID that was last allocated here; 0: none yet
	use        uint32 // usedByUP, and how many TEIDs of the CP function
}

const usedByUP = 1 << 31

// newTEIDs returns an allocator with at least capacity slots, at most 2^24.
func newTEIDs(capacity int) (*teids, error) {
	if capacity < 1 || capacity > 1<<maxSlotBits {
		return nil, fmt.Errorf("%d TEIDs: not between 1 and %d", capacity, 1<<maxSlotBits)
	}
	n := uint(bits.Len(uint(capacity - 1)))
	t := &teids{bits: n, slots: make([]slot, 1<<n+1)}
	size := uint32(len(t.slots))
	for i := range size {
		t.slots[i].prev, t.slots[i].next = (i+size-1)%size, (i+1)%size
	}
	return t, nil
}

// allocate returns a TEID that nobody has. Errors: errSlots.
func (t *teids) allocate() (uint32, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	end := uint32(len(t.slots) - 1)
	i := t.slots[end].next
	if i == end {
		return 0, fmt.Errorf("all of %d slots taken: %w", end, errSlots)
	}
	t.unlink(i)
	s := &t.slots[i]
	s.use |= usedByUP
	teid := s.last
	for teid == s.last || teid == 0 {
		teid = rand.Uint32()<<t.bits | i
	}
	s.last = teid
	return teid, nil
}

// reserve notes a TEID that the CP function chose. Errors: ErrHeld if it is one
// that we allocated.
func (t *teids) reserve(teid uint32) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := t.slot(teid)
	s := &t.slots[i]
	if s.use&usedByUP != 0 && s.last == teid {
		return ErrHeld
	}
	if s.use == 0 {
		t.unlink(i)
	}
	s.use++
	return nil
}

// free gives back a TEID that allocate returned or reserve noted.
func (t *teids) free(teid uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := t.slot(teid)
	s := &t.slots[i]
	if s.use&usedByUP != 0 && s.last == teid {
		s.use &^= usedByUP
	} else {
		s.use--
	}
	if s.use == 0 {
		t.append(i)
	}
}

// slot is the slot of a TEID: its low bits.
func (t *teids) slot(teid uint32) uint32 { return teid & (1<<t.bits - 1) }

// unlink takes slot i out of the queue.
func (t *teids) unlink(i uint32) {
	s := &t.slots[i]
	t.slots[s.prev].next, t.slots[s.next].prev = s.next, s.prev
	s.prev, s.next = i, i
}

// append puts slot i at the end of the queue.
func (t *teids) append(i uint32) {
	end := uint32(len(t.slots) - 1)
	tail := t.slots[end].prev
	t.slots[i].prev, t.slots[i].next = tail, end
	t.slots[tail].next, t.slots[end].prev = i, i
}
