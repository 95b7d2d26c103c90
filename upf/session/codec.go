package session

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"slices"
)

// errRecord: the octets are no record that this version wrote.
var errRecord = errors.New("malformed session record")

// writer appends the parts of a record. Numbers are unsigned LEB128, of which
// every value has one form.
type writer struct {
	b     []byte
	names []string // in the order in which they first occur in the record
}

func (w *writer) number(v uint64) { w.b = binary.AppendUvarint(w.b, v) }

// fields writes a list of at most 64 numbers, of which most are 0: a mask that
// has bit i if number i is not 0, and then those that are not.
func (w *writer) fields(v []uint64) {
	var mask uint64
	for i, x := range v {
		if x != 0 {
			mask |= 1 << i
		}
	}
	w.number(mask)
	for ; mask != 0; mask &= mask - 1 {
		w.number(v[bits.TrailingZeros64(mask)])
	}
}

// name writes a text once: from then on its number is used.
func (w *writer) name(s string) {
	i := slices.Index(w.names, s)
	if i >= 0 {
		w.number(uint64(i))
		return
	}
	w.number(uint64(len(w.names)))
	w.names = append(w.names, s)
	w.number(uint64(len(s)))
	w.b = append(w.b, s...)
}

// reader takes a record apart. After an error everything reads as 0, so the
// caller asks once, in the end; lists stop growing.
type reader struct {
	b     []byte
	bad   bool
	names []string
	texts *texts
}

func (r *reader) fail() { r.bad, r.b = true, nil }

func (r *reader) number() uint64 {
	if len(r.b) > 0 && r.b[0] < 0x80 {
		v := r.b[0]
		r.b = r.b[1:]
		return uint64(v)
	}
	v, n := binary.Uvarint(r.b)
	if n <= 0 || r.b[n-1] == 0 { // too short, too long, or not the shortest form
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

// fields is the inverse of writer.fields.
func (r *reader) fields(v []uint64) {
	clear(v)
	mask := r.number()
	if mask>>len(v) != 0 {
		r.fail()
		return
	}
	for ; mask != 0; mask &= mask - 1 {
		x := r.number()
		if x == 0 {
			r.fail()
			return
		}
		v[bits.TrailingZeros64(mask)] = x
	}
}

// name is the inverse of writer.name.
func (r *reader) name() string {
	i := r.number()
	if i < uint64(len(r.names)) {
		return r.names[i]
	}
	n := r.number()
	if i > uint64(len(r.names)) || n > uint64(len(r.b)) {
		r.fail()
		return ""
	}
	s := r.texts.of(r.b[:n])
	if r.b = r.b[n:]; slices.Contains(r.names, s) {
		r.fail()
		return ""
	}
	r.names = append(r.names, s)
	return s
}

// text reads a name that is said to be there.
func (r *reader) text() string {
	s := r.name()
	if s == "" {
		r.fail()
	}
	return s
}

// list returns memory for n elements, each of which takes an octet or more, or nil
// if there cannot be so many.
func list[T any](r *reader, n uint64) []T {
	if n > uint64(len(r.b)) {
		r.fail()
		return nil
	}
	if n == 0 {
		return nil
	}
	return make([]T, n)
}

// narrow is v as a T, or a fault of the record if it does not fit.
func narrow[T ~uint8 | ~uint16 | ~uint32](r *reader, v uint64) T {
	if v != uint64(T(v)) {
		r.fail()
		return 0
	}
	return T(v)
}

// next lengthens a list by one element, which keeps what slices it has from
// earlier use.
func next[T any](list *[]T) *T {
	if n := len(*list); n < cap(*list) {
		*list = (*list)[:n+1]
	} else {
		*list = append(*list, *new(T))
	}
	return &(*list)[len(*list)-1]
}

// pack writes flags as bits, the first one lowest.
func pack(flags ...bool) (v uint64) {
	for i, f := range flags {
		if f {
			v |= 1 << i
		}
	}
	return v
}

// flags fails if more than n bits of v are in use.
func (r *reader) flags(v uint64, n int) {
	if v>>n != 0 {
		r.fail()
	}
}

// limit fails if there are more than maxRecordRules of something.
func (r *reader) limit(n uint64) {
	if n > maxRecordRules {
		r.fail()
	}
}

// plus1 makes a number of a parameter that may be absent: 0 if it is.
func plus1[T ~uint8 | ~uint16 | ~uint32](o Optional[T]) uint64 {
	if !o.Present {
		return 0
	}
	return uint64(o.Value) + 1
}

// minus1 is the inverse of plus1.
func minus1[T ~uint8 | ~uint16 | ~uint32](r *reader, v uint64) Optional[T] {
	if v == 0 {
		return Optional[T]{}
	}
	return Some(narrow[T](r, v-1))
}

// texts makes the same string of the same octets, so that decoding a record
// allocates nothing for the names that all sessions have.
type texts struct {
	known map[string]string
}

// maxTexts bounds the memory of texts; then they are forgotten.
const maxTexts = 1024

func (t *texts) of(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if s, ok := t.known[string(b)]; ok { // without allocation
		return s
	}
	if t.known == nil || len(t.known) >= maxTexts {
		t.known = make(map[string]string)
	}
	s := string(b)
	t.known[s] = s
	return s
}
