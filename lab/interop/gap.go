package interop

import (
	"slices"
	"time"
)

// longestGap is the longest time without an arrival from begin on, and until end if the
// last one came before.
func longestGap(begin, end time.Time, arrivals []time.Time) (longest time.Duration) {
	last := begin
	for _, at := range slices.SortedFunc(slices.Values(arrivals), time.Time.Compare) {
		longest, last = max(longest, at.Sub(last)), at
	}
	return max(longest, end.Sub(last))
}

// earliest is the first of times, of which there is one at least.
func earliest(times []time.Time) time.Time { return slices.MinFunc(times, time.Time.Compare) }
