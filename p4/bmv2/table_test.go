package bmv2

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// keyFields are what the tables of the tests match.
var keyFields = []struct {
	name  string
	width int
}{{"a", 16}, {"b", 32}, {"c", 128}, {"d", 8}, {"pad", 8}}

// tableProgram has one table with these kinds of keys, whose action writes its parameter into the frame that leaves:
// 0 is the default.
func tableProgram(size int, kinds ...string) *program {
	p := newProgram()
	var fs []any
	for _, f := range keyFields {
		fs = append(fs, f.name, f.width)
	}
	p.header("h", false, fs...)
	p.header("o", false, "result", 32)
	p.state("start", list{extractOf("h")}, nil, "", "")
	a := p.action("a", []int{32}, primOf("add_header", headerOf("o")), primOf("assign", fieldOf("o", "result"), paramOf(0)))
	var keys list
	for i, k := range kinds {
		keys = append(keys, obj{"match_type": k, "name": keyFields[i].name, "target": list{"h", keyFields[i].name}, "mask": nil})
	}
	t := p.table("t", keys, a, list{"0x0"}, nil)
	t["max_size"], t["with_counters"] = size, true
	p.order = list{"o"}
	return p
}

// keyFrame is a frame with these values of the key fields.
func keyFrame(v [4][]byte) []byte {
	var b []byte
	for i := range v {
		b = append(b, v[i]...)
	}
	return append(b, 0)
}

// modelEntry is an entry of the model: a list that is searched from end to end.
type modelEntry struct {
	e    Entry
	id   uint32
	name string // of match and priority
}

func (m *modelEntry) matches(kinds []string, v [4][]byte) bool {
	for i, k := range kinds {
		x := &m.e.Match[i]
		if x.Value == nil {
			continue
		}
		val := make([]byte, len(v[i]))
		copy(val[len(val)-len(x.Value):], x.Value)
		mask := bytes.Repeat([]byte{255}, len(val))
		switch k {
		case "lpm":
			for bit := x.PrefixLen; bit < 8*len(mask); bit++ {
				mask[bit/8] &^= 0x80 >> (bit % 8)
			}
		case "ternary":
			mask = make([]byte, len(val))
			copy(mask[len(mask)-len(x.Mask):], x.Mask)
		case "range":
			high := make([]byte, len(val))
			copy(high[len(high)-len(x.High):], x.High)
			if bytes.Compare(v[i], val) < 0 || bytes.Compare(v[i], high) > 0 {
				return false
			}
			continue
		}
		for o := range val {
			if v[i][o]&mask[o] != val[o] {
				return false
			}
		}
	}
	return true
}

// randomMatch is a match of few values and masks, so that they overlap.
func randomMatch(r *rand.Rand, kind string, width int) Match {
	v := make([]byte, width/8)
	v[len(v)-1], v[0] = byte(r.IntN(4)), v[0]|byte(r.IntN(2)<<7)
	m := Match{Value: v}
	switch kind {
	case "lpm":
		m.PrefixLen = []int{0, 1, width - 1, width}[r.IntN(4)]
		for bit := m.PrefixLen; bit < width; bit++ {
			v[bit/8] &^= 0x80 >> (bit % 8)
		}
	case "ternary":
		m.Mask = make([]byte, len(v))
		m.Mask[len(v)-1], m.Mask[0] = m.Mask[0]|byte(r.IntN(4)), m.Mask[0]|byte(r.IntN(2)<<7)
		if len(v) == 1 {
			m.Mask[0] = byte(r.IntN(4))
		}
		for i := range v {
			v[i] &= m.Mask[i]
		}
	case "range":
		m.High = bytes.Clone(v)
		m.High[len(v)-1] += byte(r.IntN(3))
	}
	if kind != "exact" && r.IntN(4) == 0 {
		return Match{}
	}
	return m
}

