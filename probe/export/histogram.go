package export

import (
	"math/bits"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// delayOf is a histogram in short; zero if it is empty.
func delayOf(h *hdrhistogram.Histogram) Delay {
	if h == nil || h.TotalCount() == 0 {
		return Delay{}
	}
	v := h.ValueAtPercentilesSlice([]float64{50, 90, 99, 99.9})
	return Delay{Min: h.Min(), Mean: int64(h.Mean()), P50: v[0], P90: v[1], P99: v[2], P999: v[3], Max: h.Max()}
}

// Bins of heat maps: a value with its highest bit at position p is counted by that bit
// and the binBits below it, so that a bin is whole bars of the histogram.
const binBits = 2

// BinOf returns the number of the bin that a value is in.
func BinOf(ns int64) int {
	v := uint64(max(ns, 1<<binBits))
	p := bits.Len64(v) - 1
	return p<<binBits | int(v>>(p-binBits))&(1<<binBits-1)
}

// BinBounds returns the values that a bin begins with, and that it ends before.
func BinBounds(bin int) (low, high int64) {
	p, fraction := bin>>binBits, int64(bin&(1<<binBits-1))
	step := int64(1) << (p - binBits)
	low = int64(1)<<p + fraction*step
	return low, low + step
}

// binsOf counts a histogram by bins, as pairs of [Cell.Bins].
func binsOf(h *hdrhistogram.Histogram) [][2]uint64 {
	var pairs [][2]uint64
	for _, bar := range h.Distribution() {
		if bar.Count == 0 {
			continue
		}
		bin := uint64(BinOf(bar.From))
		if last := len(pairs) - 1; last >= 0 && pairs[last][0] == bin {
			pairs[last][1] += uint64(bar.Count)
		} else {
			pairs = append(pairs, [2]uint64{bin, uint64(bar.Count)})
		}
	}
	return pairs
}

// addBins is the sum of two lists of pairs, by bin.
func addBins(a, b [][2]uint64) [][2]uint64 {
	var sum [][2]uint64
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0][0] < b[0][0]:
			sum, a = append(sum, a[0]), a[1:]
		case a[0][0] > b[0][0]:
			sum, b = append(sum, b[0]), b[1:]
		default:
			sum = append(sum, [2]uint64{a[0][0], a[0][1] + b[0][1]})
			a, b = a[1:], b[1:]
		}
	}
	return append(append(sum, a...), b...)
}
