package xdp

import (
	"errors"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// listTable keeps the lists of the programs: runs of entries and of PDRs, and the
// counters of these. A list is never changed: another one is built beside it, the
// rule changes over, and the old one is used again later on.
type listTable struct {
	entries  mapped[upfEntry]
	pdrs     mapped[upfPdr]
	counters mapped[upfPdrCounter]

	freeEntries, freePDRs, freeCounters runs

	number  uint64 // of the last list, or set of hosts
	orphans bitmap // counters of sessions from before that were not applied yet
}

func newListTable(o *objects) (*listTable, error) {
	t := &listTable{}
	var err error
	if t.entries, err = mapMemory[upfEntry](o.Entries); err != nil {
		return t, err
	}
	if t.pdrs, err = mapMemory[upfPdr](o.Pdrs); err != nil {
		return t, err
	}
	t.counters, err = mapMemory[upfPdrCounter](o.PdrCounters)
	t.freeEntries, t.freePDRs = newRuns(len(t.entries.slots)), newRuns(len(t.pdrs.slots))
	t.freeCounters = newRuns(len(t.counters.slots))
	return t, err
}

func (t *listTable) unmap() error {
	if t == nil {
		return nil
	}
	return errors.Join(t.entries.unmap(), t.pdrs.unmap(), t.counters.unmap())
}

// reserveCounter takes a slot for the counters of a PDR, which start at 0.
func (t *listTable) reserveCounter(pdrID uint32) (uint32, bool) {
	slot, ok := t.freeCounters.take(1)
	if ok {
		drainCounters(t.counter(slot))
		atomic.AddUint32(&t.counters.slots[slot].Serial, 1)
		atomic.StoreUint32(&t.counters.slots[slot].PdrId, pdrID)
	}
	return slot, ok
}

// releaseCounter gives a slot back that no session has to adopt any more.
func (t *listTable) releaseCounter(slot uint32) {
	if !t.orphans.has(slot) {
		t.freeCounters.give(slot, 1, monotonic())
	}
}

// counter returns the slot as the model's counters, which have the same layout.
func (t *listTable) counter(slot uint32) *stages.Counters {
	return (*stages.Counters)(unsafe.Pointer(&t.counters.slots[slot]))
}

// counterSlot returns the slot that c is; 0: it is none.
func (t *listTable) counterSlot(c *stages.Counters) uint32 {
	return slotOf(t.counters.slots, unsafe.Pointer(c))
}

// slotOf returns the index of what p points to in slots; 0: p is not in there.
func slotOf[T any](slots []T, p unsafe.Pointer) uint32 {
	var t T
	base := uintptr(unsafe.Pointer(unsafe.SliceData(slots)))
	i := (uintptr(p) - base) / unsafe.Sizeof(t) // of what is before the slots far too large
	if i >= uintptr(len(slots)) {
		return 0
	}
	return uint32(i)
}

// next returns a number that no list and no set of hosts has had.
func (t *listTable) next() uint64 {
	t.number++
	return t.number
}

// list is one, as a rule names it; the zero value is none.
type list struct {
	entries run // sets of UE addresses first, then that of hosts
	ues     uint32
	hosts   uint32 // 1: there is one
	upper   uint32 // 1: an entry compares what only first fragments have
	pdrs    run
	number  uint64
}

// of returns the list that a rule with RULE_LIST names.
func (t *listTable) of(r *upfRule) list {
	l := list{
		ues: r.Meter[1] >> listUESShift, hosts: r.Meter[1] & listHosts / listHosts, upper: r.Meter[1] & listUpper / listUpper, number: r.UeIp6,
	}
	l.entries = run{r.Meter[0], l.before() + r.Meter[1]&listCountMask}
	if l.entries.length == l.before() || int(l.entries.first+l.entries.length) > len(t.entries.slots) {
		return list{}
	}
	first := t.entries.slots[l.entries.first+l.before()].Pdr
	last := t.entries.slots[l.entries.first+l.entries.length-1].Pdr
	if last < first || int(last) >= len(t.pdrs.slots) {
		return list{}
	}
	l.pdrs = run{first, last - first + 1}
	return l
}

// before is how many entries stand before those that match.
func (l list) before() uint32 { return l.ues + l.hosts }

// name makes r name the list.
func (l list) name(r *upfRule) {
	r.Meter = [2]uint32{l.entries.first, l.entries.length - l.before() | l.hosts*listHosts | l.upper*listUpper | l.ues<<listUESShift}
	r.UeIp6 = l.number
}

// records returns the PDRs of a list.
func (t *listTable) records(l list) []upfPdr { return t.pdrs.slots[l.pdrs.first:][:l.pdrs.length] }

// install puts a list into runs of its own that no packet sees yet, or returns
// had, if that is the same already. It reports false if there is no room.
func (t *listTable) install(b *listBuilder, had list) (list, bool) {
	if t.same(b, had) {
		return had, true
	}
	l := b.shape()
	var ok bool
	if l.entries.first, ok = t.freeEntries.take(int(l.entries.length)); !ok {
		return list{}, false
	}
	if l.pdrs.first, ok = t.freePDRs.take(int(l.pdrs.length)); !ok {
		t.freeEntries.give(l.entries.first, int(l.entries.length), 0)
		return list{}, false
	}
	l.number = t.next()
	copy(t.records(l), b.pdrs)
	to := t.entries.slots[l.entries.first:][:l.entries.length]
	n := copy(to, b.before())
	for i, e := range b.entries {
		e.Pdr += l.pdrs.first
		to[n+i] = e
	}
	return l, true
}

// same reports whether l is what b has built.
func (t *listTable) same(b *listBuilder, l list) bool {
	if s := b.shape(); l.entries.length != s.entries.length || l.ues != s.ues || l.hosts != s.hosts || l.pdrs.length != s.pdrs.length {
		return false
	}
	had := t.entries.slots[l.entries.first:][:l.entries.length]
	before := b.before()
	if !slices.Equal(had[:len(before)], before) {
		return false
	}
	for i, e := range b.entries {
		e.Pdr += l.pdrs.first
		if had[len(before)+i] != e {
			return false
		}
	}
	for i, p := range t.records(l) {
		if p != b.pdrs[i] {
			return false
		}
	}
	return true
}

// remove gives a list back that no rule names any more. Packets may have seen it
// until now_ns; 0: none has.
func (t *listTable) remove(l list, nowNs uint64) {
	if l.entries.length == 0 {
		return
	}
	t.freeEntries.give(l.entries.first, int(l.entries.length), nowNs)
	t.freePDRs.give(l.pdrs.first, int(l.pdrs.length), nowNs)
}
