package report

import (
	"maps"
	"slices"

	"github.com/plumbline-upf/plumbline/internal/stats"
)

// Row is the trials of one kind that differ in nothing but the repeat: one line
// of a table.
type Row struct {
	Trials []*Trial   // one or more
	Bed    []BedTrial // one or more, with the same frames
}

// rowKey is what the trials of a row have in common.
type rowKey struct {
	dut, datapath, mode, access string
	direction                   Direction
	kind                        Kind
	sessions, frameOctets       int
}

// Rows groups the trials of one kind, uplink before downlink, otherwise in the
// order in which they were made.
func (r *Result) Rows(kind Kind) []Row {
	return r.rows(func(t *Trial) bool { return t.Kind == kind })
}

// LatencyRows groups the trials at a given rate, whatever their kind: at the
// highest rate a frame's latency is the sender's, not the path's.
func (r *Result) LatencyRows() []Row {
	return r.rows(func(t *Trial) bool { return t.IntendedPPS > 0 })
}

func (r *Result) rows(in func(*Trial) bool) []Row {
	var rows []Row
	for _, d := range Directions {
		index := map[rowKey]int{}
		for i := range r.Trials {
			t := &r.Trials[i]
			if t.Direction != d || !in(t) {
				continue
			}
			key := rowKey{t.DUT, t.Datapath, t.XDPMode, t.Access, t.Direction, t.Kind, t.Sessions, t.FrameOctets}
			at, seen := index[key]
			if !seen {
				at = len(rows)
				index[key] = at
				rows = append(rows, Row{Bed: r.Bed.Limit(d).Of(t.Sessions)})
			}
			rows[at].Trials = append(rows[at].Trials, t)
		}
	}
	return rows
}

// BedPPS returns the median of the bed limit.
func (w Row) BedPPS() float64 {
	return medianOf(w.Bed, func(t BedTrial) float64 { return t.ReceivedPPS })
}

// SessionCounts lists the session counts of the trials, ascending.
func (r *Result) SessionCounts() []int {
	counts := map[int]bool{}
	for i := range r.Trials {
		counts[r.Trials[i].Sessions] = true
	}
	return slices.Sorted(maps.Keys(counts))
}

// First returns the trial that stands for what all trials of the row share.
func (w Row) First() *Trial { return w.Trials[0] }

// Median returns the median over the repeats.
func (w Row) Median(of func(*Trial) float64) float64 { return stats.Median(w.values(of)) }

// Spread returns the lowest and the highest of the repeats.
func (w Row) Spread(of func(*Trial) float64) (low, high float64) {
	v := w.values(of)
	return slices.Min(v), slices.Max(v)
}

// Sum adds up a count over the repeats.
func (w Row) Sum(of func(*Trial) uint64) uint64 {
	var sum uint64
	for _, t := range w.Trials {
		sum += of(t)
	}
	return sum
}

// CostNS returns the median of what the DUT adds to each frame, in ns; false if
// no trial of the row has it.
func (w Row) CostNS() (float64, bool) {
	var v []float64
	for _, t := range w.Trials {
		if t.CostNS != nil {
			v = append(v, *t.CostNS)
		}
	}
	if len(v) == 0 {
		return 0, false
	}
	return stats.Median(v), true
}

// LatencyNS returns the medians of the repeats' percentiles, the lowest minimum
// and the highest maximum.
func (w Row) LatencyNS() Latency {
	at := func(of func(Latency) int64) int64 {
		return int64(w.Median(func(t *Trial) float64 { return float64(of(t.LatencyNS)) }))
	}
	low, _ := w.Spread(func(t *Trial) float64 { return float64(t.LatencyNS.Min) })
	_, high := w.Spread(func(t *Trial) float64 { return float64(t.LatencyNS.Max) })
	return Latency{
		Min:  int64(low),
		P50:  at(func(l Latency) int64 { return l.P50 }),
		P90:  at(func(l Latency) int64 { return l.P90 }),
		P99:  at(func(l Latency) int64 { return l.P99 }),
		P999: at(func(l Latency) int64 { return l.P999 }),
		Max:  int64(high),
	}
}

func (w Row) values(of func(*Trial) float64) []float64 {
	v := make([]float64, len(w.Trials))
	for i, t := range w.Trials {
		v[i] = of(t)
	}
	return v
}

func medianOf[T any](all []T, of func(T) float64) float64 {
	v := make([]float64, len(all))
	for i := range all {
		v[i] = of(all[i])
	}
	return stats.Median(v)
}
