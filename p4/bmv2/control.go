package bmv2

import (
	"fmt"
	"math/bits"
	"slices"
	"sync/atomic"
)

// match is what an entry matches, in words.
type match struct {
	key, mask []uint64 // key is under mask
	ranges    []uint64 // lowest and highest values
	priority  int32

	value, of [maxFieldWidth / 64]uint64 // of the field that is looked at, and its mask
}

// match turns an entry's match into words, in memory of the table: they are good until the next call.
func (t *table) match(e *Entry) (*match, error) {
	d, m := t.def, &t.m
	clear(m.key)
	clear(m.mask)
	m.ranges, m.priority = m.ranges[:0], e.Priority
	if len(e.Match) != len(d.keys) {
		return nil, fmt.Errorf("%w: %d match fields instead of %d", ErrInvalid, len(e.Match), len(d.keys))
	}
	if d.priority != (e.Priority != 0) || e.Priority < 0 {
		return nil, fmt.Errorf("%w: priority %d", ErrInvalid, e.Priority)
	}
	for i := range d.keys {
		if err := d.keys[i].match(m, &e.Match[i]); err != nil {
			return nil, fmt.Errorf("match field %d: %w", i, err)
		}
		if i == d.lpm && e.Match[i].Value != nil {
			m.priority = int32(e.Match[i].PrefixLen)
		}
	}
	return m, nil
}

// match adds one field.
func (k *keyPart) match(m *match, v *Match) error {
	w := k.ref.width
	n := (w + 63) / 64
	value, mask := m.value[:n], m.of[:n]
	if v.Value == nil {
		switch k.kind {
		case Exact:
			return fmt.Errorf("%w: no value", ErrInvalid)
		case Range:
			m.ranges = append(m.ranges, 0, mask64(w))
		}
		return nil
	}
	if !octetsWords(v.Value, w, value) {
		return fmt.Errorf("%w: value %x has more than %d bits", ErrInvalid, v.Value, w)
	}
	switch k.kind {
	case Exact:
		prefixMask(mask, w, w)
	case LPM:
		if v.PrefixLen < 0 || v.PrefixLen > w {
			return fmt.Errorf("%w: prefix length %d is not within 0 and %d", ErrInvalid, v.PrefixLen, w)
		}
		prefixMask(mask, w, v.PrefixLen)
	case Ternary:
		if !octetsWords(v.Mask, w, mask) {
			return fmt.Errorf("%w: mask %x has more than %d bits", ErrInvalid, v.Mask, w)
		}
	case Range:
		if !octetsWords(v.High, w, mask) || mask[0] < value[0] {
			return fmt.Errorf("%w: range from %x to %x", ErrInvalid, v.Value, v.High)
		}
		low, high := value[0], mask[0]
		m.ranges = append(m.ranges, low, high)
		// The bits that all values of the range share.
		prefixMask(mask, w, w-bits.Len64(low^high))
		value[0] &= mask[0]
	}
	for i := range value {
		if value[i]&^mask[i] != 0 {
			return fmt.Errorf("%w: value %x has bits that are not matched", ErrInvalid, v.Value)
		}
	}
	k.ref.put(m.key, value)
	k.ref.put(m.mask, mask)
	return nil
}

// prefixMask sets the n highest of w bits.
func prefixMask(mask []uint64, w, n int) {
	for i := range mask {
		// Of this word: its bits, and those of them that are behind the prefix.
		all, behind := min(64, w-64*i), min(64, max(0, w-n-64*i))
		mask[i] = mask64(all) &^ mask64(behind)
	}
}

