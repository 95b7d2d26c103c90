package n4load

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func seeded() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// TestOpen looks at what an open loop sends in a second when the clock is read
// seldom: everything is there, at its intended time, in order.
func TestOpen(t *testing.T) {
	for _, tc := range []struct {
		name    string
		rates   []float64
		arrival Arrival
		burst   int
		want    []int // of each operation
		within  float64
	}{
		{"constant", []float64{1000}, Constant, 1, []int{1000}, 0.002},
		{"shares", []float64{100, 800, 0}, Constant, 1, []int{100, 800, 0}, 0.02},
		{"burst", []float64{1000}, Burst, 50, []int{1000}, 0.051},
		{"poisson", []float64{10_000}, Poisson, 1, []int{10_000}, 0.05}, // five standard deviations
	} {
		t.Run(tc.name, func(t *testing.T) {
			const start = time.Hour
			o := newOpen(start, start+time.Second, tc.rates, tc.arrival, tc.burst, seeded())
			got, times := make([]int, len(tc.rates)), []time.Duration(nil)
			for now := start; !o.over(now); now += 10 * time.Millisecond {
				for {
					op, at, ok := o.next(now, 1<<20)
					if !ok {
						if at <= now && !o.over(now) {
							t.Fatalf("next at %v, and it is %v", at, now)
						}
						break
					}
					got[op]++
					times = append(times, at)
				}
			}
			for op, want := range tc.want {
				if math.Abs(float64(got[op]-want)) > tc.within*float64(want) {
					t.Errorf("operation %d: %d requests, want %d", op, got[op], want)
				}
			}
			checkTimes(t, times, start, tc.arrival, tc.burst)
		})
	}
}

func checkTimes(t *testing.T, times []time.Duration, start time.Duration, arrival Arrival, burst int) {
	t.Helper()
	same, sum := 0, 0.0
	for i, at := range times {
		if at < start || at >= start+time.Second || i > 0 && at < times[i-1] {
			t.Fatalf("request %d at %v", i, at-start)
		}
		if i > 0 && at == times[i-1] {
			same++
		}
		if i > 0 {
			gap := (at - times[i-1]).Seconds() * float64(len(times))
			sum += (gap - 1) * (gap - 1)
		}
	}
	if arrival == Burst && same != len(times)-len(times)/burst {
		t.Errorf("%d of %d at the time of the one before, want bursts of %d", same, len(times), burst)
	}
	// The distance's variance is 1 for Poisson arrivals, in units of its mean.
	if v := sum / float64(len(times)-1); arrival == Poisson && math.Abs(v-1) > 0.2 {
		t.Errorf("variance %.2f, want 1", v)
	}
}

// TestClosed keeps to the window, to the shares and to the end.
func TestClosed(t *testing.T) {
	c := newClosed(8, time.Second, []float64{0.1, 0.8, 0.1})
	got := [3]int{}
	for range 1000 {
		op, _, ok := c.next(0, 7)
		if !ok {
			t.Fatal("nothing to do, want a request")
		}
		got[op]++
	}
	if got != [3]int{100, 800, 100} {
		t.Errorf("got %v, want 100, 800, 100", got)
	}
	if _, at, ok := c.next(0, 8); ok || at != never {
		t.Errorf("full window: %v, %v; want nothing, never", at, ok)
	}
	if _, _, ok := c.next(time.Second, 0); ok || !c.over(time.Second) || c.over(time.Second-1) {
		t.Error("goes on after the end, or ends before it")
	}
}

// TestTimeouts: the queue is one, over its growth and its end.
func TestTimeouts(t *testing.T) {
	var q timeouts
	next, want := uint32(0), uint32(0)
	for round := range 50 {
		for range 7 * (round % 5) {
			q.push(timeout{sequence: next})
			next++
		}
		for range 5 * (round % 5) {
			if h := q.head(); h == nil || h.sequence != want {
				t.Fatalf("got %v, want %d", h, want)
			}
			q.pop()
			want++
		}
	}
	for ; want < next; want++ {
		if h := q.head(); h == nil || h.sequence != want {
			t.Fatalf("got %v, want %d", h, want)
		}
		q.pop()
	}
	if q.head() != nil {
		t.Error("something is left")
	}
}