// TestTablesAgainstModel inserts, modifies and deletes at random, and compares with a list what packets meet.
func TestTablesAgainstModel(t *testing.T) {
	for _, kinds := range [][]string{
		{"exact"}, {"exact", "exact", "exact", "exact"}, {"exact", "lpm"}, {"exact", "exact", "lpm", "exact"},
		{"ternary", "exact", "ternary", "range"}, {"range", "range", "lpm"}, {"ternary", "ternary", "exact", "ternary"},
	} {
		t.Run(fmt.Sprint(kinds), func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, uint64(len(kinds))))
			rig := newRigOf(t, tableProgram(48, kinds...).json())
			var model []modelEntry
			for n := range uint32(4000) {
				e := Entry{Params: [][]byte{u32(n + 1)}}
				for i, k := range kinds {
					e.Match = append(e.Match, randomMatch(r, k, keyFields[i].width))
				}
				if rig.p.tables[0].HasPriority {
					e.Priority = int32(1 + r.IntN(40))
				}
				model = change(t, rig, model, r.IntN(3), modelEntry{e, n + 1, nameOf(rig, &e)})
				var v [4][]byte
				for i := range v {
					v[i] = randomMatch(r, "exact", keyFields[i].width).Value
				}
				compare(t, rig, model, kinds, v)
				if t.Failed() {
					return
				}
			}
			compareEntries(t, rig, model)
		})
	}
}

// change does one thing to both, and compares what they say of it.
func change(t *testing.T, rig *rig, model []modelEntry, what int, m modelEntry) []modelEntry {
	at := slices.IndexFunc(model, func(o modelEntry) bool {
		return o.name == m.name
	})
	var err, want error
	rig.s.Update(func(tx *Tx) {
		switch {
		case what == 0:
			err = tx.Delete(0, &m.e)
			if want = ErrNotFound; at >= 0 {
				want, model = nil, slices.Delete(model, at, at+1)
			}
		case what == 1 && at >= 0:
			err = tx.Modify(0, &m.e)
			model[at].id = m.id
		default:
			err = tx.Insert(0, &m.e)
			switch {
			case at >= 0:
				want = ErrExists
			case len(model) == rig.p.tables[0].Size:
				want = ErrFull
			default:
				model = append(model, m)
			}
		}
	})
	if !errors.Is(err, want) {
		t.Errorf("operation %d on %v: %v, want %v", what, m.e.Match, err, want)
	}
	return model
}

// nameOf writes a match without what says nothing and without leading zeros, and the priority.
func nameOf(rig *rig, e *Entry) string {
	trim := func(b []byte) []byte { return bytes.TrimLeft(b, "\x00") }
	s := fmt.Sprint(e.Priority)
	for i, k := range rig.p.tables[0].Keys {
		m := &e.Match[i]
		switch {
		case m.Value == nil, k.Kind == LPM && m.PrefixLen == 0, k.Kind == Ternary && len(trim(m.Mask)) == 0:
			s += " any"
		default:
			s += fmt.Sprintf(" %x&%x/%d..%x", trim(m.Value), trim(m.Mask), m.PrefixLen, trim(m.High))
		}
	}
	return s
}

func compare(t *testing.T, rig *rig, model []modelEntry, kinds []string, v [4][]byte) {
	got := rig.send(1, keyFrame(v)).frames
	best := int32(-1)
	want := map[string]bool{}
	for i := range model {
		if !model[i].matches(kinds, v) {
			continue
		}
		p := model[i].e.Priority
		for k, kind := range kinds {
			if kind == "lpm" && p == 0 {
				p = int32(model[i].e.Match[k].PrefixLen)
			}
		}
		if p > best {
			clear(want)
			best = p
		}
		if p == best {
			want[hexFrame(0, u32(model[i].id))] = true
		}
	}
	if len(want) == 0 {
		want[hexFrame(0, u32(0))] = true
	}
	if len(got) != 1 || !want[got[0]] {
		t.Errorf("key %x meets %v, want one of %v", v, got, want)
	}
}