// action turns an action and its parameters into a slot and words, in memory that has room for them.
func (d *tableDef) action(p *Program, id int, params [][]byte, data []uint64) (int, error) {
	slot := slices.IndexFunc(d.actions, func(a tableAction) bool { return a.id == id })
	if slot < 0 {
		return 0, fmt.Errorf("%w: action %d is not one of the table's", ErrInvalid, id)
	}
	def := &p.adefs[id]
	if len(params) != len(def.params) {
		return 0, fmt.Errorf("%w: action %q with %d parameters instead of %d", ErrInvalid, p.actions[id].Name,
			len(params), len(def.params))
	}
	clear(data)
	var words [maxFieldWidth / 64]uint64
	for i, ref := range def.params {
		v := words[:(ref.width+63)/64]
		if !octetsWords(params[i], ref.width, v) {
			return 0, fmt.Errorf("%w: parameter %q: %x has more than %d bits", ErrInvalid,
				p.actions[id].Params[i].Name, params[i], ref.width)
		}
		ref.put(data, v)
	}
	return slot, nil
}

// add adds an entry, and gives its row.
func (t *table) add(p *Program, e *Entry, flags uint64, now int64) (int, error) {
	m, err := t.match(e)
	if err != nil {
		return 0, err
	}
	slot, err := t.def.action(p, e.Action, e.Params, t.data)
	if err != nil {
		return 0, err
	}
	f := t.locate(m)
	if f.row >= 0 {
		return 0, ErrExists
	}
	if t.n >= t.def.size {
		return 0, fmt.Errorf("%w: %d entries", ErrFull, t.n)
	}
	i := t.insert(m, f, slot, t.data, flags)
	t.attach(i, e, now)
	return i, nil
}

// attach sets the counter and the meter of a row, if the entry has them.
func (t *table) attach(i int, e *Entry, now int64) {
	if r := t.row(i); t.def.counter && e.Counter != nil {
		atomic.StoreUint64(&r[t.def.countAt], e.Counter.Packets)
		atomic.StoreUint64(&r[t.def.countAt+1], e.Counter.Octets)
	}
	if t.def.meter && e.Meter != nil {
		t.meters[i].configure(e.Meter, now)
	}
}

// entry makes a row an entry again.
func (t *table) entry(i int) Entry {
	d := t.def
	r := t.row(i)
	var e Entry
	mask := make([]uint64, d.keyWords)
	if d.exact {
		for w := range mask {
			mask[w] = ^uint64(0)
		}
	} else {
		copy(mask, t.tuples[int32(r[d.prioAt]>>32)].mask)
	}
	if d.priority {
		e.Priority = int32(uint32(r[d.prioAt]))
	}
	ranges := r[d.rangeAt:]
	for k := range d.keys {
		e.Match = append(e.Match, d.keys[k].unmatch(r[d.keyAt:d.dataAt], mask, &ranges))
	}
	a := &d.actions[rowSlot(r[0])]
	e.Action, e.Params = a.id, a.def.octets(r[d.dataAt:])
	e.Const = r[0]&rowConst != 0
	if d.counter {
		e.Counter = &CounterValue{atomic.LoadUint64(&r[d.countAt]), atomic.LoadUint64(&r[d.countAt+1])}
	}
	if d.meter && t.meters[i].set.Load() {
		c := t.meters[i].cfg
		e.Meter = &c
	}
	return e
}

// octets gives the parameters in words as octet strings.
func (a *actionDef) octets(data []uint64) [][]byte {
	var out [][]byte
	for _, ref := range a.params {
		out = append(out, wordsOctets(ref.get(data)))
	}
	return out
}

// unmatch gives one field of a match back. What says nothing has no value.
func (k *keyPart) unmatch(key, mask []uint64, ranges *[]uint64) Match {
	v, m := k.ref.get(key), k.ref.get(mask)
	ones := 0
	for _, w := range m {
		ones += bits.OnesCount64(w)
	}
	switch k.kind {
	case Range:
		r := *ranges
		*ranges = r[2:]
		if r[0] == 0 && r[1] == mask64(k.ref.width) {
			return Match{}
		}
		return Match{Value: wordsOctets(r[:1]), High: wordsOctets(r[1:2])}
	case Exact:
		return Match{Value: wordsOctets(v)}
	}
	switch {
	case ones == 0:
		return Match{}
	case k.kind == LPM:
		return Match{Value: wordsOctets(v), PrefixLen: ones}
	}
	return Match{Value: wordsOctets(v), Mask: wordsOctets(m)}
}
