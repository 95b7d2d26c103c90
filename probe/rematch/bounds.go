package rematch

import (
	"math"
	"time"
)

// stepsPerDecade is how fine the bounds are: steps of 21 %.
const stepsPerDecade = 12

// thresholds are the delays for which bounds are kept, in ns, ascending: from 1 µs to
// the window, which is the last.
func thresholds(window time.Duration) []uint64 {
	var list []uint64
	for i := 0; ; i++ {
		ns := uint64(math.Round(1000 * math.Pow(10, float64(i)/stepsPerDecade)))
		if ns >= uint64(window) {
			return append(list, uint64(window))
		}
		list = append(list, ns)
	}
}

// cursors are a part's places in the pairings that bounds counts: the number of the
// next entry that is free, for each threshold.
type cursors struct{ within, beyond []uint64 }

func newCursors(n int) cursors { return cursors{make([]uint64, n), make([]uint64, n)} }

// bounds counts, for each threshold x, how many packets at most can have stayed no
// longer than x, and how many at most longer. The distribution lies between the two
// for any correct pairing.
//
// Both are largest matchings of entries and exits with ages from an interval. Since
// entries and exits are in order of time and the interval is the same for all, taking
// the oldest entry that is free and young enough finds a largest one (Glover 1967,
// convex bipartite graphs).
type bounds struct {
	at             []uint64 // thresholds, ns
	within, beyond []uint64 // pairs
}

func newBounds(at []uint64) bounds {
	return bounds{at, make([]uint64, len(at)), make([]uint64, len(at))}
}

// leave takes an exit of a part, whose expired entries are forgotten already. Entries whose packets
// have certainly left are not available.
func (b *bounds) leave(p *part, now uint64) {
	entries, first := p.entries, p.first()
	within, beyond := p.bounds.within[:len(b.at)], p.bounds.beyond[:len(b.at)]
	for k, x := range b.at {
		i := int(max(within[k], first) - p.base)
		for i < len(entries) && entries[i].ns+x < now {
			i++
		}
		if i < len(entries) {
			b.within[k]++
			i++
		}
		within[k] = p.base + uint64(i)

		i = int(max(beyond[k], first) - p.base)
		if i < len(entries) && entries[i].ns+x < now {
			b.beyond[k]++
			i++
		}
		beyond[k] = p.base + uint64(i)
	}
}

// pairs is how many packets can be paired in all.
func (b *bounds) pairs() uint64 { return b.within[len(b.at)-1] }

// quantile returns between which thresholds the quantile q (0 to 1) of the delays lies,
// ns, if as many exits as possible have an entry.
func (b *bounds) quantile(q float64) Range {
	n := b.pairs()
	if n == 0 {
		return Range{}
	}
	rank := min(max(uint64(math.Ceil(q*float64(n))), 1), n)
	var r Range
	for k, x := range b.at {
		if b.within[k] < rank {
			r.From = x
		}
		if r.To == 0 && n-b.beyond[k] >= rank {
			r.To = x
		}
	}
	return r
}
