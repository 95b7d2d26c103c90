package report

import (
	"time"

	"github.com/plumbline-upf/plumbline/probe/export"
)

// Charts of a probe's page.
const (
	probeCurves    = 10 // of a chart
	probeHeatMaps  = 24
	probeHeatShown = 4 // that are not folded
)

// charts are what the page shows at once, and what it has folded.
func (v *probeView) charts() (shown, more []*chart) {
	for _, d := range Directions {
		list := v.of(d)
		list = list[:min(len(list), probeCurves)]
		shown = appendChart(shown, v.tailChart(d, list))
		shown = appendChart(shown, v.p99Chart(d, list))
	}
	heat := v.heatCharts()
	shown = append(shown, heat[:min(len(heat), probeHeatShown)]...)
	more = append(more, heat[min(len(heat), probeHeatShown):]...)
	for _, d := range Directions {
		list := v.of(d)
		more = appendChart(more, v.rateChart(d, list[:min(len(list), probeCurves)]))
	}
	return shown, more
}

// tailChart is the distribution function with as much room for each further nine.
func (v *probeView) tailChart(d Direction, list []int) *chart {
	spec := curveChart{
		title: titled(string(d)) + ": distribution of the delay", sub: "how many percent of the packets stayed no longer",
		x: "delay in the UPF, µs", y: "percent of packets", xScale: fewMarks, yScale: ninesScale,
	}
	for _, i := range list {
		h, err := DecodeHistogram(v.Series[i].Histogram)
		if err != nil || h == nil {
			continue // what was read was checked
		}
		var points []point
		for _, p := range percentilePoints(Curve(h)) {
			points = append(points, point{p.Y, p.X})
		}
		spec.curves = append(spec.curves, curveOf{v.labels[i], v.classes[i], points, true})
	}
	return newCurveChart(spec)
}

// fewMarks is logarithmic, with marks at the decades alone if there are two or more.
func fewMarks(low, high, length float64) axisScale {
	a := newLogarithmic(max(low, leastHigh), max(high, leastHigh), length)
	if a.high/a.low >= 100 {
		return decadeScale{a}
	}
	return a
}

// p99Chart is the 99th percentile over time.
func (v *probeView) p99Chart(d Direction, list []int) *chart {
	return v.timeChart(curveChart{
		title: titled(string(d)) + ": 99th percentile over time", y: "p99 of the delay, µs", yScale: fewMarks,
	}, list, func(_ *export.Column, cell *export.Cell) float64 { return float64(max(cell.P99, 1)) / 1e3 })
}

// rateChart is the packets over time.
func (v *probeView) rateChart(d Direction, list []int) *chart {
	return v.timeChart(curveChart{
		title: titled(string(d)) + ": packets over time", y: v.rateAxis(), yScale: linearScale,
	}, list, func(c *export.Column, cell *export.Cell) float64 {
		return float64(cell.Matched+cell.Untimed) / time.Duration(c.DurationNS).Seconds() / 1e3
	})
}

// rateAxis says what packets are shown over time.
func (v *probeView) rateAxis() string {
	if v.Settings.Timed > 1 {
		return "matched and not timed, kpps"
	}
	return "matched, kpps"
}

// timeChart draws a value of cells that have packets, each at the middle of its column.
func (v *probeView) timeChart(spec curveChart, list []int, value func(*export.Column, *export.Cell) float64) *chart {
	spec.x = "s since the start"
	spec.xScale = func(_, _, length float64) axisScale { return newRun(v.DurationNS, length) }
	for _, i := range list {
		one := curveOf{system: v.labels[i], class: v.classes[i], labelled: true}
		v.cells(i, func(c *export.Column, cell *export.Cell) {
			if cell.Matched > 0 {
				middle := time.Duration(c.StartNS + c.DurationNS/2)
				one.points = append(one.points, point{middle.Seconds(), value(c, cell)})
			}
		})
		if len(one.points) > 1 {
			spec.curves = append(spec.curves, one)
		}
	}
	return newCurveChart(spec)
}

// newRun is the axis of the time of a run, which ends with it.
func newRun(ns int64, length float64) axisScale {
	return thinned{linear{high: max(time.Duration(ns).Seconds(), 1e-3), width: length}}
}
