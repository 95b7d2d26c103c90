package report

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/plumbline-upf/plumbline/internal/stats"
)

// LabRun is a result and what it is called beside others.
type LabRun struct {
	Name string
	*Lab
}

// LabComparison is two or more results beside each other: each but the first against
// the first.
type LabComparison struct {
	Runs []LabRun
	CompareOptions
	Rows []DifferenceRow
}

// CompareOptions say what is compared, and how strictly.
type CompareOptions struct {
	Threshold float64                // ratio: what is worse by no more than that is no regression
	Shares    bool                   // rates are compared as shares of what the bed carried in the same repeat
	Figures   func(name string) bool // nil: all of them
}

// DifferenceRow is a figure of a system in a cell, in all results.
type DifferenceRow struct {
	Cell     LabCell
	System   string
	Figure   string
	Unit     string
	Better   Better
	Measured []Estimate   // by result
	Changes  []Difference // of each result to the first; that of the first says nothing
}

// Difference is what a figure is to the same one of the first result.
type Difference struct {
	Verdict Verdict
	// Ratio is the median by the first one's, and where that is. It is not known
	// ([Difference.Known]) where one of the two was 0 or below.
	Ratio float64
	stats.Interval
}

// Known reports whether there is a ratio.
func (d Difference) Known() bool { return d.Ratio > 0 }

// Verdict is what can be said of a difference.
type Verdict string

// The verdicts. Worse and Better take a ratio whose interval leaves 1 out.
const (
	Worse     Verdict = "worse"
	Improved  Verdict = "better"
	Same      Verdict = "same"      // the interval is within the threshold
	Slight    Verdict = "slight"    // the interval leaves 1 out, but the median is within the threshold
	Untold    Verdict = "not told"  // too few repeats, or an interval too wide
	Changed   Verdict = "changed"   // of a figure of which nothing is better
	FailedNow Verdict = "failed"    // was measured in the first result
	Elsewhere Verdict = "elsewhere" // is in one of the two alone
)

// MaxRuns is how many results are compared at most.
const MaxRuns = 8

// ErrNothingShared is the error of results that have no figure in common.
var ErrNothingShared = errors.New("the results have no figure in common: no system was measured in the same cell by the same method")

// CompareLabs compares results with the first one: the figures that Figures wants, all
// if it is nil.
//
// Errors: [ErrNothingShared].
func CompareLabs(runs []LabRun, o CompareOptions) (*LabComparison, error) {
	c := &LabComparison{Runs: runs, CompareOptions: o}
	views := make([]*labView, len(runs))
	for i, run := range runs {
		views[i] = newLabView(run.Lab)
	}
	for _, m := range views[0].methods() {
		for _, cell := range m.cells {
			for _, system := range m.systemsOf(cell) {
				c.addRows(views, m, cell, system)
			}
		}
	}
	if !slices.ContainsFunc(c.Rows, func(r DifferenceRow) bool {
		return slices.ContainsFunc(r.Changes[1:], func(d Difference) bool { return d.Verdict != Elsewhere })
	}) {
		return nil, ErrNothingShared
	}
	return c, nil
}

// addRows adds a row for each figure of a system in a cell.
func (c *LabComparison) addRows(views []*labView, m *methodView, cell int, system string) {
	for i := range m.figures {
		f := &m.figures[i]
		if c.Figures != nil && !c.Figures(f.name) {
			continue
		}
		if row := c.row(views, m, cell, system, f); row != nil {
			c.Rows = append(c.Rows, *row)
		}
	}
}

// row compares one figure; nil: the first result does not have it.
func (c *LabComparison) row(views []*labView, m *methodView, cell int, system string, f *figureView) *DifferenceRow {
	base := c.values(views[0], cell, system, f)
	if base.Repeats == 0 {
		return nil
	}
	row := &DifferenceRow{Cell: *m.cell(cell), System: system, Figure: f.name, Unit: base.unit, Better: f.better}
	for i, v := range views {
		at := slices.Index(v.Plan.Cells, *m.cell(cell))
		if i == 0 {
			at = cell
		}
		if at < 0 || v.System(system) == nil {
			row.add(Estimate{}, Difference{Verdict: Elsewhere})
			continue
		}
		own := c.values(v, at, system, f)
		switch {
		case own.Repeats > 0 && own.unit == base.unit:
			row.add(own.Estimate, base.to(own, f.better, c.Threshold))
		case v.failed(at, system) || v.System(system).Missing != "":
			row.add(Estimate{}, Difference{Verdict: FailedNow})
		default:
			row.add(Estimate{}, Difference{Verdict: Elsewhere})
		}
	}
	return row
}

