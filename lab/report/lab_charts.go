package report

import (
	"fmt"
	"slices"
)

// barFigures is how many figures of a method are drawn as bars without being asked
// for.
const barFigures = 2

// charts returns what is drawn of a method: what is shown, and what only on demand. Last
// is how turns went.
func (m *methodView) charts() (shown, more []*chart) {
	shown, more = m.chartsOfFigures()
	over, rest := m.overTime()
	return append(shown, over...), append(more, rest...)
}

// chartsOfFigures are bars where a rate is what matters, or where cells have nothing in
// common that a curve could go through; else what can be drawn as curves is.
func (m *methodView) chartsOfFigures() (shown, more []*chart) {
	if parts := m.parts(); len(parts) > 1 {
		for _, p := range parts {
			first, rest := p.bars(nil)
			shown, more = append(shown, first...), append(more, rest...)
		}
		return shown, more
	}
	curves, loss := m.latencyCharts(), m.lossCharts()
	if len(curves) > 0 {
		more = m.percentileCharts()
	}
	if main := m.main(); main == nil || main.better != Higher {
		for _, drawn := range [][]*chart{curves, m.n4Charts(), loss} {
			if len(drawn) > 0 {
				return drawn, more
			}
		}
	}
	return m.bars(append(append(curves, more...), loss...))
}

// bars are those of the first figures, and behind them those of all others and what
// there is more.
func (m *methodView) bars(rest []*chart) (shown, more []*chart) {
	drawn := 0
	for _, f := range m.byImportance() {
		if f.better == "" {
			continue
		}
		bars := m.barCharts(f)
		if drawn++; drawn <= barFigures {
			shown = append(shown, bars...)
		} else {
			more = append(more, bars...)
		}
	}
	return shown, append(more, rest...)
}

// byImportance puts the main figure first and leaves the others in their order.
func (m *methodView) byImportance() []*figureView {
	main := m.main()
	var all []*figureView
	if main != nil {
		all = append(all, main)
	}
	for i := range m.figures {
		if f := &m.figures[i]; f != main {
			all = append(all, f)
		}
	}
	return all
}

// inner is the axis that bars of a chart are grouped by: that with the most values,
// but for the direction, which has a chart of its own.
func (m *methodView) inner() axisOf {
	best, most := axisOf{}, 0
	for _, a := range m.axes {
		n := len(m.valuesOf(a))
		if a.name == "sessions" {
			n++ // before others with as many
		}
		if a.name != "direction" && n > most {
			best, most = a, n
		}
	}
	return best
}

// split puts cells together that differ along one axis alone.
func (m *methodView) split(along string) (titles []string, cells [][]int) {
	others := slices.DeleteFunc(slices.Clone(m.axes), func(a axisOf) bool { return a.name == along })
	index := map[string]int{}
	for _, i := range m.cells {
		title := m.cell(i).words(others)
		at, seen := index[title]
		if !seen {
			at = len(titles)
			index[title] = at
			titles, cells = append(titles, title), append(cells, nil)
		}
		cells[at] = append(cells[at], i)
	}
	return titles, cells
}

// barCharts draws a figure of all cells.
func (m *methodView) barCharts(f *figureView) []*chart {
	inner := m.inner()
	titles, cells := m.split(inner.name)
	u := plotUnitOf(f.kept, f.span.low, f.span.high)
	var charts []*chart
	for i, title := range titles {
		var groups []barGroup
		for _, cell := range cells[i] {
			g := barGroup{}
			if inner.text != nil {
				g.name = axisText(inner, m.cell(cell))
			}
			for _, system := range m.systemsOf(cell) {
				if isBed(system) && !m.hasFigures(cell, system) {
					continue
				}
				g.bars = append(g.bars, m.barOf(cell, system, f))
			}
			groups = append(groups, g)
		}
		charts = appendChart(charts, newBarChart(titled(f.name), title, m.axisOf(f, u), u, groups))
	}
	return charts
}

// axisOf is what stands below the bars of a figure.
func (m *methodView) axisOf(f *figureView, u unit) string {
	if m.sharesOf(f) {
		return u.name + " · part of the bed's"
	}
	return u.name
}

func (m *methodView) barOf(cell int, system string, f *figureView) barValue {
	b := barValue{system: system, class: m.class(system), estimate: m.figure(cell, system, f.name)}
	switch {
	case b.estimate.Repeats == 0 && m.failed(cell, system):
		b.note = "failed"
	case b.estimate.Repeats == 0:
		b.note = "not measured"
	case m.sharesOf(f) && !isBed(system):
		if share := m.share(cell, system, f.name); share.Repeats > 0 {
			b.note = fmt.Sprintf("%.0f %%", 100*share.Median)
		}
	}
	return b
}

func appendChart(charts []*chart, c *chart) []*chart {
	if c == nil {
		return charts
	}
	return append(charts, c)
}