// compareEntries compares what is read back.
func compareEntries(t *testing.T, rig *rig, model []modelEntry) {
	var got, want []string
	rig.s.View(func(tx *Tx) {
		_ = tx.Entries(0, func(e *Entry) bool {
			got = append(got, fmt.Sprintf("%s %x", nameOf(rig, e), e.Params[0]))
			return true
		})
		if n, _ := tx.Len(0); n != len(model) {
			t.Errorf("%d entries, want %d", n, len(model))
		}
	})
	for i := range model {
		want = append(want, fmt.Sprintf("%s %x", model[i].name, bytes.TrimLeft(u32(model[i].id), "\x00")))
	}
	slices.Sort(got)
	slices.Sort(want)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("entries (-want +got):\n%s", d)
	}
}

func TestInvalidEntries(t *testing.T) {
	rig := newRigOf(t, tableProgram(2, "ternary", "exact", "lpm", "range").json())
	ok := func() *Entry {
		return &Entry{Priority: 1, Params: [][]byte{{1}}, Match: []Match{
			{Value: []byte{1}, Mask: []byte{1}}, {Value: []byte{2}}, {Value: []byte{128, 15: 0}, PrefixLen: 1}, {Value: []byte{1}, High: []byte{2}}}}
	}
	tests := []struct {
		name   string
		change func(*Entry)
	}{
		{"no priority", func(e *Entry) { e.Priority = 0 }},
		{"negative priority", func(e *Entry) { e.Priority = -1 }},
		{"too few fields", func(e *Entry) { e.Match = e.Match[:3] }},
		{"value too wide", func(e *Entry) { e.Match[0].Value = []byte{1, 0, 0} }},
		{"mask too wide", func(e *Entry) { e.Match[0].Mask = []byte{1, 0, 1} }},
		{"value beyond the mask", func(e *Entry) { e.Match[0].Value = []byte{3} }},
		{"exact field missing", func(e *Entry) { e.Match[1] = Match{} }},
		{"value beyond the prefix", func(e *Entry) { e.Match[2].Value = []byte{192, 15: 0} }},
		{"prefix too long", func(e *Entry) { e.Match[2].PrefixLen = 129 }},
		{"prefix negative", func(e *Entry) { e.Match[2].PrefixLen = -1 }},
		{"range the wrong way round", func(e *Entry) { e.Match[3].High = []byte{0} }},
		{"range too wide", func(e *Entry) { e.Match[3].High = []byte{1, 0} }},
		{"no such action", func(e *Entry) { e.Action = 1 }},
		{"negative action", func(e *Entry) { e.Action = -1 }},
		{"too few parameters", func(e *Entry) { e.Params = nil }},
		{"parameter too wide", func(e *Entry) { e.Params = [][]byte{{1, 0, 0, 0, 0}} }},
	}
	for _, tt := range tests {
		e := ok()
		tt.change(e)
		rig.s.Update(func(tx *Tx) {
			if err := tx.Insert(0, e); !errors.Is(err, ErrInvalid) {
				t.Errorf("%s: %v, want ErrInvalid", tt.name, err)
			}
			if n, _ := tx.Len(0); n != 0 {
				t.Errorf("%s: %d entries", tt.name, n)
			}
		})
	}
	rig.s.Update(func(tx *Tx) {
		if err := tx.Insert(0, ok()); err != nil {
			t.Errorf("the entry that the others are made of: %v", err)
		}
		for _, i := range []int{-1, 1} {
			if err := tx.Insert(i, ok()); !errors.Is(err, ErrInvalid) {
				t.Errorf("table %d: %v, want ErrInvalid", i, err)
			}
		}
	})
	rig.s.View(func(tx *Tx) {
		if err := tx.Delete(0, ok()); !errors.Is(err, ErrInvalid) {
			t.Errorf("a change in View: %v, want ErrInvalid", err)
		}
	})
}
