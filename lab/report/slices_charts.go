package report

import (
	"fmt"
	"slices"
)

// charts are the distributions of each slice: of one system those at all loads
// together, as in the study, of several those of all systems at each load. more are
// the same of each system of several.
func (v *slicesView) charts() (shown, more []*chart) {
	for _, d := range Directions {
		for _, s := range v.Plan.Slices {
			for _, system := range v.systems {
				c := v.loadsChart(system, s.Name, d)
				if len(v.systems) == 1 {
					shown = appendChart(shown, c)
				} else {
					more = appendChart(more, c)
				}
			}
			if len(v.systems) < 2 {
				continue
			}
			for _, l := range v.Plan.Loads {
				shown = appendChart(shown, v.systemsChart(l.Name, s.Name, d))
			}
		}
	}
	shown = append(shown, v.barCharts()...)
	return slices.Concat(shown, v.n4Charts()), more
}

// delayCurve is one distribution: the delay, and which part of packets has no more.
func delayCurve(name, class string, texts []string) curveOf {
	one := curveOf{system: name, class: class, labelled: true}
	h := merged(texts)
	if h == nil {
		return one
	}
	for _, p := range finite(Curve(h)) {
		one.points = append(one.points, point{float64(max(p.NS, 1)) / 1e3, p.Percentile})
	}
	return one
}

// publishedCurves are the two points that were published; no line is between them.
func publishedCurves(slice, load string) []curveOf {
	p := publishedOf(slice, load)
	if p == nil {
		return nil
	}
	at := func(us int64, percentile float64, labelled bool) curveOf {
		return curveOf{publishedRow, "bed", []point{{float64(us), percentile}}, labelled}
	}
	return []curveOf{at(p.p50, 50, false), at(p.p99, 99, true)}
}

// loadsChart has a curve for each load of a system.
func (v *slicesView) loadsChart(system, slice string, d Direction) *chart {
	spec := delayChart(fmt.Sprintf("%s, %s", slice, d), system+", at each load")
	for i, l := range v.Plan.Loads {
		class := fmt.Sprintf("s%d", i%maxSystemCSS+1)
		if c := delayCurve(l.Name, class, histogramsOf(v.delays(system, l.Name, slice, d))); len(c.points) > 0 {
			spec.curves = append(spec.curves, c)
		}
	}
	return newCurveChart(spec)
}

// systemsChart has a curve for each system at a load, and what was published.
func (v *slicesView) systemsChart(load, slice string, d Direction) *chart {
	spec := delayChart(fmt.Sprintf("%s, %s", slice, d), "at load "+load)
	for _, system := range v.systems {
		if c := delayCurve(system, v.class(system), histogramsOf(v.delays(system, load, slice, d))); len(c.points) > 0 {
			spec.curves = append(spec.curves, c)
		}
	}
	if d == Uplink && len(spec.curves) > 0 {
		spec.curves = append(spec.curves, publishedCurves(slice, load)...)
	}
	return newCurveChart(spec)
}

func delayChart(title, sub string) curveChart {
	return curveChart{title: title, sub: sub, x: "forwarding delay, µs", y: "packets with no more, %", xScale: delayScale, yScale: ninesScale}
}

// delayScale is logarithmic, with no more marks than have room.
func delayScale(low, high, length float64) axisScale {
	const most = 7
	a := newLogarithmic(max(low, leastHigh), max(high, leastHigh), length)
	if len(a.ticks()) > most {
		return decadeScale{a}
	}
	return a
}

// barCharts compare p99 of all systems, a chart for each slice.
func (v *slicesView) barCharts() []*chart {
	var charts []*chart
	for _, s := range v.Plan.Slices {
		var groups []barGroup
		for _, l := range v.Plan.Loads {
			g := barGroup{name: l.Name}
			for _, system := range v.systems {
				g.bars = append(g.bars, barValue{system: system, class: v.class(system), estimate: over(v.delays(system, l.Name, s.Name, Uplink), p99Of)})
			}
			if p := publishedOf(s.Name, l.Name); p != nil {
				g.bars = append(g.bars, barValue{system: publishedRow, class: "bed", estimate: estimateOf([]float64{float64(p.p99) * 1e3})})
			}
			groups = append(groups, g)
		}
		charts = appendChart(charts, newBarChart(s.Name+", uplink: p99", "median of the repeats, with its interval", "µs", microUnit, groups))
	}
	return charts
}

// n4Charts have the distributions of modifications, a curve for each system.
func (v *slicesView) n4Charts() []*chart {
	var charts []*chart
	all := v.n4()
	for _, l := range v.Plan.Loads {
		spec := delayChart("PFCP Session Modification", "at load "+l.Name)
		spec.x, spec.y = "from request to response, µs", "transactions with no more, %"
		for _, system := range v.systems {
			w := modifications(all, system, l.Name)
			if w == nil || w.delays == nil {
				continue
			}
			one := curveOf{system: system, class: v.class(system), labelled: true}
			for _, p := range finite(Curve(w.delays)) {
				one.points = append(one.points, point{float64(max(p.NS, 1)) / 1e3, p.Percentile})
			}
			spec.curves = append(spec.curves, one)
		}
		charts = appendChart(charts, newCurveChart(spec))
	}
	return charts
}
