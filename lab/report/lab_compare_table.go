package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// LabComparisonTable writes c as text for a terminal: what changed, or all figures.
func LabComparisonTable(w io.Writer, c *LabComparison, all bool) error {
	var b strings.Builder
	writeTitle(&b, c.title())
	if g := c.grid(all); len(g.rows) > 0 {
		g.fit(&b, c.first())
	}
	for _, n := range c.notes(all) {
		writeNote(&b, n)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (c *LabComparison) title() string {
	var names []string
	for _, run := range c.Runs[1:] {
		names = append(names, run.Name)
	}
	text := strings.Join(names, ", ") + " against " + c.Runs[0].Name
	if c.Shares {
		text += ", rates as shares of the bed's"
	}
	return text
}

// axes are those along which the rows differ.
func (c *LabComparison) axes() []axisOf {
	return slices.DeleteFunc(slices.Clone(labAxes), func(a axisOf) bool {
		return !slices.ContainsFunc(c.Rows, func(r DifferenceRow) bool { return a.text(&r.Cell) != a.text(&c.Rows[0].Cell) })
	})
}

// first is how many columns say which row it is.
func (c *LabComparison) first() int { return len(c.axes()) + 3 }

// shown reports whether a row is worth a line where not all are shown.
func (r *DifferenceRow) shown() bool { return r.Has(Worse, Improved, Changed, FailedNow) }

// grid has a line for each figure; those without a difference beyond the threshold only
// if all are asked for.
func (c *LabComparison) grid(all bool) *grid {
	axes := c.axes()
	g := &grid{columns: []column{{"", "method", left}}}
	for _, a := range axes {
		flags := 0
		if a.left {
			flags = left
		}
		g.columns = append(g.columns, column{"", a.name, flags})
	}
	g.columns = append(g.columns, column{"", "system", left}, column{"", "figure", left}, column{c.Runs[0].Name, "median", bar})
	for _, run := range c.Runs[1:] {
		g.columns = append(g.columns, column{run.Name, "median", bar}, column{"", "change", 0}, column{"", "low to high", 0}, column{"", "", left})
	}
	for i := range c.Rows {
		r := &c.Rows[i]
		if !all && !r.shown() {
			continue
		}
		cells := []string{r.Cell.Method}
		for _, a := range axes {
			cells = append(cells, a.text(&r.Cell))
		}
		u := r.unit()
		cells = append(cells, r.System, u.label(r.Figure), u.estimate(r.Measured[0]))
		for j, d := range r.Changes[1:] {
			change, interval := d.text()
			cells = append(cells, u.estimate(r.Measured[j+1]), change, interval, string(d.Verdict))
		}
		g.add(cells...)
	}
	return g
}

func (r *DifferenceRow) unit() unit {
	all := noSpan
	for _, e := range r.Measured {
		if v := math.Abs(e.Median); v > 0 {
			all = all.with(span{v, v})
		}
	}
	return unitOf(r.Unit, all.low, all.high)
}

// notes say what the verdicts mean, how many there are, and what else is different.
func (c *LabComparison) notes(all bool) []note {
	notes := []note{{"verdicts", c.summary()}}
	if bed := c.bedText(); bed != "" {
		notes = append(notes, note{"beware", bed})
	}
	for _, run := range c.Runs[1:] {
		if text := c.otherwise(run); text != "" {
			notes = append(notes, note{"different", run.Name + ": " + text})
		}
	}
	for _, run := range c.Runs {
		if run.Finished == nil {
			notes = append(notes, note{"unfinished", run.Name + ": " + newLabView(run.Lab).progress()})
		}
		if run.Plan.Repeats < 3 {
			notes = append(notes, note{"repeats", fmt.Sprintf("%s has %s: of fewer than three nothing can be told", run.Name, count(uint64(run.Plan.Repeats), "repeat"))})
		}
	}
	notes = append(notes, note{"reading", fmt.Sprintf("change: median by that of %s, and where that ratio is. Worse and better: the interval leaves no change out and "+
		"the median is off by more than %s %%; slight: by no more than that; same: the whole interval is within it; not told: all else",
		c.Runs[0].Name, trimmed(100*c.Threshold))})
	if !all && len(c.grid(false).rows) < len(c.Rows) {
		notes = append(notes, note{"", "figures without a difference beyond the threshold are not in the table; --all shows them"})
	}
	return notes
}

var verdicts = []Verdict{Worse, FailedNow, Improved, Changed, Slight, Same, Untold, Elsewhere}

func (c *LabComparison) summary() string {
	var parts []string
	for _, v := range verdicts {
		if n := c.count(v); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, v))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ") + "; figures of the bed are not counted"
}

// bedText says that the machine itself was faster or slower.
func (c *LabComparison) bedText() string {
	var parts []string
	for i := range c.Rows {
		r := &c.Rows[i]
		if !isBed(r.System) || r.Better != Higher || !r.Has(Worse, Improved) {
			continue
		}
		for j, d := range r.Changes[1:] {
			if d.Verdict == Worse || d.Verdict == Improved {
				text := fmt.Sprintf("%s %s", c.Runs[j+1].Name, changeText(d.Ratio))
				if !slices.Contains(parts, text) && len(parts) < 8 {
					parts = append(parts, text)
				}
			}
		}
	}
	if len(parts) == 0 {
		return ""
	}
	text := "the bed itself carried more or less than in " + c.Runs[0].Name + " (" + strings.Join(parts, ", ") + "): that is the machine, not a system"
	if !c.Shares {
		text += "; --shares compares rates as shares of the bed's"
	}
	return text
}

// otherwise says what differs between a run and the first beside the figures.
func (c *LabComparison) otherwise(run LabRun) string {
	a, b := &c.Runs[0].Host, &run.Host
	var parts []string
	for _, f := range []struct{ name, a, b string }{
		{"CPU", a.CPUModel, b.CPUModel}, {"CPUs", fmt.Sprint(a.CPUs), fmt.Sprint(b.CPUs)}, {"kernel", a.Kernel, b.Kernel},
		{"plumb", strings.TrimSpace(a.Version + " " + a.Commit), strings.TrimSpace(b.Version + " " + b.Commit)}, {"BPF JIT", a.BPFJIT, b.BPFJIT}, {"spectre v2", a.SpectreV2, b.SpectreV2},
		{"arrangement", c.Runs[0].Plan.Arrangement, run.Plan.Arrangement},
		{"trials", duration(c.Runs[0].Plan.DurationNS), duration(run.Plan.DurationNS)},
	} {
		if f.a != f.b {
			parts = append(parts, fmt.Sprintf("%s %s, was %s", f.name, orNone(f.b), orNone(f.a)))
		}
	}
	for _, s := range run.Systems {
		if old := c.Runs[0].System(s.Name); old != nil && old.Version != s.Version {
			parts = append(parts, fmt.Sprintf("%s %s, was %s", s.Name, orNone(s.Version), orNone(old.Version)))
		}
	}
	return strings.Join(parts, "; ")
}
