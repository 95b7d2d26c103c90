package bmv2

import (
	"math/big"
	"slices"
	"testing"
)

// TestChangeAllocates has entries change in tables of each kind: an insert, a change and a deletion need no memory but for
// sets of masks that are new.
func TestChangeAllocates(t *testing.T) {
	r := newRig(t, "upf.json")
	for _, tt := range []struct {
		table, action string
		params        [][]byte
		priority      int32
		match         []Match
	}{
		{"I.uplink", "I.decap", [][]byte{u32(1), {9}}, 0, []Match{exact(u32(7)), exact(u32(0x64000007))}},
		{"I.routes", "I.flood", [][]byte{{9}}, 0, []Match{{Value: u32(0x64000000), PrefixLen: 8}}},
		{"I.apps", "I.set_app", [][]byte{{1}}, 3,
			[]Match{{Value: u32(5), Mask: u32(0xff)}, {}, {Value: []byte{50}, High: []byte{60}}, {}}},
	} {
		id, e := r.entry(tt.table, tt.action, tt.params, tt.match...)
		e.Priority = tt.priority
		other := *e
		other.Match = slices.Clone(e.Match)
		other.Match[0].Value = slices.Clone(e.Match[0].Value)
		if other.Match[0].Mask != nil || tt.priority == 0 && other.Match[0].PrefixLen == 0 {
			other.Match[0].Value[3]++
		} else {
			other.Match[0].Value[0]++
		}
		r.s.Update(func(tx *Tx) {
			if err := tx.Insert(id, e); err != nil { // so that the set of masks stays
				t.Fatalf("%s: %v", tt.table, err)
			}
			n := testing.AllocsPerRun(100, func() {
				for _, err := range []error{tx.Insert(id, &other), tx.Modify(id, &other), tx.Delete(id, &other)} {
					if err != nil {
						t.Fatalf("%s: %v", tt.table, err)
					}
				}
			})
			if n != 0 {
				t.Errorf("%s: %v allocations for an insert, a change and a deletion, want 0", tt.table, n)
			}
		})
	}
}

// TestPrefixMask compares masks with those of numbers without bounds.
func TestPrefixMask(t *testing.T) {
	for _, w := range []int{1, 8, 63, 64, 65, 127, 128, 129, 1024} {
		for n := range w + 1 {
			got := make([]uint64, (w+63)/64)
			prefixMask(got, w, n)
			want := words(new(big.Int).Sub(ones(w), ones(w-n)), len(got))
			if !slices.Equal(got, want) {
				t.Fatalf("%d of %d bits: %x, want %x", n, w, got, want)
			}
		}
	}
}
