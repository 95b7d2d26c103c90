package session

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestTimers compares the timers with a map that is searched.
func TestTimers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	now := 1000 * second
	x := newTimers(now)
	want := map[uint64]int64{} // the second by which a session has to be looked at
	for range 20000 {
		seid := uint64(r.IntN(200))
		switch r.IntN(10) {
		case 0:
			x.forget(seid)
			delete(want, seid)
		case 1, 2:
			now += r.Int64N(3 * second)
			var due []uint64
			for seid, sec := range want {
				if sec <= now/second {
					due = append(due, seid)
					delete(want, seid)
				}
			}
			slices.Sort(due)
			got := x.due(nil, now)
			slices.Sort(got)
			if !slices.Equal(got, due) {
				t.Fatalf("due at %d: %v, want %v", now, got, due)
			}
		default:
			ns := now - second + r.Int64N(100*second)
			x.set(seid, ns)
			sec := max((ns+second-1)/second, now/second+1)
			if ns <= now {
				sec = max((ns+second-1)/second, x.done+1)
			}
			if was, ok := want[seid]; !ok || sec < was {
				want[seid] = sec
			}
		}
		if len(x.at) != len(want) {
			t.Fatalf("%d sessions wait, want %d", len(x.at), len(want))
		}
	}
}

// TestTimersMemory: who asks again and again, or comes and goes, leaves nothing.
func TestTimersMemory(t *testing.T) {
	x := newTimers(0)
	for i := range int64(100_000) {
		seid := uint64(i % 10)
		x.set(seid, (1_000_000-i)*second)
		if i%3 == 0 {
			x.forget(seid)
		}
	}
	places := 0
	for _, b := range x.buckets {
		places += len(b)
	}
	if places > 2048 || len(x.buckets) > 2048 {
		t.Errorf("%d places in %d buckets for %d sessions", places, len(x.buckets), len(x.at))
	}
}

func BenchmarkTimers(b *testing.B) {
	const sessions = 1 << 20
	x := newTimers(0)
	now := int64(0)
	var due []uint64
	for i := 0; b.Loop(); i++ {
		x.set(uint64(i%sessions), now+10*second)
		if i%sessions == 0 {
			now += second
			due = x.due(due[:0], now)
		}
	}
}
