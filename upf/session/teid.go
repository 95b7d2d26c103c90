package session

import (
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sync"
)

// maxSlotBits leaves at least 8 random bits in a TEID.
const maxSlotBits = 24

// errSlots: every slot is taken.
var errSlots = errors.New("no free TEID")

// teids knows who holds each F-TEID, and hands out new TEIDs: a slot number, dense,
// in the low bits, and random bits, new each time, in the high ones. So a
// datapath may use the low bits as an index and find a stale or guessed TEID by
// the others. A TEID that we choose has no other holder then, at any address.
//
// A slot that becomes free is used again as late as can be. An F-TEID that the CP
// function chose takes its slot too, so that no TEID of ours ever shares a slot
// with it; only when its slot is taken already it stands in a map.
type teids struct {
	bits uint // of the slot number

	mu     sync.RWMutex
	slots  places             // the tag is the TEID, and of is where in known its addresses are
	others map[uint32][]other // F-TEIDs whose slot was taken, by TEID
	known  []locals           // few: those of the endpoints
}

// other is an F-TEID without a slot.
type other struct {
	at     locals
	holder uint32
}

// newTEIDs returns an allocator with at least capacity slots, at most 2^24.
func newTEIDs(capacity int) (*teids, error) {
	if capacity < 1 || capacity > 1<<maxSlotBits {
		return nil, fmt.Errorf("%d TEIDs: not between 1 and %d", capacity, 1<<maxSlotBits)
	}
	n := uint(bits.Len(uint(capacity - 1)))
	return &teids{bits: n, slots: newPlaces(1 << n), others: make(map[uint32][]other)}, nil
}

// allocate gives holder a TEID that is free at all addresses, for addresses at. Errors: errSlots.
func (t *teids) allocate(at locals, holder uint32) (uint32, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i, ok := t.slots.take(holder)
	if !ok {
		return 0, fmt.Errorf("all of %d slots taken: %w", t.slots.size, errSlots)
	}
	pl := t.slots.at(i)
	teid := pl.tag
	for teid == pl.tag || teid == 0 || len(t.others[teid]) != 0 {
		teid = rand.Uint32()<<t.bits | i
	}
	pl.tag, pl.of = teid, t.index(at)
	return teid, nil
}

// index returns where in known the addresses stand.
func (t *teids) index(at locals) uint16 {
	i := slices.Index(t.known, at)
	if i < 0 {
		i = len(t.known)
		t.known = append(t.known, at)
	}
	return uint16(i)
}

// reserve gives holder an F-TEID that the CP function chose, or that a restored
// session had. It returns who holds it: another holder if it was not free.
func (t *teids) reserve(teid uint32, at locals, holder uint32) uint32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if h := t.find(teid, at); h != 0 && h != holder || t.holds(teid, at) {
		return h
	}
	if i := t.slot(teid); t.slots.occupy(i, holder) {
		pl := t.slots.at(i)
		pl.tag, pl.of = teid, t.index(at)
	} else {
		t.others[teid] = append(t.others[teid], other{at, holder})
	}
	return holder
}

// holds reports whether exactly this F-TEID is held.
func (t *teids) holds(teid uint32, at locals) bool {
	if pl := t.slots.peek(t.slot(teid)); pl != nil && pl.holder != 0 && pl.tag == teid && t.known[pl.of] == at {
		return true
	}
	return slices.ContainsFunc(t.others[teid], func(o other) bool { return o.at == at })
}

// free gives back an F-TEID that allocate or reserve gave.
func (t *teids) free(teid uint32, at locals) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := t.slot(teid); t.slots.at(i).holder != 0 && t.slots.at(i).tag == teid && t.known[t.slots.at(i).of] == at {
		t.slots.free(i)
		return
	}
	left := slices.DeleteFunc(t.others[teid], func(o other) bool { return o.at == at })
	if len(left) == 0 {
		delete(t.others, teid)
	} else {
		t.others[teid] = left
	}
}

// holder returns who holds an F-TEID that has the TEID and one of these addresses; 0:
// none does. No address: any.
func (t *teids) holder(teid uint32, at locals) uint32 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.find(teid, at)
}

func (t *teids) find(teid uint32, at locals) uint32 {
	if pl := t.slots.peek(t.slot(teid)); pl != nil && pl.holder != 0 && pl.tag == teid && (at == 0 || at.meets(t.known[pl.of])) {
		return pl.holder
	}
	for _, o := range t.others[teid] {
		if at == 0 || at.meets(o.at) {
			return o.holder
		}
	}
	return 0
}

// slot is the slot of a TEID: its low bits.
func (t *teids) slot(teid uint32) uint32 { return teid & (1<<t.bits - 1) }
