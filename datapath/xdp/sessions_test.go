package xdp

import (
	"maps"
	"math/rand/v2"
	"testing"
)

// TestSessionTable: whatever is put and removed, also SEIDs that belong to the
// same place, the table holds what a map does.
func TestSessionTable(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	table, want := newSessionTable(), map[uint64]*session{}
	seids := make([]uint64, 300)
	for i := range seids {
		seids[i] = uint64(i%3+1)<<40 | uint64(i/3)*700 // three to a place, in several chunks
	}
	for range 20_000 {
		seid := seids[r.IntN(len(seids))]
		if r.IntN(2) == 0 {
			table.remove(seid)
			delete(want, seid)
		} else {
			s := new(session)
			table.put(seid, s)
			want[seid] = s
		}
		if other := seids[r.IntN(len(seids))]; table.get(other) != want[other] {
			t.Fatalf("SEID %#x: got %p, want %p", other, table.get(other), want[other])
		}
	}
	if got := maps.Collect(table.all()); !maps.Equal(got, want) {
		t.Errorf("got %d sessions, want %d", len(got), len(want))
	}
	if (*sessionTable)(nil).get(1) != nil {
		t.Error("a nil table has a session")
	}
}
