package xdp

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/cilium/ebpf"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// urrTable hands out the URRs of accounts, and their slots in the map urr_owners.
// Slot 0 stands for none. That of a session's first URR is at home: see
// home_account() in bpf/rules.h.
type urrTable struct {
	slots  []upfAccount
	owners mapped[upfUrrOwner]
	drops  mapped[upfUrrDropped]
	places slots

	orphans []urrOrphan // of sessions from before that were not applied yet, sorted
}

// urrOrphan is a URR whose session has not been applied yet since the start.
type urrOrphan struct {
	seid uint64
	id   uint32
	slot uint32 // 0: it has been taken
}

func newURRTable(accounts []upfAccount, owners, drops *ebpf.Map, homes uint32) (*urrTable, error) {
	t := &urrTable{slots: accounts, places: newSlots(uint32(len(accounts)), 1, homeAccount(homes))}
	var err error
	if t.owners, err = mapMemory[upfUrrOwner](owners); err != nil {
		return nil, err
	}
	t.drops, err = mapMemory[upfUrrDropped](drops)
	return t, err
}

func (t *urrTable) unmap() error { return errors.Join(t.owners.unmap(), t.drops.unmap()) }

// volume returns what the programs have of the URR in a slot.
func (t *urrTable) volume(slot uint32) *upfUrr { return &t.slots[slot].Urr }

// urr returns the slot as the model's URR, which has the same layout.
func (t *urrTable) urr(slot uint32) stages.URR {
	return stages.URR{
		Volume:  (*stages.Volume)(unsafe.Pointer(t.volume(slot))),
		Owner:   (*stages.Owner)(unsafe.Pointer(&t.owners.slots[slot])),
		Dropped: (*stages.DroppedDownlink)(unsafe.Pointer(&t.drops.slots[slot])),
	}
}

// homeAccount is home_account() of bpf/rules.h.
func homeAccount(home uint32) uint32 { return 1 + home }

// reserve takes a slot for a new URR, which starts at 0: this one, if it is free.
func (t *urrTable) reserve(seid uint64, id, home uint32) (uint32, error) {
	slot, ok := t.places.take(home)
	if !ok {
		return 0, fmt.Errorf("xdp: all %d URRs are taken: %w", len(t.slots)-1, datapath.ErrFull)
	}
	u, o := t.volume(slot), &t.owners.slots[slot]
	for i := range u.Octets {
		atomic.StoreUint64(&u.Octets[i], 0)
		atomic.StoreUint64(&u.Packets[i], 0)
	}
	for i := range o.ReachedOctets {
		atomic.StoreUint64(&o.ReachedOctets[i], 0)
		atomic.StoreUint64(&o.ReachedPackets[i], 0)
	}
	for i := range u.Limit {
		atomic.StoreUint64(&u.Limit[i], stages.NoLimit)
	}
	t.drops.slots[slot] = upfUrrDropped{}
	atomic.StoreUint32(&u.Flags, 0)
	atomic.StoreUint32(&u.Id, id)
	atomic.StoreUint64(&o.Seid, seid)
	return slot, nil
}

func (t *urrTable) release(slot uint32) {
	atomic.StoreUint64(&t.owners.slots[slot].Seid, 0)
	t.places.give(slot)
}

// adopt returns the slot that the URR had before the start, or 0.
func (t *urrTable) adopt(seid uint64, id uint32) uint32 {
	i, ok := slices.BinarySearchFunc(t.orphans, urrOrphan{seid: seid, id: id}, compareOrphans)
	if !ok {
		return 0
	}
	return t.orphans[i].slot
}

// adopted takes the slot from the orphans.
func (t *urrTable) adopted(seid uint64, id uint32) {
	if i, ok := slices.BinarySearchFunc(t.orphans, urrOrphan{seid: seid, id: id}, compareOrphans); ok {
		t.orphans[i].slot = 0
	}
}

func compareOrphans(a, b urrOrphan) int {
	return cmp.Or(cmp.Compare(a.seid, b.seid), cmp.Compare(a.id, b.id))
}
