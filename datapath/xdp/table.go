package xdp

import (
	"fmt"
	"math/bits"
	"sync/atomic"

	"github.com/cilium/ebpf"

	"plumbline/datapath"
)

// Flags in the control word of a rule, as in bpf/rules.h.
const (
	ruleForw     = 0x0001
	ruleGate     = 0x0002
	ruleMatchIP4 = 0x0004
	ruleMatchIP6 = 0x0008
	ruleDSCP     = 0x0010
	ruleChanging = 0x8000

	ruleFlags      = 0xffff
	generationStep = 0x10000
)

// table is uplink or downlink: a rule stands at (key & mask), its home, or, if
// that is taken, as a guest in any other slot, found through the map guests.
type table struct {
	mapped[upfRule]
	mask   uint32
	byKey  *ebpf.Map
	guests map[uint64]uint32 // slot by key
	taken  []uint64          // bit per slot
	held   int
	cursor uint32 // where the search for a free slot goes on

	overflowed func(change int) // told how many guests came or went
	retired    Total            // counted by rules that are gone
}

func newTable(m, byKey *ebpf.Map) (*table, error) {
	mem, err := mapMemory[upfRule](m)
	if err != nil {
		return nil, err
	}
	n := m.MaxEntries()
	return &table{
		mapped: mem, mask: n - 1, byKey: byKey,
		guests: map[uint64]uint32{},
		taken:  make([]uint64, (n+63)/64),
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
	if t.taken[home/64]>>(home%64)&1 == 0 {
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
	t.taken[slot/64] |= 1 << (slot % 64)
	t.held++
}

// free returns a slot that is not taken, the next one behind the last found.
func (t *table) free() (uint32, bool) {
	if t.held == len(t.slots) {
		return 0, false
	}
	words := uint32(len(t.taken))
	for range words + 1 {
		w := t.cursor % words
		if i := uint32(bits.TrailingZeros64(^t.taken[w])); i < 64 && w*64+i <= t.mask {
			return w*64 + i, true
		}
		t.cursor++
	}
	return 0, false
}

// release gives back a slot that is not visible any more.
func (t *table) release(slot uint32, key uint64) {
	if t.guests[key] == slot && uint32(key)&t.mask != slot {
		delete(t.guests, key)
		// A stale entry leads to a slot with another key: harmless.
		_ = t.byKey.Delete(key)
		t.overflowed(-1)
	}
	t.taken[slot/64] &^= 1 << (slot % 64)
	t.held--
}

// write makes slot hold content, whose Ctl has flags only. Packets see the rule
// as it was, or as it is, or go through the slow path, which waits for us.
// Counters go on if the slot held the same key, else they start at 0.
func (t *table) write(slot uint32, content *upfRule) {
	r := &t.slots[slot]
	ctl := atomic.LoadUint32(&r.Ctl)
	atomic.StoreUint32(&r.Ctl, ctl|ruleChanging)
	if atomic.LoadUint64(&r.Key) != content.Key {
		t.retire(r)
	}
	atomic.StoreUint32(&r.Meter[0], content.Meter[0])
	atomic.StoreUint32(&r.Meter[1], content.Meter[1])
	atomic.StoreUint32(&r.UeIp4, content.UeIp4)
	atomic.StoreUint64(&r.UeIp6, content.UeIp6)
	atomic.StoreUint64(&r.Qfis, content.Qfis)
	atomic.StoreUint64(&r.Key, content.Key)
	atomic.StoreUint32(&r.Ctl, (ctl+generationStep)&^ruleFlags|content.Ctl)
}

// clear takes the rule away from packets.
func (t *table) clear(slot uint32) {
	r := &t.slots[slot]
	ctl := atomic.LoadUint32(&r.Ctl)
	atomic.StoreUint32(&r.Ctl, ctl|ruleChanging)
	atomic.StoreUint64(&r.Key, 0)
	atomic.StoreUint32(&r.Ctl, (ctl+generationStep)&^ruleFlags)
	t.retire(r)
}
