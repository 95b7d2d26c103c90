package bmv2

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
)

// found is where an entry is, or would be.
type found struct {
	hash  uint64
	tuple int32
	row   int // -1: it is not there
	prev  int // of the chain, -1: row is its head
}

func newTable(d *tableDef) *table {
	t := &table{def: d, seed: rand.Uint64(), byMask: map[string]int32{}, defSlot: d.defSlot,
		defData: slices.Clone(d.defData)}
	t.index = make([]uint64, 8)
	t.m.key, t.m.mask, t.data = make([]uint64, d.keyWords), make([]uint64, d.keyWords), make([]uint64, d.countAt-d.dataAt)
	return t
}

func (t *table) row(i int) []uint64 {
	return t.rows[i*t.def.rowWords : (i+1)*t.def.rowWords]
}

// maskName is what a set of masks is found by, in memory of the table.
func (t *table) maskName(mask []uint64) []byte {
	t.name = t.name[:0]
	for _, w := range mask {
		t.name = binary.BigEndian.AppendUint64(t.name, w)
	}
	return t.name
}

// locate finds the entry with a match and priority.
func (t *table) locate(m *match) found {
	f := found{row: -1, prev: -1, tuple: -1}
	if t.def.exact {
		f.hash = hashKey(t.seed, m.key)
		f.row = t.find(f.hash, m.key)
		return f
	}
	i, there := t.byMask[string(t.maskName(m.mask))]
	if !there {
		return f
	}
	f.tuple, f.hash = i, hashKey(t.tuples[i].seed, m.key)
	_, row := t.head(f.hash, i, m.key)
	for prev := -1; row >= 0; {
		r := t.row(row)
		if int32(uint32(r[t.def.prioAt])) == m.priority && slices.Equal(r[t.def.rangeAt:t.def.rangeAt+len(m.ranges)], m.ranges) {
			f.row, f.prev = row, prev
			return f
		}
		prev, row = row, int(rowNext(r[0]))-1
	}
	return f
}

// insert adds an entry that is not there.
func (t *table) insert(m *match, f found, slot int, data []uint64, flags uint64) int {
	d := t.def
	i := t.newRow()
	r := t.row(i)
	clear(r)
	r[0] = rowUsed | flags | uint64(slot)<<8
	copy(r[d.keyAt:], m.key)
	copy(r[d.rangeAt:], m.ranges)
	copy(r[d.dataAt:], data)
	t.n++
	if d.exact {
		t.link(f.hash, i)
		return i
	}
	if f.tuple < 0 {
		f.tuple = t.newTuple(m.mask)
		f.hash = hashKey(t.tuples[f.tuple].seed, m.key)
	}
	r[d.prioAt] = uint64(uint32(m.priority)) | uint64(f.tuple)<<32
	tp := &t.tuples[f.tuple]
	tp.entries++
	if m.priority > tp.priority {
		tp.priority = m.priority
		t.sort()
	}
	t.chain(m, f, i)
	return i
}

// chain puts a row into its chain, behind those of a greater priority.
func (t *table) chain(m *match, f found, i int) {
	pos, row := t.head(f.hash, f.tuple, m.key)
	if row < 0 {
		t.link(f.hash, i)
		return
	}
	prev := -1
	for row >= 0 && int32(uint32(t.row(row)[t.def.prioAt])) >= m.priority {
		prev, row = row, int(rowNext(t.row(row)[0]))-1
	}
	setNext(t.row(i), row)
	if prev < 0 {
		t.index[pos] = t.index[pos]>>32<<32 | uint64(i+1)
	} else {
		setNext(t.row(prev), i)
	}
}

func setNext(r []uint64, row int) {
	r[0] = r[0]&0xffffffff | uint64(uint32(row+1))<<32
}

// remove takes an entry out.
func (t *table) remove(f found) {
	d := t.def
	r := t.row(f.row)
	next := int(rowNext(r[0])) - 1
	switch {
	case f.prev >= 0:
		setNext(t.row(f.prev), next)
	case next >= 0:
		pos := t.slotOf(f.hash, f.row)
		t.index[pos] = t.index[pos]>>32<<32 | uint64(next+1)
	default:
		t.unlink(t.slotOf(f.hash, f.row))
	}
	if !d.exact {
		if tp := &t.tuples[f.tuple]; tp.entries == 1 {
			delete(t.byMask, string(t.maskName(tp.mask)))
			*tp = tuple{}
			t.spare = append(t.spare, f.tuple)
			t.order = slices.DeleteFunc(t.order, func(i int32) bool { return i == f.tuple })
		} else {
			tp.entries--
		}
	}
	clear(r)
	// Free rows are a chain, too.
	r[0] = uint64(t.free) << 32
	t.free = uint32(f.row + 1)
	t.n--
	if d.meter {
		t.meters[f.row].configure(nil, 0)
	}
}

// newRow gives a row that is not used.
func (t *table) newRow() int {
	if t.free != 0 {
		i := int(t.free) - 1
		t.free = rowNext(t.row(i)[0])
		return i
	}
	if t.top == t.room {
		t.room = min(max(2*t.room, 16), t.def.size)
		rows := make([]uint64, t.room*t.def.rowWords)
		copy(rows, t.rows)
		t.rows = rows
		if t.def.meter {
			meters := make([]meterCell, t.room)
			for i := range t.meters {
				meters[i].take(&t.meters[i])
			}
			t.meters = meters
		}
	}
	t.top++
	return t.top - 1
}

func (t *table) newTuple(mask []uint64) int32 {
	tp := tuple{mask: slices.Clone(mask), seed: rand.Uint64(), priority: -1}
	var i int32
	if n := len(t.spare); n > 0 {
		i, t.spare = t.spare[n-1], t.spare[:n-1]
		t.tuples[i] = tp
	} else {
		i = int32(len(t.tuples))
		t.tuples = append(t.tuples, tp)
	}
	t.byMask[string(t.maskName(mask))] = i
	t.order = append(t.order, i)
	return i
}

// sort puts tuples of a greater priority first.
func (t *table) sort() {
	slices.SortStableFunc(t.order, func(a, b int32) int { return int(t.tuples[b].priority) - int(t.tuples[a].priority) })
}

// link puts a row into the index.
func (t *table) link(h uint64, row int) {
	if 8*(t.heads+1) > 5*len(t.index) {
		old := t.index
		t.index = make([]uint64, 2*len(old))
		for _, slot := range old {
			if slot != 0 {
				t.place(slot)
			}
		}
	}
	t.heads++
	t.place(h<<32 | uint64(row+1))
}

func (t *table) place(slot uint64) {
	mask := uint32(len(t.index) - 1)
	pos := uint32(slot>>32) & mask
	for t.index[pos] != 0 {
		pos = (pos + 1) & mask
	}
	t.index[pos] = slot
}

// slotOf finds the slot of a row.
func (t *table) slotOf(h uint64, row int) uint32 {
	mask := uint32(len(t.index) - 1)
	pos := uint32(h) & mask
	for uint32(t.index[pos]) != uint32(row+1) {
		pos = (pos + 1) & mask
	}
	return pos
}

// unlink empties a slot, and moves up those behind that would not be found any more.
func (t *table) unlink(pos uint32) {
	mask := uint32(len(t.index) - 1)
	t.heads--
	hole := pos
	for i := (pos + 1) & mask; t.index[i] != 0; i = (i + 1) & mask {
		home := uint32(t.index[i]>>32) & mask
		if (i-home)&mask >= (i-hole)&mask {
			t.index[hole] = t.index[i]
			hole = i
		}
	}
	t.index[hole] = 0
}
