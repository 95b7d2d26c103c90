package report

import (
	"slices"

	"github.com/plumbline-upf/plumbline/internal/stats"
)

// Estimate is a figure over the repeats.
type Estimate struct {
	Repeats int // 0: the figure was not measured
	Median  float64
	// Interval is where the median is, widened by what the method itself left open. Of
	// one repeat, and a method that leaves nothing open, it is the value alone: see
	// [Estimate.Known].
	stats.Interval
}

// Known reports whether there is an interval: of one repeat there is none.
func (e Estimate) Known() bool { return e.Confidence > 0 || e.Low < e.High }

// newEstimate takes the values of the repeats, and widens their interval by what the
// method itself left open.
func newEstimate(figures []*Figure) Estimate {
	of := func(value func(*Figure) float64) []float64 {
		all := make([]float64, len(figures))
		for i, f := range figures {
			all[i] = value(f)
		}
		return all
	}
	e := estimateOf(of(func(f *Figure) float64 { return f.Value }))
	if slices.ContainsFunc(figures, (*Figure).Bounded) {
		e.Low = min(e.Low, stats.Median(of(func(f *Figure) float64 { return f.bound(f.Low) })))
		e.High = max(e.High, stats.Median(of(func(f *Figure) float64 { return f.bound(f.High) })))
	}
	return e
}

// bound is the value itself where the method left no range.
func (f *Figure) bound(v float64) float64 {
	if f.Bounded() {
		return v
	}
	return f.Value
}

// estimateOf is the median and the interval of plain values.
func estimateOf(values []float64) Estimate {
	if len(values) == 0 {
		return Estimate{}
	}
	return Estimate{Repeats: len(values), Median: stats.Median(values), Interval: stats.MedianInterval(values, stats.Usual)}
}

// places are where systems stand among each other by a figure, empty for those that
// were not measured; if none can be told from another one, of all.
func places(all []Estimate, better Better) []string {
	var index []int
	var intervals []stats.Interval
	for i, e := range all {
		if e.Repeats > 0 {
			index, intervals = append(index, i), append(intervals, e.Interval)
		}
	}
	texts := make([]string, len(all))
	told := false
	for i, p := range stats.Places(intervals, better == Higher) {
		texts[index[i]] = p.String()
		told = told || p != stats.Place{First: 1, Last: len(intervals)}
	}
	if !told {
		clear(texts)
	}
	return texts
}
