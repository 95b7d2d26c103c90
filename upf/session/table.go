package session

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
)

// slotBits is how many of the low bits of a SEID are the number of its slot in
// the table. Above these are 32 random bits, so that a SEID cannot be guessed
// from another, and the number of the agent.
const slotBits = 24

const chunkEntries = 1024

// table has an entry for each session, found by the slot number in its SEID. Its
// memory grows, in chunks, with the number of sessions.
type table struct {
	chunks [1 << slotBits / chunkEntries]atomic.Pointer[[chunkEntries]entry]

	mu    sync.Mutex
	fresh uint32   // slots from here on were never reserved, but for those of restored sessions
	freed []uint32 // slots to use again, the last one first
	used  int
}

// entry is the place of one session: one cache line.
type entry struct {
	change sync.Mutex // held while the session is changed, the datapath's work included

	mu     sync.Mutex // held to read or write what follows
	seid   uint64     // 0: free
	record []byte     // nil: being established

	_ [16]byte
}

// at returns the entry of a slot, or nil if none near it was ever used.
func (t *table) at(slot uint32) *entry {
	c := t.chunks[slot/chunkEntries].Load()
	if c == nil {
		return nil
	}
	return &c[slot%chunkEntries]
}

// make returns the entry of a slot. The caller holds t.mu.
func (t *table) make(slot uint32) *entry {
	c := &t.chunks[slot/chunkEntries]
	if c.Load() == nil {
		c.Store(new([chunkEntries]entry))
	}
	return t.at(slot)
}

// reserve finds a free slot and makes a SEID for an agent of it. It reports
// false if there are limit sessions already.
func (t *table) reserve(agent uint8, limit int) (uint64, *entry, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.used >= limit {
		return 0, nil, false
	}
	e, slot := t.free()
	seid := uint64(0)
	for seid == 0 {
		seid = uint64(agent)<<56 | uint64(rand.Uint32())<<slotBits | uint64(slot)
	}
	t.used++
	e.mu.Lock()
	e.seid = seid
	e.mu.Unlock()
	return seid, e, true
}

// free finds a free slot: there is one, as there are not as many sessions as
// slots. The caller holds t.mu.
func (t *table) free() (*entry, uint32) {
	for n := len(t.freed); n > 0; n = len(t.freed) {
		slot := t.freed[n-1]
		t.freed = t.freed[:n-1]
		if e := t.at(slot); e.taken() == 0 {
			return e, slot
		}
	}
	for {
		slot := t.fresh & (1<<slotBits - 1)
		t.fresh++
		if e := t.make(slot); e.taken() == 0 {
			return e, slot
		}
	}
}

func (e *entry) taken() uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.seid
}

// occupy makes an entry for a SEID that a restored session has. It reports false
// if its slot is taken, or there are limit sessions.
func (t *table) occupy(seid uint64, limit int) (*entry, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.make(slotOf(seid))
	if t.used >= limit || seid == 0 || e.taken() != 0 {
		return nil, false
	}
	t.used++
	e.mu.Lock()
	e.seid = seid
	e.mu.Unlock()
	return e, true
}

// release makes the entry of a session free.
func (t *table) release(seid uint64) {
	slot := slotOf(seid)
	e := t.at(slot)
	e.mu.Lock()
	e.seid, e.record = 0, nil
	e.mu.Unlock()
	t.mu.Lock()
	t.freed = append(t.freed, slot)
	t.used--
	t.mu.Unlock()
}

// find returns the entry of a session, or nil. It may be released meanwhile.
func (t *table) find(seid uint64) *entry {
	if e := t.at(slotOf(seid)); e != nil && seid != 0 && e.taken() == seid {
		return e
	}
	return nil
}

// len is how many sessions there are, those included that are being established.
func (t *table) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.used
}

// slotOf is the slot number in a SEID.
func slotOf(seid uint64) uint32 { return uint32(seid & (1<<slotBits - 1)) }

// holderOf is what places, claims and the like know a session by: never 0.
func holderOf(seid uint64) uint32 { return slotOf(seid) + 1 }

// read decodes the session of a SEID into s. It reports false if there is none.
func (e *entry) read(seid uint64, s *Session, r *reader) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.seid != seid || e.record == nil {
		return false
	}
	if err := readRecord(s, seid, e.record, r); err != nil {
		panic(err) // we wrote it
	}
	return true
}

// write replaces the record, in place if it fits.
func (e *entry) write(record []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if n := len(record); n > cap(e.record) || n < cap(e.record)/2 {
		e.record = nil // append makes room up to the next size of Go's memory
	}
	e.record = append(e.record[:0], record...)
}

// adopt makes a record, which is the entry's from now on, that of its session.
func (e *entry) adopt(record []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.record = record
}
