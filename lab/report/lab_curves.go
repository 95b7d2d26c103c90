package report

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// trials calls f with every trial of a system in some cells.
func (m *methodView) trials(cells []int, system string, f func(*Trial)) {
	for _, cell := range cells {
		for _, t := range m.of(cell, system) {
			for i := range t.Trials {
				f(&t.Trials[i])
			}
		}
	}
}

// loads gathers the trials of a system at given rates in one direction, those at about
// the same rate together, by rate.
func (m *methodView) loads(cells []int, system string, d Direction) [][]*Trial {
	byRate := map[int][]*Trial{}
	m.trials(cells, system, func(t *Trial) {
		if t.IntendedPPS > 0 && t.Direction == d && t.Kind != Saturated {
			k := int(math.Round(20 * math.Log2(t.IntendedPPS))) // within 3.5 %
			byRate[k] = append(byRate[k], t)
		}
	})
	var all [][]*Trial
	for _, k := range sortedKeys(byRate) {
		all = append(all, byRate[k])
	}
	return all
}

// lossCharts draw the loss over the rate, where a system had three rates or more.
func (m *methodView) lossCharts() []*chart {
	var charts []*chart
	for _, cell := range m.cells {
		for _, d := range m.directionsOf(cell) {
			spec := curveChart{
				title: "Loss over load", sub: m.cell(cell).wordsOf(m.axes, d), x: "offered, Mpps", y: "lost frames, %",
				xScale: linearScale, yScale: newLossScale,
			}
			for _, s := range m.Systems {
				loads := m.loads([]int{cell}, s.Name, d)
				if len(loads) < 3 {
					continue
				}
				spec.curves = append(spec.curves, curveOf{system: s.Name, class: m.class(s.Name), labelled: true,
					points: pointsOf(loads, offeredMpps, func(t *Trial) float64 { return 100 * t.LossRatio })})
			}
			charts = appendChart(charts, newCurveChart(spec))
		}
	}
	return charts
}

func offeredMpps(t *Trial) float64 { return t.OfferedPPS / 1e6 }

// pointsOf are the medians of groups of trials, by x.
func pointsOf(groups [][]*Trial, x, y func(*Trial) float64) []point {
	var points []point
	for _, trials := range groups {
		points = append(points, point{medianOf(trials, x), medianOf(trials, y)})
	}
	slices.SortStableFunc(points, func(a, b point) int { return cmp.Compare(a.X, b.X) })
	return points
}

// directionsOf lists the directions that the trials of a cell are of.
func (m *methodView) directionsOf(cell int) []Direction {
	return slices.DeleteFunc(slices.Clone(Directions), func(d Direction) bool {
		own := m.cell(cell).Direction
		return own != "" && own != d
	})
}

// wordsOf is a cell in words, with the direction of the frames where the cell has both.
func (c *LabCell) wordsOf(axes []axisOf, d Direction) string {
	words := c.words(axes)
	if c.Direction == "" {
		return strings.TrimPrefix(words+", "+string(d)+" of both at once", ", ")
	}
	return words
}

// latencyCharts draw p50 and p99 over the rate, of cells that differ in the load alone.
func (m *methodView) latencyCharts() []*chart {
	if !slices.ContainsFunc(m.axes, func(a axisOf) bool { return a.name == "load" }) {
		return nil
	}
	_, groups := m.split("load")
	others := slices.DeleteFunc(slices.Clone(m.axes), func(a axisOf) bool { return a.name == "load" })
	var charts []*chart
	for _, cells := range groups {
		for _, d := range m.directionsOf(cells[0]) {
			spec := curveChart{
				title: "Latency over load", sub: m.cell(cells[0]).wordsOf(others, d),
				x: "offered, Mpps", y: "one-way latency, µs: p50, and dashed p99", xScale: rateScale, yScale: logScale,
			}
			for _, s := range m.Systems {
				spec.curves = append(spec.curves, m.latencyCurves(cells, s.Name, d)...)
			}
			charts = appendChart(charts, newCurveChart(spec))
		}
	}
	return charts
}

func (m *methodView) latencyCurves(cells []int, system string, d Direction) []curveOf {
	loads := m.levels(cells, system, d)
	if len(loads) < 2 {
		return nil
	}
	class := m.class(system)
	return []curveOf{
		{system, class, pointsOf(loads, offeredMpps, microsOf(func(l Latency) int64 { return l.P50 })), true},
		{system, class + " dashed", pointsOf(loads, offeredMpps, microsOf(func(l Latency) int64 { return l.P99 })), false},
	}
}

