package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// fewFigures is how many figures have room for their intervals in a terminal.
const fewFigures = 4

// groupFigures is how many figures without intervals stand together.
const groupFigures = 4

// parts puts cells together that have figures of the same names: others need tables and
// charts of their own. A cell in which all failed is with the one before.
func (m *methodView) parts() []*methodView {
	var parts []*methodView
	for _, cell := range m.cells {
		figures := slices.DeleteFunc(slices.Clone(m.figures), func(f figureView) bool { return !m.measured(cell, f.name) })
		at := slices.IndexFunc(parts, func(p *methodView) bool {
			return slices.ContainsFunc(p.figures, func(f figureView) bool { return m.measured(cell, f.name) })
		})
		if at < 0 && len(figures) == 0 {
			at = len(parts) - 1
		}
		if at < 0 {
			part := *m
			part.cells, part.figures = nil, nil
			at, parts = len(parts), append(parts, &part)
		}
		p := parts[at]
		p.cells = append(p.cells, cell)
		p.figures = slices.DeleteFunc(slices.Clone(m.figures), func(f figureView) bool {
			return !slices.ContainsFunc(p.cells, func(cell int) bool { return m.measured(cell, f.name) })
		})
	}
	return parts
}

// measured reports whether a system has a figure of that name in a cell.
func (m *methodView) measured(cell int, name string) bool {
	return slices.ContainsFunc(m.Systems, func(s System) bool { return len(m.repeats(cell, s.Name, name)) > 0 })
}

// grid has a line for each system of each cell of the method, under the bed's; wide
// is whether every figure has its interval: the main one has it anyway.
func (m *methodView) grid(wide bool) *grid {
	wide = wide || len(m.figures) <= fewFigures
	g := &grid{}
	for _, a := range m.axes {
		flags := 0
		if a.left {
			flags = left
		}
		g.columns = append(g.columns, column{"", a.name, flags})
	}
	g.columns = append(g.columns, column{"", "system", left}, column{"", "place", 0})
	figures := m.byImportance()
	for i, f := range figures {
		if wide || i == 0 || m.drifts(f) {
			g.columns = append(g.columns, m.wideColumns(f)...)
		} else {
			g.columns = append(g.columns, m.narrowColumn(f, figures[i-1], (i-1)%groupFigures == 0 || m.drifts(figures[i-1])))
		}
	}
	for _, cell := range m.cells {
		m.addCell(g, cell, wide)
	}
	return g.withoutEmpty(len(m.axes) + 1)
}

// wideColumns are those of a figure with its interval, a group of its own.
func (m *methodView) wideColumns(f *figureView) []column {
	columns := []column{{f.unit.label(f.name), "median", bar}, {"", "low-high", 0}}
	if m.sharesOf(f) {
		columns = append(columns, column{"", "of bed", 0})
	}
	return columns
}

// narrowColumn is that of a figure without its interval, in a group with others of the
// same unit.
func (m *methodView) narrowColumn(f, before *figureView, begins bool) column {
	short := strings.TrimPrefix(f.name, m.name+" ")
	if begins || before.unit != f.unit {
		return column{strings.TrimPrefix(f.unit.name, "frames"), short, bar}
	}
	return column{"", short, 0}
}

// drifts reports whether a figure is by how much something rises, which says nothing without
// its interval.
func (m *methodView) drifts(f *figureView) bool { return m.intervals() && f.bounded }

// sharesOf reports whether a figure is shown as a share of the bed's: rates of frames are,
// and rates in bits beside which there is one of frames.
func (m *methodView) sharesOf(f *figureView) bool {
	return f.better == Higher && m.System(SystemBed) != nil && (f.kept == "pps" || f.kept == "bit/s" && m.isFigure(f.name+" frames"))
}

func (m *methodView) isFigure(name string) bool {
	return slices.ContainsFunc(m.figures, func(f figureView) bool { return f.name == name })
}

