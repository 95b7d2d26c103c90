package pnf

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/nfapi/stopwatch"
)

// TestWindow: the edges of the window, where the SFN comes round and elsewhere.
func TestWindow(t *testing.T) {
	for mu := range slot.MaxNumerology + 1 {
		last := slot.Number(mu.PerCycle() - 1)
		half := mu.PerCycle() / 2
		for _, window := range []int{1, 6, 30, 255} {
			for _, now := range []slot.Number{0, 5, last - 1, last} {
				for d, want := range map[int]stopwatch.Verdict{
					-half: stopwatch.Late, -window: stopwatch.Late, -1: stopwatch.Late, 0: stopwatch.Late,
					1: stopwatch.OnTime, window: stopwatch.OnTime,
					window + 1: stopwatch.Early, half - 1: stopwatch.Early,
				} {
					r := newRing(mu, window, now)
					n := mu.Add(now, d)
					e, got := r.claim(n, fapi.ULTTI)
					if got != want || (e != nil) != (want == stopwatch.OnTime) {
						t.Errorf("mu %d, window %d, at %s: request for %s is %v, want %v", mu, window, mu.String(now), mu.String(n), got, want)
					}
					if e != nil && (e.r.At != n || slot.Number(int(e.r.ULTTI.SFN)*mu.PerFrame()+int(e.r.ULTTI.Slot)) != n) {
						t.Errorf("mu %d: the entry for %d is of %d", mu, n, e.r.At)
					}
				}
			}
		}
	}
}

// TestClosed: what is decoded when its slot begins is late, does not reach the PHY, and
// its entry is used again only when nobody has it.
func TestClosed(t *testing.T) {
	r := newRing(1, 30, 0)
	whole, _ := r.claim(1, fapi.ULTTI)
	if got := r.commit(whole, fapi.ULTTI, true); got != stopwatch.OnTime {
		t.Fatalf("got %v", got)
	}
	if e, got := r.claim(1, fapi.ULTTI); e != nil || got != stopwatch.Duplicate {
		t.Errorf("the same again is %v", got)
	}
	e, _ := r.claim(1, fapi.DLTTI)
	if again, got := r.claim(1, fapi.DLTTI); again != nil || got != stopwatch.Duplicate {
		t.Errorf("the same again while it is decoded is %v", got)
	}
	taken := r.take(1)
	if taken != e || taken.r.Have != fapi.ULTTI {
		t.Errorf("slot 1 has %b, want %b", taken.r.Have, fapi.ULTTI)
	}
	r.release(taken)
	if len(r.free) != 0 {
		t.Error("an entry that is written to is free")
	}
	if got := r.commit(e, fapi.DLTTI, true); got != stopwatch.Late {
		t.Errorf("decoded after its slot began: %v, want late", got)
	}
	if len(r.free) != 1 {
		t.Errorf("%d entries are free, want 1", len(r.free))
	}
	if e, got := r.claim(1, fapi.ULDCI); e != nil || got != stopwatch.Late {
		t.Errorf("a request for the slot that runs is %v, want late", got)
	}
}

// TestInvalid: a request that is not good leaves its place to one that is.
func TestInvalid(t *testing.T) {
	r := newRing(1, 30, 0)
	e, _ := r.claim(3, fapi.ULDCI)
	if _, err := e.decode(kindOf(nfapi.MsgULDCIRequest), nfapi.OAI2025, []byte{0, 0, 0, 3, 200}); !errors.Is(err, nfapi.ErrShort) {
		t.Errorf("got %v, want %v", err, nfapi.ErrShort)
	}
	if got := r.commit(e, fapi.ULDCI, false); got != stopwatch.Invalid {
		t.Errorf("got %v, want invalid", got)
	}
	if _, got := r.claim(3, fapi.ULDCI); got != stopwatch.OnTime {
		t.Errorf("a good one after it is %v, want on time", got)
	}
}

// TestRingAsModel: a ring and a map of slots do the same, whatever comes, and the ring
// has never more entries than the window and the slot that runs.
func TestRingAsModel(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		mu := slot.Numerology(seed % 4)
		window := 1 + random.IntN(60)
		now := mu.Add(0, -random.IntN(300))
		r, model := newRing(mu, window, now), map[slot.Number]fapi.Have{}
		for range 5000 {
			if random.IntN(8) == 0 {
				now = mu.Add(now, 1)
				e := r.take(now)
				if e.r.At != now || e.r.Have != model[now] {
					t.Fatalf("seed %d: slot %d has %d: %b, want %b", seed, now, e.r.At, e.r.Have, model[now])
				}
				delete(model, now)
				r.release(e)
				continue
			}
			d := random.IntN(window+12) - 5
			n, have := mu.Add(now, d), kinds[random.IntN(len(kinds))].have
			want := stopwatch.OnTime
			switch {
			case d <= 0:
				want = stopwatch.Late
			case d > window:
				want = stopwatch.Early
			case model[n]&have != 0:
				want = stopwatch.Duplicate
			}
			e, got := r.claim(n, have)
			if got != want {
				t.Fatalf("seed %d: at %d, %b for %d is %v, want %v", seed, now, have, n, got, want)
			}
			if e != nil {
				r.commit(e, have, true)
				model[n] |= have
			}
		}
		used := len(r.free)
		for _, e := range r.places {
			if e != nil {
				used++
			}
		}
		if used > window+1 {
			t.Errorf("seed %d: %d entries for a window of %d slots", seed, used, window)
		}
	}
}
