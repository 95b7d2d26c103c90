package xdp

import (
	"fmt"
	"math/bits"
	"sync/atomic"

	"github.com/cilium/ebpf"

	"github.com/plumbline-upf/plumbline/datapath"
)

//go:generate go run ./internal/genflags

// What stands above the flags in the control word of a rule.
const (
	ruleN6Shift = 16 // the way, or the data network: bpf/upf/n6.h
	ruleN6Mask  = 0x3f

	ruleFlags      = 0x3fffff
	generationStep = ruleFlags + 1
)

// table is rule_by_teid or rule_by_ue: a rule stands at (key & mask), its home,
// or, if that is taken, as a guest in any other slot, found through the map
// guests. There may be slots behind those that are somebody's home.
type table struct {
	mapped[upfRule]
	kind   kind
	mask   uint32
	byKey  *ebpf.Map
	guests map[uint64]uint32 // slot by key
	taken  bitmap
	held   int
	cursor uint32 // where the search for a free slot goes on

	overflowed func(change int) // told how many guests came or went
	slices     []uint16         // number of the slice by slot
	retired    totals           // counted by rules that are gone

	orphans bitmap // of sessions from before that were not applied yet
}

func newTable(k kind, homes uint32, m, byKey *ebpf.Map, retired totals) (*table, error) {
	mem, err := mapMemory[upfRule](m)
	if err != nil {
		return nil, err
	}
	n := m.MaxEntries()
	return &table{
		mapped: mem, kind: k, mask: homes - 1, byKey: byKey,
		guests: map[uint64]uint32{},
		taken:  newBitmap(int(n)),
		slices: make([]uint16, n), retired: retired,
	}, nil
}

// find returns the slot of the rule with this key.
func (t *table) find(key uint64) (uint32, bool) {
	home := uint32(key) & t.mask
	if atomic.LoadUint64(&t.slots[home].Key) == key {
		return home, true
	}
	slot, ok := t.guests[key]
	return slot, ok && atomic.LoadUint64(&t.slots[slot].Key) == key
}

// reserve takes a slot for key, which no rule has. Nothing is visible to
// packets until write.
func (t *table) reserve(key uint64) (uint32, error) {
	home := uint32(key) & t.mask
	if !t.taken.has(home) {
		t.take(home)
		return home, nil
	}
	slot, ok := t.free()
	if !ok {
		return 0, fmt.Errorf("xdp: all %d slots are taken: %w", len(t.slots), datapath.ErrFull)
	}
	if err := t.byKey.Put(key, slot); err != nil {
		return 0, fmt.Errorf("xdp: overflow: %w: %w", err, datapath.ErrFull)
	}
	t.guests[key] = slot
	t.overflowed(1)
	t.take(slot)
	return slot, nil
}

func (t *table) take(slot uint32) {
	t.taken.add(slot)
	t.held++
}

// free returns a slot that is not taken, the next one behind the last found: one that is
// nobody's home, if there is any.
func (t *table) free() (uint32, bool) {
	if t.held == len(t.slots) {
		return 0, false
	}
	behind, words := (t.mask+1)/64, uint32(len(t.taken))
	for _, part := range [][2]uint32{{behind, words}, {0, behind}} {
		first, n := part[0], part[1]-part[0]
		for i := range n {
			w := first + (t.cursor+i)%n
			if bit := uint32(bits.TrailingZeros64(^t.taken[w])); bit < 64 && w*64+bit < uint32(len(t.slots)) {
				t.cursor += i
				return w*64 + bit, true
			}
		}
	}
	return 0, false
}

// release gives back a slot that is not visible any more.
func (t *table) release(slot uint32, key uint64) {
	if uint32(key)&t.mask != slot && t.guests[key] == slot {
		delete(t.guests, key)
		// A stale entry leads to a slot with another key: harmless.
		_ = t.byKey.Delete(key)
		t.overflowed(-1)
	}
	t.taken.remove(slot)
	t.held--
}

// write makes slot hold content, whose Ctl has flags only, for a session of the
// slice. Packets see the rule as it was, or as it is, or go through the slow
// path, which waits for us. Counters go on if the slot held the same key, else
// they start at 0. What is the same already is not touched. A rule that packets
// knew before sees first whether the slow path has any of them: bpf/queue.h.
func (t *table) write(slot uint32, content *upfRule, slice uint16) {
	r := &t.slots[slot]
	ctl := atomic.LoadUint32(&r.Ctl)
	same := atomic.LoadUint64(&r.Key) == content.Key
	if same && ctl&ruleFlags&^ruleQueued == content.Ctl && r.Meter == content.Meter && r.UeIp4 == content.UeIp4 &&
		r.UeIp6 == content.UeIp6 && r.Qfis == content.Qfis && r.Urr == content.Urr {
		t.move(slot, ctl, slice, ctl)
		return
	}
	atomic.StoreUint32(&r.Ctl, ctl|ruleChanging)
	next := content.Ctl
	if !same {
		t.retire(slot, ctl)
		t.slices[slot] = slice
	} else {
		next |= ruleQueued
		t.move(slot, ctl, slice, content.Ctl)
	}
	atomic.StoreUint32(&r.Meter[0], content.Meter[0])
	atomic.StoreUint32(&r.Meter[1], content.Meter[1])
	atomic.StoreUint32(&r.UeIp4, content.UeIp4)
	atomic.StoreUint64(&r.UeIp6, content.UeIp6)
	r.Qfis = content.Qfis
	atomic.StoreUint32(&r.Urr, content.Urr)
	atomic.StoreUint64(&r.Key, content.Key)
	atomic.StoreUint32(&r.Ctl, (ctl+generationStep)&^ruleFlags|next)
}

// clear takes the rule away from packets.
func (t *table) clear(slot uint32) {
	r := &t.slots[slot]
	ctl := atomic.LoadUint32(&r.Ctl)
	atomic.StoreUint32(&r.Ctl, ctl|ruleChanging)
	atomic.StoreUint64(&r.Key, 0)
	// The direction stays for packets that are on their way and count here yet.
	atomic.StoreUint32(&r.Ctl, (ctl+generationStep)&^ruleFlags|ctl&ruleUplink)
	t.retire(slot, ctl)
}
