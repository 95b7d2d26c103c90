package xdp

import (
	"fmt"
	"unsafe"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// meterTable hands out the meters of accounts, of which each has two. Slot 0 stands
// for none. Those of a session's first MBR are at home, both directions in one cache
// line: see home_account() in bpf/rules.h.
type meterTable struct {
	slots  []upfAccount
	places slots

	shared  map[held]int // how many sessions hold a shared meter
	orphans bitmap       // of sessions from before that were not applied yet
}

// metersEach is how many meters an account has.
const metersEach = uint32(len(upfAccount{}.Meter))

func newMeterTable(accounts []upfAccount, homes uint32) *meterTable {
	size := metersEach * uint32(len(accounts))
	return &meterTable{slots: accounts, places: newSlots(size, homeMeter(0, true), homeMeter(homes, true)), shared: map[held]int{}}
}

// homeMeter returns the meter of an account at home.
func homeMeter(home uint32, uplink bool) uint32 {
	if uplink {
		return metersEach * homeAccount(home)
	}
	return metersEach*homeAccount(home) + 1
}

// reserve takes a slot for a new meter, which has seen nothing: this one, if it is
// free.
func (t *meterTable) reserve(home uint32) (uint32, error) {
	slot, ok := t.places.take(home)
	if !ok {
		return 0, fmt.Errorf("xdp: all %d meters are taken: %w", t.places.size-metersEach, datapath.ErrFull)
	}
	t.meter(slot).Reset()
	return slot, nil
}

// release gives back what a session holds, or a change that is given up has
// reserved. What no session has adopted yet stays as it is.
func (t *meterTable) release(h held) {
	if h.kind().isShared() {
		if t.shared[h]--; t.shared[h] > 0 {
			return
		}
		delete(t.shared, h)
	}
	if !t.orphans.has(h.slot()) {
		t.places.give(h.slot())
	}
}

// findShared returns the slot of the shared meter, if any session holds it.
func (t *meterTable) findShared(k kind, number uint32) (uint32, bool) {
	for h := range t.shared { // one for each slice and direction: a few
		if h.kind() == k && h.id == number {
			return h.slot(), true
		}
	}
	return 0, false
}

// meter returns the slot as the model's meter, which has the same layout.
func (t *meterTable) meter(slot uint32) *stages.Meter {
	return (*stages.Meter)(unsafe.Pointer(&t.slots[slot/metersEach].Meter[slot%metersEach]))
}

// slotOf returns the slot of a meter; 0: it is none of the table's.
func (t *meterTable) slotOf(m *stages.Meter) uint32 {
	account := slotOf(t.slots, unsafe.Pointer(m))
	if account == 0 {
		return 0
	}
	return account*metersEach + slotOf(t.slots[account].Meter[:], unsafe.Pointer(m))
}

// bitmap is a set of slots; nil is the empty one, to which nothing can be added.
type bitmap []uint64

func newBitmap(slots int) bitmap { return make(bitmap, (slots+63)/64) }

func (b bitmap) has(slot uint32) bool {
	return int(slot/64) < len(b) && b[slot/64]>>(slot%64)&1 == 1
}

func (b bitmap) add(slot uint32) { b[slot/64] |= 1 << (slot % 64) }

func (b bitmap) remove(slot uint32) {
	if int(slot/64) < len(b) {
		b[slot/64] &^= 1 << (slot % 64)
	}
}
