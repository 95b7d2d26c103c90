package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// The names of the figures that the table of both sides is made of, as the campaign
// has them. Where a cell has both directions at once, the direction is before them.
const (
	figureTx       = "Tx"
	figureRx       = "Rx"
	figureTxFrames = "Tx frames"
	figureRxFrames = "Rx frames"
	figureLoss     = "loss"
	figureCPU      = "CPU of the process"
)

var sideFigures = []struct {
	group, name, figure, unit string
}{
	{"Gbit/s", "Tx", figureTx, "bit/s"}, {"", "Rx", figureRx, "bit/s"}, {"kpps", "Tx", figureTxFrames, "pps"}, {"", "Rx", figureRxFrames, "pps"},
	{"%", "loss", figureLoss, "ratio"}, {"", "CPU", figureCPU, "percent"},
}

// referenceMark stands behind the name of a system whose line was published by others.
const referenceMark = " †"

// sides is a table as comparisons of UPFs have it: a line for each system, what was
// sent and received in one direction beside that in the other, and under them the
// lines that others published. It is nil if the method does not measure that.
func (m *methodView) sides() *grid {
	if !m.hasSides() {
		return nil
	}
	others := slices.DeleteFunc(slices.Clone(m.axes), func(a axisOf) bool { return a.name == "direction" })
	g := &grid{}
	for _, a := range others {
		g.columns = append(g.columns, column{"", a.name, left})
	}
	g.columns = append(g.columns, column{"", "system", left}, column{"", "version", left})
	for _, d := range Directions {
		for _, f := range sideFigures {
			flags, group := 0, f.group
			if group != "" {
				group, flags = string(d)+", "+group, bar
			}
			g.columns = append(g.columns, column{group, f.name, flags})
		}
	}
	_, groups := m.split("direction")
	for _, cells := range groups {
		m.addSides(g, others, cells)
	}
	m.addReferences(g, len(others))
	return g.withoutEmpty(len(others) + 2)
}

// hasSides reports whether the method measures what the table of both sides has.
func (m *methodView) hasSides() bool {
	return slices.ContainsFunc(m.figures, func(f figureView) bool { return strings.HasSuffix(f.name, figureRxFrames) })
}

// inSides reports of a reference whether it is a line of such a table.
func (v *labView) inSides(r *Reference) bool {
	return slices.ContainsFunc(v.methods(), func(m *methodView) bool { return m.name == r.Cell.Method && m.hasSides() })
}

// marked reports whether any reference is.
func (v *labView) marked() bool {
	for i := range v.References {
		if v.inSides(&v.References[i]) {
			return true
		}
	}
	return false
}

// addSides adds the systems of cells that differ in the direction alone.
func (m *methodView) addSides(g *grid, others []axisOf, cells []int) {
	for i, name := range m.systemsOf(cells[0]) {
		var row []string
		for _, a := range others {
			text := ""
			if i == 0 {
				text = a.text(m.cell(cells[0]))
			}
			row = append(row, text)
		}
		row = append(row, name, m.System(name).Version)
		for _, d := range Directions {
			for _, f := range sideFigures {
				row = append(row, m.side(cells, name, d, f.figure, f.unit))
			}
		}
		g.add(row...)
	}
}

func (m *methodView) side(cells []int, system string, d Direction, figure, unit string) string {
	for _, cell := range cells {
		switch m.cell(cell).Direction {
		case d:
			return unitOf(unit, 0, 0).estimate(m.figure(cell, system, figure))
		case "":
			return unitOf(unit, 0, 0).estimate(m.figure(cell, system, string(d)+" "+figure))
		}
	}
	return ""
}

// addReferences adds a line for each system that others published figures of.
func (m *methodView) addReferences(g *grid, axes int) {
	type key struct{ system, version string }
	values, order := map[key]map[string]string{}, []key(nil)
	for i := range m.References {
		r := &m.References[i]
		if r.Cell.Method != m.name {
			continue
		}
		k := key{r.System, r.Version}
		if values[k] == nil {
			values[k], order = map[string]string{}, append(order, k)
		}
		for _, f := range r.Figures {
			values[k][string(r.Cell.Direction)+f.Name] = unitOf(f.Unit, math.Abs(f.Value), math.Abs(f.Value)).text(f.Value)
		}
	}
	for i, k := range order {
		row := append(make([]string, axes), k.system+referenceMark, k.version)
		if i == 0 && axes > 0 {
			row[0] = "published"
		}
		for _, d := range Directions {
			for _, f := range sideFigures {
				row = append(row, values[k][string(d)+f.figure])
			}
		}
		g.add(row...)
	}
}

// sidesNote says what the mark means, where it is.
func (v *labView) sidesNote() string {
	if !v.marked() {
		return ""
	}
	return fmt.Sprintf("lines with%s were published by others: another machine, another bed, another generator", referenceMark)
}
