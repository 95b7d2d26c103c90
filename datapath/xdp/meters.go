package xdp

import (
	"fmt"
	"unsafe"

	"github.com/cilium/ebpf"

	"plumbline/datapath"
	"plumbline/datapath/model"
)

// meterTable hands out the slots of the map meters. Slot 0 stands for none.
type meterTable struct {
	mapped[upfMeter]
	freed []uint32
	next  uint32
}

func newMeterTable(m *ebpf.Map) (*meterTable, error) {
	mem, err := mapMemory[upfMeter](m)
	return &meterTable{mapped: mem, next: 1}, err
}

func (t *meterTable) reserve() (uint32, error) {
	if n := len(t.freed); n > 0 {
		slot := t.freed[n-1]
		t.freed = t.freed[:n-1]
		return slot, nil
	}
	if int(t.next) >= len(t.slots) {
		return 0, fmt.Errorf("xdp: all %d meters are taken: %w", len(t.slots)-1, datapath.ErrFull)
	}
	t.next++
	return t.next - 1, nil
}

func (t *meterTable) release(slot uint32) { t.freed = append(t.freed, slot) }

// meter returns the slot as the model's meter, which has the same layout.
func (t *meterTable) meter(slot uint32) *model.Meter {
	return (*model.Meter)(unsafe.Pointer(&t.slots[slot]))
}
