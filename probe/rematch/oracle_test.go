package rematch

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// The oracles are slow and plain: every way of pairing that there is, one by one.

// instance is a few packets, with times as small numbers.
type instance struct {
	events []event // in order of time; row is the truth: which packet it is
	exits  []event
}

// random makes packets of which each stays no longer than the window, and some never
// leave.
func random(rng *rand.Rand, window uint64) instance {
	var in instance
	at := uint64(5e3)
	for i := range uint64(1 + rng.IntN(6)) {
		at += rng.Uint64N(2 * window / 3)
		in.events = append(in.events, event{ns: at, row: i})
		if rng.IntN(6) > 0 {
			e := event{ns: at + rng.Uint64N(window+1), row: i, exit: true}
			in.events, in.exits = append(in.events, e), append(in.exits, e)
		}
	}
	slices.SortStableFunc(in.events, func(a, b event) int {
		switch {
		case a.before(b):
			return -1
		case b.before(a):
			return 1
		}
		return 0
	})
	slices.SortStableFunc(in.exits, func(a, b event) int { return int(int64(a.ns - b.ns)) })
	return in
}

// pairings calls see with each way to give every exit an entry of its own that is not
// older than the window: the numbers of the entries.
func (in instance) pairings(window uint64, see func([]event)) {
	var entries []event
	for _, e := range in.events {
		if !e.exit {
			entries = append(entries, e)
		}
	}
	taken, chosen := make([]bool, len(entries)), []event{}
	var next func()
	next = func() {
		if len(chosen) == len(in.exits) {
			see(chosen)
			return
		}
		exit := in.exits[len(chosen)]
		for i, e := range entries {
			if !taken[i] && e.ns <= exit.ns && exit.ns-e.ns <= window {
				taken[i], chosen = true, append(chosen, e)
				next()
				taken[i], chosen = false, chosen[:len(chosen)-1]
			}
		}
	}
	next()
}

// TestCandidatesAgainstAllPairings: an exit has no fewer candidates than there are
// entries for it in all pairings, and a single one is in all of them.
func TestCandidatesAgainstAllPairings(t *testing.T) {
	const window = 100e3
	known := 0
	for seed := range uint64(3000) {
		in := random(rand.New(rand.NewPCG(seed, 7)), window)
		possible := make([]map[uint64]bool, len(in.exits))
		for i := range possible {
			possible[i] = map[uint64]bool{}
		}
		in.pairings(window, func(chosen []event) {
			for i, e := range chosen {
				possible[i][e.row] = true
			}
		})
		p := &part{window: window}
		exit := 0
		for _, e := range in.events {
			if !e.exit {
				p.enter(e)
				continue
			}
			p.expire(e.ns)
			n, only := p.candidates()
			if n < len(possible[exit]) || (n == 1 && !possible[exit][only.row]) {
				t.Fatalf("seed %d, exit %d: got %d candidates (%+v), all pairings have %v", seed, exit, n, only, possible[exit])
			}
			if n == 1 {
				known++
				if only.row != e.row {
					t.Fatalf("seed %d, exit %d: got %d, the truth is %d", seed, exit, only.row, e.row)
				}
			}
			exit++
		}
	}
	if known < 1000 {
		t.Errorf("got %d exits with a single candidate: the test sees too few", known)
	}
}

// TestBoundsAgainstAllPairings: the percentiles of every pairing, the truth among them,
// lie within the bounds, and the counts that these are made of are reached by pairings.
func TestBoundsAgainstAllPairings(t *testing.T) {
	const window = 100 * time.Microsecond
	at := thresholds(window)
	for seed := range uint64(1500) {
		in := random(rand.New(rand.NewPCG(seed, 8)), uint64(window))
		if len(in.exits) == 0 {
			continue
		}
		b := newBounds(at)
		p := &part{window: uint64(window), bounds: newCursors(len(at))}
		for _, e := range in.events {
			if !e.exit {
				p.enter(e)
				continue
			}
			p.expire(e.ns)
			b.leave(p, e.ns)
			p.candidates()
		}
		if b.pairs() != uint64(len(in.exits)) {
			t.Fatalf("seed %d: got %d pairs, want %d", seed, b.pairs(), len(in.exits))
		}
		in.pairings(uint64(window), func(chosen []event) {
			delays := make([]uint64, len(chosen))
			for i, e := range chosen {
				delays[i] = in.exits[i].ns - e.ns
			}
			slices.Sort(delays)
			for k, x := range at {
				within, _ := slices.BinarySearch(delays, x+1)
				if uint64(within) > b.within[k] || uint64(len(delays)-within) > b.beyond[k] {
					t.Fatalf("seed %d: %v has %d within %d ns, bounds say at most %d, and %d beyond", seed, delays, within, x, b.within[k], b.beyond[k])
				}
			}
			for _, q := range []float64{0.01, 0.5, 0.9, 1} {
				rank := max(int(q*float64(len(delays))+0.9999), 1)
				r := b.quantile(q)
				if d := delays[rank-1]; d > r.To || (d <= r.From && r.From > 0) {
					t.Fatalf("seed %d: quantile %g of %v is %d, bounds say %+v", seed, q, delays, d, r)
				}
			}
		})
	}
}