func (m *methodView) addCell(g *grid, cell int, wide bool) {
	systems := m.systemsOf(cell)
	places := m.placesOf(cell, systems)
	if isBed(systems[0]) && !m.hasFigures(cell, systems[0]) {
		systems = systems[1:] // the method does not concern it
	}
	for i, name := range systems {
		var row []string
		for _, a := range m.axes {
			text := ""
			if i == 0 {
				text = a.text(m.cell(cell))
			}
			row = append(row, text)
		}
		row = append(row, name, places[name])
		for j, f := range m.byImportance() {
			row = append(row, m.cellsOf(cell, name, f, wide || j == 0 || m.drifts(f))...)
		}
		g.add(row...)
	}
}

func (m *methodView) hasFigures(cell int, system string) bool {
	return slices.ContainsFunc(m.of(cell, system), func(t *Turn) bool { return len(t.Figures) > 0 })
}

// cellsOf are the cells of wideColumns, or of narrowColumn.
func (m *methodView) cellsOf(cell int, system string, f *figureView, wide bool) []string {
	u, e := f.unit, m.figure(cell, system, f.name)
	if !wide {
		return []string{u.estimate(e)}
	}
	cells := []string{u.estimate(e), u.interval(e)}
	if m.sharesOf(f) {
		share := m.share(cell, system, f.name)
		text := ""
		if share.Repeats > 0 && !isBed(system) {
			text = fmt.Sprintf("%.3f", share.Median)
		}
		cells = append(cells, text)
	}
	return cells
}

// withoutEmpty leaves out columns in which nothing stands, behind the first ones. What
// they begin passes to the next column of the group.
func (g *grid) withoutEmpty(first int) *grid {
	kept := &grid{rows: make([][]string, len(g.rows))}
	group, flags := "", 0
	for i, c := range g.columns {
		if c.group != "" || c.flags&bar != 0 {
			group, flags = "", 0
		}
		if i >= first && !slices.ContainsFunc(g.rows, func(row []string) bool { return row[i] != "" }) {
			group, flags = group+c.group, flags|c.flags&bar
			continue
		}
		c.group, c.flags = group+c.group, c.flags|flags
		group, flags = "", 0
		kept.columns = append(kept.columns, c)
		for j, row := range g.rows {
			kept.rows[j] = append(kept.rows[j], row[i])
		}
	}
	return kept
}

// systemsGrid is what a system has once.
func (v *labView) systemsGrid() *grid {
	g := &grid{columns: []column{
		{"", "system", left}, {"", "version", left}, {"", "mode", left}, {"", "offloads of the outer ends", left},
	}}
	var counts []int
	for _, s := range v.Systems {
		for _, m := range s.Memory {
			if !slices.Contains(counts, m.Sessions) {
				counts = append(counts, m.Sessions)
			}
		}
	}
	slices.Sort(counts)
	for i, n := range counts {
		group, flags := "", 0
		if i == 0 {
			group, flags = "memory, MiB: processes + maps", bar
		}
		g.columns = append(g.columns, column{group, count(uint64(n), "session"), flags})
	}
	for _, s := range v.Systems {
		row := []string{s.Name, s.Version, s.Mode, s.Offloads}
		for _, n := range counts {
			row = append(row, s.memoryText(n))
		}
		g.add(row...)
	}
	return g.withoutEmpty(1)
}

// referencesGrid is what others published that no other table has; nil: there is nothing.
func (v *labView) referencesGrid() *grid {
	g := &grid{columns: []column{
		{"", "system", left}, {"", "version", left}, {"", "what", left}, {"", "figure", left}, {"", "value", bar}, {"", "unit", left},
	}}
	for i := range v.References {
		r := &v.References[i]
		if v.inSides(r) {
			continue
		}
		what := strings.TrimPrefix(r.Cell.Method+", "+r.Cell.words(labAxes), ", ")
		for _, f := range r.Figures {
			u := unitOf(f.Unit, math.Abs(f.Value), math.Abs(f.Value))
			g.add(r.System, r.Version, what, f.Name, u.text(f.Value), u.name)
		}
	}
	if len(g.rows) == 0 {
		return nil
	}
	return g
}

func (s *System) memoryText(sessions int) string {
	for _, m := range s.Memory {
		if m.Sessions == sessions {
			return fmt.Sprintf("%.0f + %.0f", float64(m.ResidentOctets)/(1<<20), float64(m.MapOctets)/(1<<20))
		}
	}
	return ""
}
