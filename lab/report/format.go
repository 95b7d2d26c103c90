package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

func kpps(pps float64) string      { return fmt.Sprintf("%.1f", pps/1e3) }
func percent(ratio float64) string { return fmt.Sprintf("%.3f", ratio*100) }
func micros(ns int64) string       { return fmt.Sprintf("%.1f", float64(ns)/1e3) }

func mebi(octets uint64) string { return fmt.Sprintf("%.0f MiB", float64(octets)/(1<<20)) }

// duration rounds to three places, which is as much as a reader takes in.
func duration(ns int64) string {
	d := time.Duration(ns)
	for unit := time.Duration(1); unit <= time.Hour; unit *= 10 {
		if d/unit < 1000 {
			return d.Round(unit).String()
		}
	}
	return d.Round(time.Second).String()
}

// count returns "1 session", "100,000 sessions".
func count(n uint64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return grouped(n) + " " + noun + "s"
}

// grouped writes n with commas between thousands.
func grouped(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
