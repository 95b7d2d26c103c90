package bmv2

import (
	"math/bits"
	"sync/atomic"
)

// table is a match-action table with its entries.
//
// Entries are rows of one flat array, found through one index of slots: 32 bits of hash, 32 bits of row number plus one,
// with linear probing.
//
//	row:  state │ priority, tuple │ key │ ranges │ parameters │ counter
//	      1       0 or 1            n     2 each   n            0 or 2 words
//
// In an exact table the key is hashed as it is. In others each set of masks is a tuple: the key under the masks is
// hashed with the tuple's own seed. Tuples are searched in the order of the greatest priority that they have, until no
// other can have a greater one. The prefix length is the priority of LPM. Rows with the same key under the same masks are a
// chain in order of priority; ranges are compared in it, and narrow the search by the bits that all their values share.
type table struct {
	def    *tableDef
	rows   []uint64
	n      int // entries
	room   int // rows that there is memory for
	top    int // rows that were ever used
	free   uint32
	index  []uint64
	heads  int // slots in use
	seed   uint64
	meters []meterCell

	tuples  []tuple
	order   []int32
	byMask  map[string]int32
	spare   []int32
	defSlot int // -1: no action
	defData []uint64

	// Memory for one change; the caller holds the instance.
	m    match
	data []uint64
	name []byte
}

// tuple is a set of masks that entries have.
type tuple struct {
	mask     []uint64
	seed     uint64
	entries  int
	priority int32 // no entry has a greater one
}

// tableDef is what the program says of a table.
type tableDef struct {
	size     int
	keys     []keyPart
	keyWords int
	ranges   []int // keys that are ranges
	exact    bool
	only     int // the word that is the key, if it is exact and all that is compared; else -1
	priority bool
	lpm      int // the key that is LPM, or -1

	prioAt, keyAt, rangeAt, dataAt, countAt, rowWords int // words of a row
	counter                                           bool
	meter                                             bool
	meterOctets                                       bool
	meterTo                                           *target

	actions           []tableAction
	hitMiss           bool
	hitNext, missNext int
	none              int // what follows if there is no default action
	defSlot           int
	defData           []uint64
	entries           []Entry
}

// tableAction is an action that the table's entries may have, and what follows it.
type tableAction struct {
	id   int
	def  *actionDef
	next int

	// The action's body, or a call of it if registers have to be locked.
	code  []instr
	start int32
}

// keyPart is a field of a key.
type keyPart struct {
	ref  paramRef
	kind MatchKind
	num  num
	wide wideFn
	off  int // of a field of one word, or -1
}

const (
	rowUsed  = 1
	rowConst = 2
)

// State of a row: the action's slot in bits 8 to 31, the next row of the chain plus one in bits 32 to 63.
func rowSlot(state uint64) int    { return int(state >> 8 & 0xffffff) }
func rowNext(state uint64) uint32 { return uint32(state >> 32) }

// hashWord is hashKey of one word.
func hashWord(seed, key uint64) uint64 {
	hi, lo := bits.Mul64(seed^key, 0x9e3779b97f4a7c15)
	hi, lo = bits.Mul64(hi^lo^seed, 0xd6e8feb86659fd93)
	return hi ^ lo
}

func hashKey(seed uint64, key []uint64) uint64 {
	h := seed
	for _, w := range key {
		hi, lo := bits.Mul64(h^w, 0x9e3779b97f4a7c15)
		h = hi ^ lo ^ seed
	}
	hi, lo := bits.Mul64(h, 0xd6e8feb86659fd93)
	return hi ^ lo
}

// apply matches the packet, and gives the action that is to run, with its parameters in c.loc, and the instruction that
// follows. nil: there is no action.
func (t *table) apply(c *ctx) (*tableAction, int32) {
	d := t.def
	row := -1
	switch {
	case t.n == 0:
	case d.only >= 0:
		row = t.findWord(c.f[d.only])
	default:
		row = t.look(c)
	}
	if row < 0 {
		return t.miss(c)
	}
	r := t.rows[row*d.rowWords : (row+1)*d.rowWords]
	if d.counter {
		atomic.AddUint64(&r[d.countAt], 1)
		atomic.AddUint64(&r[d.countAt+1], uint64(c.inLen))
	}
	if d.meter {
		d.meterTo.set(c, t.meters[row].execute(c.now, meterUnits(d.meterOctets, c.inLen)))
	}
	a := &d.actions[rowSlot(r[0])]
	c.loc = r[d.dataAt:]
	if d.hitMiss {
		return a, int32(d.hitNext)
	}
	return a, int32(a.next)
}

