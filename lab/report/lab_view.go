package report

import (
	"math"
	"slices"
	"strings"
)

// labView finds in a [Lab] what is shown together.
type labView struct {
	*Lab
	turns     map[turnKey][]*Turn
	estimates map[figureKey]Estimate // those asked for already: an interval takes its time
}

// figureKey is a figure of a system in a cell, or its share of the bed's.
type figureKey struct {
	turnKey
	name  string
	share bool
}

type turnKey struct {
	cell   int
	system string
}

func newLabView(l *Lab) *labView {
	v := &labView{Lab: l, turns: map[turnKey][]*Turn{}, estimates: map[figureKey]Estimate{}}
	for i := range l.Turns {
		t := &l.Turns[i]
		k := turnKey{t.Cell, t.System}
		v.turns[k] = append(v.turns[k], t)
	}
	return v
}

// of returns the turns of a system in a cell, as they were made.
func (v *labView) of(cell int, system string) []*Turn { return v.turns[turnKey{cell, system}] }

// figure is a figure of a system in a cell.
func (v *labView) figure(cell int, system, name string) Estimate {
	return v.once(figureKey{turnKey{cell, system}, name, false}, func() Estimate { return newEstimate(v.repeats(cell, system, name)) })
}

func (v *labView) once(k figureKey, estimate func() Estimate) Estimate {
	e, known := v.estimates[k]
	if !known {
		e = estimate()
		v.estimates[k] = e
	}
	return e
}

// repeats are a figure of each turn of a system in a cell that has it.
func (v *labView) repeats(cell int, system, name string) []*Figure {
	var figures []*Figure
	for _, t := range v.of(cell, system) {
		if f := t.Figure(name); f != nil {
			figures = append(figures, f)
		}
	}
	return figures
}

// share is a figure of a system by that of the bed in the same repeat.
func (v *labView) share(cell int, system, name string) Estimate {
	return v.once(figureKey{turnKey{cell, system}, name, true}, func() Estimate { return estimateOf(v.shares(cell, system, name)) })
}

func (v *labView) shares(cell int, system, name string) []float64 {
	var shares []float64
	for _, t := range v.of(cell, system) {
		bed := v.repeat(cell, SystemBed, t.Repeat)
		if bed == nil {
			continue
		}
		own, limit := t.Figure(framesOf(t, name)), bed.Figure(framesOf(t, name))
		if own != nil && limit != nil && limit.Value > 0 && own.Unit != "bit/s" {
			shares = append(shares, own.Value/limit.Value)
		}
	}
	return shares
}

// framesOf is the figure that a share is of. Bits per second count the tunnel's headers on
// N3, which N6 has not and the bed has on both, so that their share is that of the frames.
func framesOf(t *Turn, name string) string {
	frames := name + " frames"
	if f := t.Figure(name); f != nil && f.Unit == "bit/s" && t.Figure(frames) != nil {
		return frames
	}
	return name
}

func (v *labView) repeat(cell int, system string, repeat int) *Turn {
	for _, t := range v.of(cell, system) {
		if t.Repeat == repeat {
			return t
		}
	}
	return nil
}

// failed reports whether a turn of a system in a cell failed.
func (v *labView) failed(cell int, system string) bool {
	return slices.ContainsFunc(v.of(cell, system), func(t *Turn) bool { return t.Failed != "" })
}

// methodView is the cells of one method, and what varies among them.
type methodView struct {
	*labView
	name    string
	cells   []int // indices in Plan.Cells, those of which there are turns, in the order of the axes
	axes    []axisOf
	figures []figureView // in the order of their first appearance
}

// figureView is what all figures of a name have in common.
type figureView struct {
	name    string
	better  Better
	bounded bool   // the method leaves a range
	kept    string // unit in the file
	unit    unit   // as it is shown
	span    span   // of the values but 0, without their signs
}

