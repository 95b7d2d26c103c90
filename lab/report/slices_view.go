package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// slicesView is a result with what its tables and charts ask for.
type slicesView struct {
	*Slices
	systems []string // that were measured
}

func newSlicesView(s *Slices) *slicesView {
	v := &slicesView{Slices: s}
	for i := range s.Systems {
		if name := s.Systems[i].Name; slices.ContainsFunc(s.Cells, func(c SlicesCell) bool { return c.System == name && len(c.Delays) > 0 }) {
			v.systems = append(v.systems, name)
		}
	}
	return v
}

// class is the colour of a system.
func (v *slicesView) class(system string) string {
	return fmt.Sprintf("s%d", max(slices.Index(v.systems, system), 0)%maxSystemCSS+1)
}

// cells are those of a system at a load.
func (v *slicesView) cells(system, load string) []*SlicesCell {
	var list []*SlicesCell
	for i := range v.Cells {
		if c := &v.Cells[i]; c.System == system && c.Load == load {
			list = append(list, c)
		}
	}
	return list
}

// delays are a slice's in one direction, one of each repeat.
func (v *slicesView) delays(system, load, slice string, d Direction) []*SliceDelay {
	var list []*SliceDelay
	for _, c := range v.cells(system, load) {
		for i := range c.Delays {
			if one := &c.Delays[i]; one.Slice == slice && one.Direction == d {
				list = append(list, one)
			}
		}
	}
	return list
}

// over is the estimate of a value over repeats. Of a slice of which nothing was seen
// there is none.
func over(delays []*SliceDelay, value func(*SliceDelay) float64) Estimate {
	var values []float64
	for _, d := range delays {
		if d.Matched > 0 {
			values = append(values, value(d))
		}
	}
	return estimateOf(values)
}

func p50Of(d *SliceDelay) float64 { return float64(d.DelayNS.P50) }
func p99Of(d *SliceDelay) float64 { return float64(d.DelayNS.P99) }

// sumOf adds up counts of all repeats.
func sumOf(delays []*SliceDelay, count func(*SliceDelay) uint64) uint64 {
	sum := uint64(0)
	for _, d := range delays {
		sum += count(d)
	}
	return sum
}

// merged is the distribution of all repeats; nil: there is none.
func merged(texts []string) *hdrhistogram.Histogram {
	var all *hdrhistogram.Histogram
	for _, text := range texts {
		h, err := DecodeHistogram(text)
		switch {
		case err != nil || h == nil: // validated when it was read, empty if there was nothing
		case all == nil:
			all = h
		default:
			all.Merge(h)
		}
	}
	return all
}

func histogramsOf(delays []*SliceDelay) []string {
	var texts []string
	for _, d := range delays {
		texts = append(texts, d.Histogram)
	}
	return texts
}

// n4View is PFCP transactions of a kind of all UPFs and repeats of a system at a load.
type n4View struct {
	system, load, seen, message string
	count, refused, lost        uint64
	delays                      *hdrhistogram.Histogram
	perRepeat                   []*hdrhistogram.Histogram
}

// n4 gathers them, as they come.
func (v *slicesView) n4() []*n4View {
	var list []*n4View
	for _, system := range v.systems {
		for _, load := range v.Plan.Loads {
			for _, c := range v.cells(system, load.Name) {
				byKind := map[*n4View][]string{}
				for i := range c.N4 {
					n := &c.N4[i]
					at := slices.IndexFunc(list, func(w *n4View) bool {
						return w.system == system && w.load == load.Name && w.seen == n.Seen && w.message == n.Message
					})
					if at < 0 {
						at = len(list)
						list = append(list, &n4View{system: system, load: load.Name, seen: n.Seen, message: n.Message})
					}
					w := list[at]
					w.count, w.refused, w.lost = w.count+n.Count, w.refused+n.Refused, w.lost+n.Lost
					byKind[w] = append(byKind[w], n.Histogram)
				}
				for w, texts := range byKind {
					w.add(merged(texts))
				}
			}
		}
	}
	return list
}

// add takes the distribution of a repeat.
func (w *n4View) add(h *hdrhistogram.Histogram) {
	if h == nil {
		return
	}
	w.perRepeat = append(w.perRepeat, h)
	if w.delays == nil {
		w.delays = hdrhistogram.New(h.LowestTrackableValue(), h.HighestTrackableValue(), int(h.SignificantFigures()))
	}
	w.delays.Merge(h)
}

// estimate is a quantity of the repeats.
func (w *n4View) estimate(of func(*hdrhistogram.Histogram) float64) Estimate {
	var values []float64
	for _, h := range w.perRepeat {
		values = append(values, of(h))
	}
	return estimateOf(values)
}

func meanOf(h *hdrhistogram.Histogram) float64 { return h.Mean() }

func quantileOf(percentile float64) func(*hdrhistogram.Histogram) float64 {
	return func(h *hdrhistogram.Histogram) float64 { return float64(h.ValueAtPercentile(percentile)) }
}

// microUnit is that of delays.
var microUnit = unit{"µs", 1e-3, 1}

// title says in one line what was measured.
func (v *slicesView) title() string {
	who := strings.Join(v.systems, ", ")
	if who == "" {
		who = "nothing"
	}
	instances := "one UPF for all slices"
	if v.Plan.Instances > 1 {
		instances = fmt.Sprintf("%d UPFs each", v.Plan.Instances)
	}
	return fmt.Sprintf("slices: %s, %s, %d x %s", who, instances, v.Plan.Repeats, duration(v.Plan.DurationNS))
}

// balanced reports whether every packet of all cells is accounted for, and how many
// there were.
func (v *slicesView) balanced() (packets, ambiguous uint64, ok bool) {
	ok = true
	for i := range v.Cells {
		for j := range v.Cells[i].Delays {
			d := &v.Cells[i].Delays[j]
			packets, ambiguous, ok = packets+d.In, ambiguous+d.Ambiguous, ok && d.Balanced()
		}
	}
	return packets, ambiguous, ok
}

// failures says which cells have failed, in lines.
func (v *slicesView) failures() []note {
	var list []note
	for i := range v.Systems {
		if s := &v.Systems[i]; s.Missing != "" {
			list = append(list, note{s.Name, "is out: " + s.Missing})
		}
	}
	for i := range v.Cells {
		if c := &v.Cells[i]; c.Failed != "" {
			list = append(list, note{"failed", fmt.Sprintf("%s, %s, repeat %d: %s", c.System, c.Load, c.Repeat, c.Failed)})
		}
	}
	return list
}
