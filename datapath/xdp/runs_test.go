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
		length := 1 + rng.IntN(maxRun)
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
