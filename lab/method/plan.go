package method

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/plumbline-upf/plumbline/lab/report"
)

// Axes are what a run goes through, every combination of them.
type Axes struct {
	Rules      []string           // as [report.Setup.Rules]; "": nothing beside a PDR, a FAR and a QFI each way
	Sessions   []int              //
	Frames     []string           // as [report.LabCell.Frames]
	Directions []report.Direction // "": both at once
	Churn      []string           // as [report.LabCell.Churn]; "": none
	Access     string             // of all of them
}

// cells are the cells of all methods at all points. Rules are outermost, because all
// sessions are established anew for others; sessions are next and ascend, because they
// are only added.
func (a *Axes) cells(methods []Method) []report.LabCell {
	var cells []report.LabCell
	a.each(func(point report.LabCell) {
		for _, m := range methods {
			for _, cell := range m.Cells(point) {
				// What has no frames is measured once, however many frames there are.
				if cell.Frames != "" || !slices.Contains(cells, cell) {
					cells = append(cells, cell)
				}
			}
		}
	})
	return cells
}

func (a *Axes) each(f func(point report.LabCell)) {
	sessions := slices.Compact(slices.Sorted(slices.Values(a.Sessions)))
	for _, rules := range orNone(a.Rules) {
		for _, n := range sessions {
			for _, frames := range a.Frames {
				for _, d := range a.Directions {
					for _, churn := range orNone(a.Churn) {
						f(report.LabCell{Direction: d, Sessions: n, Frames: frames, Access: a.Access, Rules: rules, Churn: churn})
					}
				}
			}
		}
	}
}

// orNone is a list of the empty word if there is none.
func orNone(list []string) []string {
	if len(list) == 0 {
		return []string{""}
	}
	return list
}

// plan is what the result says was asked for.
func (c *Config) plan() (report.LabPlan, error) {
	p := report.LabPlan{
		Cells: c.Axes.cells(c.Methods), Repeats: c.Repeats, DurationNS: c.Duration.Nanoseconds(), WarmUpNS: c.WarmUp.Nanoseconds(),
		Arrangement: c.Arrangement,
	}
	options := maps.Clone(c.Options)
	for _, m := range c.Methods {
		p.Methods = append(p.Methods, m.Name())
		if options == nil {
			options = map[string]string{}
		}
		maps.Copy(options, m.Options())
	}
	if len(options) > 0 { // else a plan that was read would be another one
		p.Options = options
	}
	for i, cell := range p.Cells {
		if slices.Contains(p.Cells[:i], cell) {
			return p, fmt.Errorf("%s: is asked for twice", describe(cell))
		}
	}
	switch {
	case len(p.Cells) == 0:
		return p, errors.New("nothing to measure: no sessions, frames or directions")
	case p.Repeats < 1 || p.Repeats > MaxRepeats:
		return p, fmt.Errorf("%d repeats: want 1 to %d", p.Repeats, MaxRepeats)
	}
	return p, nil
}