func (r *DifferenceRow) add(e Estimate, d Difference) {
	r.Measured, r.Changes = append(r.Measured, e), append(r.Changes, d)
}

// compared is a figure with the values of its repeats.
type compared struct {
	Estimate
	values []float64
	unit   string
}

// values are those of a figure, or its shares of the bed's.
func (c *LabComparison) values(v *labView, cell int, system string, f *figureView) compared {
	if c.Shares && !isBed(system) && f.better == Higher && (f.kept == "pps" || f.kept == "bit/s") { // of frames: see framesOf
		if shares := v.shares(cell, system, f.name); len(shares) > 0 {
			return compared{v.share(cell, system, f.name), shares, "ratio"}
		}
		return compared{} // without a baseline there is no share: the figure is left out
	}
	own := compared{Estimate: v.figure(cell, system, f.name)}
	for _, figure := range v.repeats(cell, system, f.name) {
		own.values, own.unit = append(own.values, figure.Value), figure.Unit
	}
	return own
}

// to compares the figure of a later result with a.
func (a compared) to(b compared, better Better, threshold float64) Difference {
	if slices.Min(a.values) <= 0 || slices.Min(b.values) <= 0 {
		return a.toNothing(b, better)
	}
	ratio, interval := stats.Ratio(b.values, a.values, stats.Usual)
	d := Difference{Ratio: ratio, Interval: interval}
	if a.Low > 0 { // what the methods left open is in the estimates
		d.Low, d.High = d.Low*b.below()/a.above(), d.High*b.above()/a.below()
	}
	d.Verdict = d.verdict(better, threshold)
	return d
}

// below and above are how far the ends of the interval are from the median, as ratios,
// by what the method left open beyond the spread of the repeats.
func (a compared) below() float64 { return min(1, a.Low/slices.Min(a.values)) }
func (a compared) above() float64 { return max(1, a.High/slices.Max(a.values)) }

// toNothing compares where there is no ratio: a loss that was 0, say, or is.
func (a compared) toNothing(b compared, better Better) Difference {
	one := stats.Interval{Low: 1, High: 1}
	d := Difference{Verdict: Untold, Interval: one}
	switch {
	case a.Median == b.Median && a.Low == a.High && b.Low == b.High:
		d.Verdict = Same
	case better != "" && b.Better(a.Interval, better == Higher):
		d.Verdict = Improved
	case better != "" && a.Better(b.Interval, better == Higher):
		d.Verdict = Worse
	}
	return d
}

// enough is the confidence below which nothing is told: that of three repeats.
const enough = 0.75

func (d Difference) verdict(better Better, threshold float64) Verdict {
	beyond := math.Abs(d.Ratio-1) > threshold
	switch apart := d.Low > 1 || d.High < 1; {
	case d.Confidence < enough:
		return Untold
	case d.Low >= 1-threshold && d.High <= 1+threshold:
		return Same
	case !apart:
		return Untold
	case !beyond:
		return Slight
	case better == "":
		return Changed
	case (d.Ratio > 1) == (better == Higher):
		return Improved
	}
	return Worse
}

// Regressions are the figures that are worse, or failed, in a later result. The bed's
// are not among them: that is the machine.
func (c *LabComparison) Regressions() []*DifferenceRow {
	var rows []*DifferenceRow
	for i := range c.Rows {
		if r := &c.Rows[i]; !isBed(r.System) && r.Has(Worse, FailedNow) {
			rows = append(rows, r)
		}
	}
	return rows
}

// Has reports whether any change of the row has one of these verdicts.
func (r *DifferenceRow) Has(verdicts ...Verdict) bool {
	return slices.ContainsFunc(r.Changes[1:], func(d Difference) bool { return slices.Contains(verdicts, d.Verdict) })
}

// count is how often a verdict was given, the bed's apart.
func (c *LabComparison) count(verdict Verdict) int {
	n := 0
	for i := range c.Rows {
		if isBed(c.Rows[i].System) {
			continue
		}
		for _, d := range c.Rows[i].Changes[1:] {
			if d.Verdict == verdict {
				n++
			}
		}
	}
	return n
}

// changeText is a ratio as people say it.
func changeText(ratio float64) string { return fmt.Sprintf("%+.1f %%", 100*(ratio-1)) }

// text is the change and where it is.
func (d Difference) text() (change, interval string) {
	if !d.Known() {
		return "", ""
	}
	return changeText(d.Ratio), changeText(d.Low) + " to " + changeText(d.High)
}
