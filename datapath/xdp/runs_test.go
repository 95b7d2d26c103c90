package xdp

import (
	"math/rand/v2"
	"testing"
)

// TestRuns takes and gives runs at random: none overlaps another, all of the table
// can be used, and what was given back under a packet is not used again at once.
func TestRuns(t *testing.T) {
	const size = 4096
	rng := rand.New(rand.NewPCG(3, 4))
	r := newRuns(size)
	owner := make([]int, size)
	held := map[int]run{}
	refused := 0
	for i := 1; i < 50_000; i++ {
		if n := len(held); n > 0 && (rng.IntN(2) == 0 || refused > 0) {
			for id, h := range held {
				for s := h.first; s < h.first+h.length; s++ {
					if owner[s] != id {
						t.Fatalf("slot %d of run %d is owned by %d", s, id, owner[s])
					}
					owner[s] = 0
				}
				r.give(h.first, int(h.length), 0)
				delete(held, id)
				break
			}
			refused = 0
			continue
		}
		length := 1 + rng.IntN(listMax)
		first, ok := r.take(length)
		if !ok {
			refused++
			continue
		}
		if first == 0 {
			t.Fatal("slot 0 was handed out")
		}
		h := run{first, uint32(length)}
		for s := h.first; s < h.first+h.length; s++ {
			if owner[s] != 0 {
				t.Fatalf("slot %d of run %d is owned by %d", s, i, owner[s])
			}
			owner[s] = i
		}
		held[i] = h
		want := 0
		for _, h := range held {
			want += 1 << runClass(int(h.length))
		}
		if use := r.use("runs"); use.Used != want || use.Max != size-1 {
			t.Fatalf("in use: got %+v, want %d of %d", use, want, size-1)
		}
	}
}

// TestRunsLate: what packets may still see is not handed out again yet.
func TestRunsLate(t *testing.T) {
	r := newRuns(3)
	first, ok := r.take(1)
	if second, also := r.take(1); !ok || !also || first == second {
		t.Fatalf("took %d, %v and %d, %v", first, ok, second, also)
	}
	r.give(first, 1, monotonic()+uint64(grace)) // not before twice the grace
	if again, ok := r.take(1); ok {
		t.Errorf("slot %d was handed out again at once", again)
	}
	r.give(2, 1, 0)
	r = newRuns(3)
	r.adopt([]run{{1, 1}})
	if slot, ok := r.take(1); !ok || slot != 2 {
		t.Errorf("after adoption of slot 1: %d, %v; want 2", slot, ok)
	}
}

// TestRunsAdopt: what lies between adopted runs can be taken, all of it.
func TestRunsAdopt(t *testing.T) {
	r := newRuns(64)
	r.adopt([]run{{40, 3}, {9, 8}})
	taken := map[uint32]bool{40: true, 41: true, 42: true, 43: true}
	for s := uint32(9); s < 17; s++ {
		taken[s] = true
	}
	for {
		slot, ok := r.take(1)
		if !ok {
			break
		}
		if taken[slot] || slot == 0 || slot >= 64 {
			t.Fatalf("slot %d was handed out", slot)
		}
		taken[slot] = true
	}
	if len(taken) != 63 {
		t.Errorf("%d of 63 slots could be used", len(taken))
	}
}

// TestRunsChurn takes and gives for long, nearly all of the table, runs of changing
// lengths: one is refused only if nowhere so many slots that are free lie side by
// side, and what is kept about the free ones does not grow.
func TestRunsChurn(t *testing.T) {
	const size = 2048
	rng := rand.New(rand.NewPCG(5, 6))
	r := newRuns(size)
	taken := make([]bool, size) // slots, with what runs are rounded up to
	taken[0] = true
	set := func(h run, to bool) {
		for s := h.first; s < h.first+1<<runClass(int(h.length)); s++ {
			if taken[s] == to {
				t.Fatalf("slot %d of %+v is taken: %v", s, h, to)
			}
			taken[s] = to
		}
	}
	var held []run
	refused := 0
	for i := range 60_000 {
		// Long ones and short ones in turn, so that the one has to be made of the other.
		most := 4
		if i/5000%2 == 1 {
			most = 128
		}
		length := 1 + rng.IntN(most)
		first, ok := r.take(length)
		if ok {
			h := run{first, uint32(length)}
			set(h, true)
			held = append(held, h)
			continue
		}
		refused++
		if longest := longestFree(taken); longest >= 1<<runClass(length) {
			t.Fatalf("step %d: %d slots refused, %d are free side by side", i, length, longest)
		}
		for range 1 + rng.IntN(len(held)) {
			at := rng.IntN(len(held))
			set(held[at], false)
			r.give(held[at].first, int(held[at].length), 0)
			held[at] = held[len(held)-1]
			held = held[:len(held)-1]
		}
		kept := 0
		for class := range r.freed {
			kept += len(r.freed[class].slots)
		}
		if kept > runClasses*2048+size {
			t.Fatalf("step %d: %d runs are kept of %d slots", i, kept, size)
		}
	}
	if refused < 100 {
		t.Errorf("the table was full %d times only", refused)
	}
	for _, h := range held {
		r.give(h.first, int(h.length), 0)
	}
	if use := r.use("runs"); use.Used != 0 {
		t.Errorf("in use behind all: %+v", use)
	}
	if _, ok := r.take(1024); !ok {
		t.Error("an empty table has no run of 1024")
	}
}

// longestFree is how many slots lie side by side at most that are not taken.
func longestFree(taken []bool) int {
	longest, run := 0, 0
	for _, is := range taken {
		run++
		if is {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}