// TestBoundsAreReached: the two counts are those of a largest matching, found by trying
// all partial ones.
func TestBoundsAreReached(t *testing.T) {
	const window = 100 * time.Microsecond
	at := thresholds(window)
	for seed := range uint64(500) {
		in := random(rand.New(rand.NewPCG(seed, 9)), uint64(window))
		b := newBounds(at)
		p := &part{window: uint64(window), bounds: newCursors(len(at))}
		for _, e := range in.events {
			if !e.exit {
				p.enter(e)
				continue
			}
			p.expire(e.ns)
			b.leave(p, e.ns)
		}
		for k, x := range at {
			within := in.largest(func(age uint64) bool { return age <= x })
			beyond := in.largest(func(age uint64) bool { return age > x && age <= uint64(window) })
			if b.within[k] != within || b.beyond[k] != beyond {
				t.Fatalf("seed %d, %d ns: got %d within and %d beyond, want %d and %d", seed, x, b.within[k], b.beyond[k], within, beyond)
			}
		}
	}
}

// largest is how many exits can have an entry of their own, of an age that fits.
func (in instance) largest(fits func(uint64) bool) uint64 {
	taken := map[uint64]bool{}
	var from func(i int) uint64
	from = func(i int) uint64 {
		if i == len(in.exits) {
			return 0
		}
		best := from(i + 1)
		for _, e := range in.events {
			if e.exit || taken[e.row] || e.ns > in.exits[i].ns || !fits(in.exits[i].ns-e.ns) {
				continue
			}
			taken[e.row] = true
			best = max(best, 1+from(i+1))
			delete(taken, e.row)
		}
		return best
	}
	return from(0)
}

// circular is the study's algorithm in the shape of its script: a ring of 500 places
// with marks.
type circular struct {
	window uint64
	places [studyBuffer]event
	used   [studyBuffer]bool
	head   int
}

func (c *circular) enter(e event) {
	c.places[c.head%studyBuffer], c.used[c.head%studyBuffer] = e, false
	c.head++
}

func (c *circular) leave(now uint64) (event, bool) {
	best, bestAge := -1, c.window+1
	for k := max(c.head-studyBuffer, 0); k < c.head; k++ {
		i := k % studyBuffer
		if c.used[i] || c.places[i].ns > now {
			continue
		}
		age := now - c.places[i].ns
		if age > c.window {
			c.used[i] = true
		} else if age < bestAge {
			best, bestAge = i, age
		}
	}
	if best < 0 {
		return event{}, false
	}
	c.used[best] = true
	return c.places[best], true
}

// TestNearestAgainstScript: the nearest entry is that of the study's script, event by
// event, in bursts that overflow its buffer, with times that are not in order.
func TestNearestAgainstScript(t *testing.T) {
	const window = 100e3
	rng := rand.New(rand.NewPCG(3, 4))
	n, c := nearest{window: window}, circular{window: window}
	now := uint64(1e9)
	for i := range uint64(100_000) {
		now += rng.Uint64N(1 << rng.IntN(10))
		if rng.IntN(5000) == 0 {
			now += 2 * window
		}
		e := event{ns: now - rng.Uint64N(100), row: i}
		if rng.IntN(100) < 52 || i%20_000 < 700 {
			n.enter(e)
			c.enter(e)
			continue
		}
		got, among := n.leave(e)
		want, ok := c.leave(e.ns)
		if (among > 0) != ok || got != want {
			t.Fatalf("event %d: got %+v among %d, want %+v %v", i, got, among, want, ok)
		}
	}
}
