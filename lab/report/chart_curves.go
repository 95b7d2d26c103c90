package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// curveOf is a line of a chart.
type curveOf struct {
	system, class string
	points        []point // in the units of the axes, by x
	labelled      bool    // its system's name stands at its end
}

// axisScale maps values onto an axis.
type axisScale interface {
	at(v float64) float64
	ticks() []tick
}

// curveChart is what newCurveChart draws.
type curveChart struct {
	title, sub     string
	x, y           string // names of the axes, with their units
	curves         []curveOf
	moments        []moment // on the axis of x
	xScale, yScale func(low, high, length float64) axisScale
}

// newCurveChart draws curves; nil: there is nothing to draw.
func newCurveChart(spec curveChart) *chart {
	var names []string
	x, y := noSpan, noSpan
	for _, one := range spec.curves {
		names = append(names, one.system)
		for _, p := range one.points {
			x, y = x.with(span{p.X, p.X}), y.with(span{p.Y, p.Y})
		}
	}
	if x == noSpan {
		return nil
	}
	c := &chart{Title: spec.title, Sub: spec.sub, Height: curveHead + chartPlot + chartFoot}
	short := shortNames(names)
	right := chartWidth - namesWidth(short, chartBold)
	bottom := curveHead + chartPlot
	xs, ys := spec.xScale(x.low, x.high, right-chartLeft), spec.yScale(y.low, y.high, chartPlot)
	for _, t := range ys.ticks() {
		c.horizontal(bottom-t.At, chartLeft, right)
		c.label(chartLeft-7, bottom-t.At+4, t.Label, "soft", "end")
	}
	for _, t := range xs.ticks() {
		c.vertical(chartLeft+t.At, curveHead, bottom)
		c.label(chartLeft+t.At, bottom+16, t.Label, "soft", "middle")
	}
	for _, m := range spec.moments {
		c.vertical(chartLeft+xs.at(m.at), curveHead, bottom)
		c.label(chartLeft+xs.at(m.at)+3, curveHead+10, m.text, "soft", "start")
	}
	c.label((chartLeft+right)/2, bottom+35, spec.x, "soft", "middle")
	c.label(0, 12, spec.y, "soft", "start")
	ends := map[string]point{}
	var order []string
	for _, one := range spec.curves {
		if len(one.points) == 0 {
			continue
		}
		end := c.draw(one, func(p point) point { return point{chartLeft + xs.at(p.X), bottom - ys.at(p.Y)} })
		if one.labelled {
			ends[one.system], order = end, append(order, one.system)
		}
	}
	c.nameEnds(order, ends, spec.curves, short, right)
	return c
}

const maxDots = 16 // of a curve; with more they would hide it

func (c *chart) draw(one curveOf, at func(point) point) (end point) {
	var points []point
	for _, p := range one.points {
		points = append(points, at(p))
	}
	c.curve(points, one.class, one.system)
	if len(points) <= maxDots {
		for _, p := range points {
			c.Dots = append(c.Dots, dot{p.X, p.Y, one.class, one.system})
		}
	}
	return points[len(points)-1]
}

// nameEnds writes the names of systems right of their curves' ends, none over another.
func (c *chart) nameEnds(order []string, ends map[string]point, curves []curveOf, short map[string]string, right float64) {
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(ends[a].Y, ends[b].Y) })
	const room = 13.0
	lowest := curveHead + chartPlot + 4
	y := make([]float64, len(order))
	for i, name := range order {
		y[i] = ends[name].Y + 4
		if i > 0 {
			y[i] = max(y[i], y[i-1]+room)
		}
	}
	for i := len(y) - 1; i >= 0; i-- { // those pushed out below come back up
		limit := lowest - room*float64(len(y)-1-i)
		y[i] = min(y[i], limit)
	}
	for i, name := range order {
		at := slices.IndexFunc(curves, func(one curveOf) bool { return one.system == name })
		c.label(right+6, y[i], short[name], "small name "+curves[at].class, "start")
	}
}

// The scales.

func linearScale(_, high, length float64) axisScale {
	return thinned{newLinear(max(high, leastHigh), length)}
}

// thinned is linear, with no more marks than have room.
type thinned struct{ linear }

func (a thinned) ticks() []tick { return everySecond(a.linear.ticks()) }

// nearScale is linear from about the lowest value on, and not from 0.
func nearScale(low, high, length float64) axisScale {
	const steps = 5
	step := roundStep(max(high-low, math.Abs(high)/100, leastHigh) / steps)
	foot := step * math.Floor(low/step)
	return raised{foot: foot, step: step, steps: max(math.Ceil((high-foot)/step), steps), width: length}
}

// raised is linear from its foot on, in steps.
type raised struct{ foot, step, steps, width float64 }

func (a raised) at(v float64) float64 { return a.width * (v - a.foot) / (a.step * a.steps) }

func (a raised) ticks() []tick {
	var ticks []tick
	for i := 0.0; i <= a.steps; i++ {
		ticks = append(ticks, tick{a.width * i / a.steps, plain(a.foot + i*a.step)})
	}
	return ticks
}

func logScale(low, high, length float64) axisScale {
	return newLogarithmic(max(low, leastHigh), max(high, leastHigh), length)
}

// rateScale is linear unless rates are of quite different size, as idle and full load.
func rateScale(low, high, length float64) axisScale {
	if low > 0 && high/low > 200 {
		return decadeScale{newLogarithmic(low, high, length)}
	}
	return linearScale(low, high, length)
}

// decadeScale is logarithmic with marks at powers of ten alone.
type decadeScale struct{ logarithmic }

func (a decadeScale) ticks() []tick { return decades(a.logarithmic.ticks()) }

// lossScale is logarithmic, with a line for nothing at its bottom.
type lossScale struct {
	logarithmic
	foot float64
}

func newLossScale(_, high, length float64) axisScale {
	const foot = 22.0
	low := 1e-4 // percent: one in a million
	return lossScale{logarithmic{low: low, high: max(roundStep(high), 10*low), width: length - foot}, foot}
}

func (a lossScale) at(v float64) float64 {
	if v <= 0 {
		return 0
	}
	return a.foot + a.logarithmic.at(v)
}

func (a lossScale) ticks() []tick {
	ticks := []tick{{0, "0"}}
	for v := a.low; v <= a.high*1.0001; v *= 10 {
		ticks = append(ticks, tick{a.at(v), strconv.FormatFloat(v, 'g', 3, 64)})
	}
	return ticks
}

// ninesScale is for percentiles, up to as many nines as there are.
func ninesScale(_, high, length float64) axisScale {
	decades := min(maxDecades, math.Ceil(decadesOf(min(high, 99.9999))-1e-6))
	return ninesAxis{nines{decades: max(decades, 1), width: length}}
}

// ninesAxis has as many marks as have room.
type ninesAxis struct{ nines }

func (a ninesAxis) ticks() []tick {
	ticks := []tick{{0, "0"}}
	for i := 1; float64(i) <= a.decades+1e-9; i++ {
		p := 100 * (1 - math.Pow(10, -float64(i)))
		ticks = append(ticks, tick{a.at(p), fmt.Sprintf("%.*f", max(0, i-2), p)})
	}
	return ticks
}