// methods returns those that there are turns of, in the order of the plan.
func (v *labView) methods() []*methodView {
	measured := map[int]bool{}
	for i := range v.Turns {
		measured[v.Turns[i].Cell] = true
	}
	var all []*methodView
	for _, name := range v.Plan.Methods {
		m := &methodView{labView: v, name: name}
		for i := range v.Plan.Cells {
			if v.Plan.Cells[i].Method == name && measured[i] {
				m.cells = append(m.cells, i)
			}
		}
		if len(m.cells) > 0 {
			m.axes, m.figures = m.findAxes(), m.findFigures()
			m.sort()
			all = append(all, m)
		}
	}
	return all
}

func (m *methodView) cell(index int) *LabCell { return &m.Plan.Cells[index] }

func (m *methodView) findFigures() []figureView {
	var figures []figureView
	index := map[string]int{}
	for i := range m.Turns {
		t := &m.Turns[i]
		if m.cell(t.Cell).Method != m.name {
			continue
		}
		for _, f := range t.Figures {
			at, seen := index[f.Name]
			if !seen {
				at = len(figures)
				index[f.Name] = at
				figures = append(figures, figureView{name: f.Name, better: f.Better, kept: f.Unit, span: noSpan})
			}
			figures[at].bounded = figures[at].bounded || f.Bounded()
			if v := math.Abs(f.Value); v > 0 {
				figures[at].span = figures[at].span.with(span{v, v})
			}
		}
	}
	for i := range figures {
		f := &figures[i]
		f.unit = unitOf(f.kept, f.span.low, f.span.high)
	}
	return figures
}

// sort puts the cells in the order of the axes, whatever the order of the run.
func (m *methodView) sort() {
	places := map[int][]int{} // of a cell: those of its values on each axis
	for _, a := range m.axes {
		place := map[string]int{}
		for i, value := range m.valuesOf(a) {
			place[value] = i
		}
		for _, cell := range m.cells {
			places[cell] = append(places[cell], place[a.text(m.cell(cell))])
		}
	}
	slices.SortStableFunc(m.cells, func(a, b int) int { return slices.Compare(places[a], places[b]) })
}

// systemsOf lists the systems that had a turn in a cell.
func (m *methodView) systemsOf(cell int) []string {
	var names []string
	for _, s := range m.Systems {
		if len(m.of(cell, s.Name)) > 0 {
			names = append(names, s.Name)
		}
	}
	return names
}

// main is the figure that systems are ranked by; nil: there is none.
func (m *methodView) main() *figureView {
	i := mainOf(m.figures, func(f figureView) (string, Better) { return f.name, f.better })
	if i < 0 {
		return nil
	}
	return &m.figures[i]
}

// Main is the figure to tell of a turn if one is; nil: there is none.
func (t *Turn) Main() *Figure {
	i := mainOf(t.Figures, func(f Figure) (string, Better) { return f.Name, f.Better })
	if i < 0 {
		return nil
	}
	return &t.Figures[i]
}

// mainOf returns which figure matters most: a throughput, or the first that is the
// better the higher, or p99, or the first of which something is better; -1: none.
func mainOf[T any](figures []T, of func(T) (name string, better Better)) int {
	for _, is := range []func(name string, better Better) bool{
		func(name string, b Better) bool { return b == Higher && strings.HasPrefix(name, string(Throughput)) },
		func(_ string, b Better) bool { return b == Higher },
		func(name string, b Better) bool { return b == Lower && strings.HasSuffix(name, "p99") },
		func(_ string, b Better) bool { return b == Lower },
	} {
		if i := slices.IndexFunc(figures, func(f T) bool { return is(of(f)) }); i >= 0 {
			return i
		}
	}
	return -1
}

// placesOf returns the places of the systems of a cell by the main figure. The bed is
// none of them.
func (m *methodView) placesOf(cell int, systems []string) map[string]string {
	f := m.main()
	if f == nil {
		return nil
	}
	var names []string
	var all []Estimate
	for _, name := range systems {
		if !isBed(name) {
			names, all = append(names, name), append(all, m.figure(cell, name, f.name))
		}
	}
	of := map[string]string{}
	for i, place := range places(all, f.better) {
		of[names[i]] = place
	}
	return of
}
