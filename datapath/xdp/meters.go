package xdp

import (
	"fmt"
	"unsafe"

	"github.com/cilium/ebpf"

	"plumbline/datapath"
	"plumbline/datapath/model"
)

// meterTable hands out the slots of the map meters. Slot 0 stands for none. Those
// of a session's first MBR are at home, both directions in one cache line: see
// home_meter() in bpf/rules.h.
type meterTable struct {
	mapped[upfMeter]
	places slots

	shared  map[held]int // how many sessions hold a shared meter
	orphans bitmap       // of sessions from before that were not applied yet
}

func newMeterTable(m *ebpf.Map, homes uint32) (*meterTable, error) {
	mem, err := mapMemory[upfMeter](m)
	return &meterTable{mapped: mem, places: newSlots(m.MaxEntries(), homeMeter(0, true), homeMeter(homes, true)), shared: map[held]int{}}, err
}

// homeMeter is home_meter() of bpf/rules.h.
func homeMeter(home uint32, uplink bool) uint32 {
	if uplink {
		return 2 + 2*home
	}
	return 3 + 2*home
}

// reserve takes a slot for a new meter, which has seen nothing: this one, if it is
// free.
func (t *meterTable) reserve(home uint32) (uint32, error) {
	slot, ok := t.places.take(home)
	if !ok {
		return 0, fmt.Errorf("xdp: all %d meters are taken: %w", len(t.slots)-1, datapath.ErrFull)
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
func (t *meterTable) meter(slot uint32) *model.Meter {
	return (*model.Meter)(unsafe.Pointer(&t.slots[slot]))
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