// look finds the row that matches the packet, or -1.
func (t *table) look(c *ctx) int {
	d := t.def
	key := c.key[:d.keyWords]
	clear(key)
	for i := range d.keys {
		k := &d.keys[i]
		switch {
		case k.off >= 0:
			key[k.ref.word] |= c.f[k.off] << (uint(k.ref.shift) & 63)
		case k.wide != nil:
			k.wide(c, key[k.ref.word:k.ref.word+(k.ref.width+63)/64])
		default:
			key[k.ref.word] |= k.num.fn(c) & mask64(k.ref.width) << uint(k.ref.shift)
		}
	}
	if d.exact {
		return t.find(hashKey(t.seed, key), key)
	}
	return t.search(c, key)
}

// findWord is find for a key of one word.
func (t *table) findWord(key uint64) int {
	tag, mask := uint32(hashWord(t.seed, key)), uint32(len(t.index)-1)
	rw, at := t.def.rowWords, t.def.keyAt
	for pos := tag & mask; ; pos = (pos + 1) & mask {
		slot := t.index[pos]
		if slot == 0 {
			return -1
		}
		if uint32(slot>>32) != tag {
			continue
		}
		if row := int(uint32(slot)) - 1; t.rows[row*rw+at] == key {
			return row
		}
	}
}

func (t *table) miss(c *ctx) (*tableAction, int32) {
	d := t.def
	if t.defSlot < 0 {
		if d.hitMiss {
			return nil, int32(d.missNext)
		}
		return nil, int32(d.none)
	}
	a := &d.actions[t.defSlot]
	c.loc = t.defData
	if d.hitMiss {
		return a, int32(d.missNext)
	}
	return a, int32(a.next)
}

// find gives the row of an exact table with a key, or -1.
func (t *table) find(h uint64, key []uint64) int {
	tag, mask := uint32(h), uint32(len(t.index)-1)
	rw, at := t.def.rowWords, t.def.keyAt
probe:
	for pos := tag & mask; ; pos = (pos + 1) & mask {
		slot := t.index[pos]
		if slot == 0 {
			return -1
		}
		if uint32(slot>>32) != tag {
			continue
		}
		row := int(uint32(slot)) - 1
		k := t.rows[row*rw+at:]
		k = k[:len(key)]
		for i := range key {
			if k[i] != key[i] {
				continue probe
			}
		}
		return row
	}
}

// head gives the slot of a chain, or of the place where it would be.
func (t *table) head(h uint64, tup int32, key []uint64) (pos uint32, row int) {
	tag, mask := uint32(h), uint32(len(t.index)-1)
	d := t.def
probe:
	for pos := tag & mask; ; pos = (pos + 1) & mask {
		slot := t.index[pos]
		if slot == 0 {
			return pos, -1
		}
		if uint32(slot>>32) != tag {
			continue
		}
		row := int(uint32(slot)) - 1
		r := t.rows[row*d.rowWords : (row+1)*d.rowWords]
		if !d.exact && int32(r[d.prioAt]>>32) != tup {
			continue
		}
		for i := range key {
			if r[d.keyAt+i] != key[i] {
				continue probe
			}
		}
		return pos, row
	}
}

// search gives the row of the greatest priority that matches, or -1.
func (t *table) search(c *ctx, key []uint64) int {
	d := t.def
	best, prio := -1, int32(-1)
	masked := c.wide[:len(key)]
	for _, i := range t.order {
		tp := &t.tuples[i]
		if tp.priority <= prio {
			break
		}
		for w := range masked {
			masked[w] = key[w] & tp.mask[w]
		}
		_, row := t.head(hashKey(tp.seed, masked), i, masked)
		for row >= 0 {
			r := t.rows[row*d.rowWords : (row+1)*d.rowWords]
			p := int32(uint32(r[d.prioAt]))
			if p <= prio {
				break
			}
			if t.inRanges(r, key) {
				best, prio = row, p
				break
			}
			row = int(rowNext(r[0])) - 1
		}
	}
	return best
}

// inRanges tells whether the key's ranges contain it.
func (t *table) inRanges(r, key []uint64) bool {
	at := t.def.rangeAt
	for i, k := range t.def.ranges {
		ref := &t.def.keys[k].ref
		v := key[ref.word] >> uint(ref.shift) & mask64(ref.width)
		if v < r[at+2*i] || v > r[at+2*i+1] {
			return false
		}
	}
	return true
}
