package system

import (
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/plumbline-upf/plumbline/lab/meter"
)

// TestExactEnds wants least and most as they were, and not as the ends of the ranges in which
// a histogram counts them; of several streams those of all.
func TestExactEnds(t *testing.T) {
	stream := func(least, most int64) meter.Stream {
		h := hdrhistogram.New(1, 1<<36-1, 2)
		for _, ns := range []int64{least, (least + most) / 2, most} {
			if err := h.RecordValue(ns); err != nil {
				t.Fatal(err)
			}
		}
		return meter.Stream{Received: 3, LeastNs: uint64(least), MostNs: uint64(most), FromIntended: h}
	}
	none := meter.Stream{FromIntended: hdrhistogram.New(1, 1<<36-1, 2)}
	both := together([]meter.Stream{none, stream(1_500_000_000, 1_500_000_001), stream(1_500_000_002, 1_500_900_000)})
	l := latencyOf(&both)
	if l.Min != 1_500_000_000 || l.Max != 1_500_900_000 || l.P50 < l.Min || l.P999 > l.Max || l.Mean < l.Min || l.Mean > l.Max || l.PDV != l.P999-l.Min {
		t.Errorf("got %+v, want 1500000000 to 1500900000", l)
	}
	curve := curveOf(&both)
	if first, last := curve[0].NS, curve[len(curve)-1].NS; first != l.Min || last != l.Max {
		t.Errorf("curve from %d to %d, want %d to %d", first, last, l.Min, l.Max)
	}
	if l := latencyOf(&none); l.Min != 0 || l.Max != 0 || curveOf(&none) != nil {
		t.Errorf("got %+v of no frame", l)
	}
}