// levels gathers the paced trials of a system by cell: by what was asked for, which is
// another rate in each repeat. The bed's are at the rates of all systems, so by rate.
func (m *methodView) levels(cells []int, system string, d Direction) [][]*Trial {
	if isBed(system) {
		return m.loads(cells, system, d)
	}
	var all [][]*Trial
	for _, cell := range cells {
		if loads := slices.Concat(m.loads([]int{cell}, system, d)...); len(loads) > 0 {
			all = append(all, loads)
		}
	}
	return all
}

func microsOf(of func(Latency) int64) func(*Trial) float64 {
	return func(t *Trial) float64 { return float64(max(of(t.LatencyNS), 1)) / 1e3 }
}

// percentileCharts draw the whole distribution of each cell, of the last repeat.
func (m *methodView) percentileCharts() []*chart {
	var charts []*chart
	for _, cell := range m.cells {
		for _, d := range m.directionsOf(cell) {
			spec := curveChart{
				title: "Latency by percentile", sub: m.cell(cell).wordsOf(m.axes, d), x: "percentile of frames",
				y: "one-way latency, µs", xScale: ninesScale, yScale: logScale,
			}
			for _, s := range m.Systems {
				if t := m.distribution(cell, s.Name, d); t != nil {
					spec.curves = append(spec.curves, curveOf{s.Name, m.class(s.Name), percentilePoints(t.LatencyCurve), true})
				}
			}
			charts = appendChart(charts, newCurveChart(spec))
		}
	}
	return charts
}

// distribution is the trial whose latencies stand for a system: that of the last turn.
func (m *methodView) distribution(cell int, system string, d Direction) *Trial {
	turns := m.of(cell, system)
	for i := len(turns) - 1; i >= 0; i-- {
		if t := turns[i].paced(d); t != nil && len(finite(t.LatencyCurve)) > 1 {
			return t
		}
	}
	return nil
}

// paced is the first paced trial in a direction, nil if there is none. The bed's
// further ones are at the rates of other systems.
func (t *Turn) paced(d Direction) *Trial {
	for i := range t.Trials {
		if t.Trials[i].Kind == Paced && t.Trials[i].Direction == d {
			return &t.Trials[i]
		}
	}
	return nil
}

func percentilePoints(curve []Percentile) []point {
	var points []point
	for _, p := range finite(curve) {
		points = append(points, point{p.Percentile, float64(max(p.NS, 1)) / 1e3})
	}
	return points
}

// n4Charts draw the response times over the rate.
func (m *methodView) n4Charts() []*chart {
	var charts []*chart
	for _, cell := range m.cells {
		spec := curveChart{
			title: "N4 response time over rate", sub: m.cell(cell).words(m.axes), x: "accepted requests per second",
			y: "response time, µs: p50, and dashed p99", xScale: linearScale, yScale: logScale,
		}
		for _, s := range m.Systems {
			spec.curves = append(spec.curves, m.n4Curves(cell, s.Name)...)
		}
		charts = appendChart(charts, newCurveChart(spec))
	}
	return charts
}

// n4Curves are of all loads in any turn, those of the same name together.
func (m *methodView) n4Curves(cell int, system string) []curveOf {
	byName := map[string][]*N4Count{}
	for _, t := range m.of(cell, system) {
		for i := range t.N4 {
			if p := &t.N4[i]; p.Total.LatencyNS.Max > 0 {
				byName[p.Name] = append(byName[p.Name], &p.Total)
			}
		}
	}
	if len(byName) < 2 {
		return nil
	}
	of := func(value func(N4Latency) int64) []point {
		var points []point
		for _, name := range sortedKeys(byName) {
			points = append(points, point{
				medianOf(byName[name], func(c *N4Count) float64 { return c.AcceptedPerSec }),
				medianOf(byName[name], func(c *N4Count) float64 { return float64(max(value(c.LatencyNS), 1)) / 1e3 }),
			})
		}
		slices.SortStableFunc(points, func(a, b point) int { return cmp.Compare(a.X, b.X) })
		return points
	}
	class := m.class(system)
	return []curveOf{
		{system, class, of(func(l N4Latency) int64 { return l.P50 }), true},
		{system, class + " dashed", of(func(l N4Latency) int64 { return l.P99 }), false},
	}
}
