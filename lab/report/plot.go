package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Plots are drawn on a canvas of plotWidth by a height of their own; the page
// scales them. Numbers are pixels of that canvas.
const (
	plotWidth = 1000.0

	ratesLeft, ratesRight, ratesTop = 150.0, 210.0, 8.0
	barHeight, barGap, groupGap     = 26.0, 8.0, 22.0
	curveLeft, curveRight, curveTop = 70.0, 130.0, 12.0
	curveHeight, curveBottom        = 320.0, 56.0
	maxDecades, maxCurves           = 6.0, 24
	axisHeight                      = 48.0
	labelRoom                       = 17.0  // between two labels of a curve
	shareWidth                      = 220.0 // of a bar that the share fits into
)

// rateBar is one bar of the rates plot.
type rateBar struct {
	Y, Width    float64
	End         float64 // where the label may start: right of bar and dots
	Class       string  // bed, uplink, downlink
	Name, Label string
	Share       string
	Dots        []float64 // x of each repeat
}

// ratesPlot shows the rates of all paths, each direction's bed limit first.
type ratesPlot struct {
	Height, Bottom float64
	Bars           []rateBar
	Ticks          []tick
}

// newRatesPlot returns nil if there is nothing to show.
func newRatesPlot(r *Result) *ratesPlot {
	highest := 0.0
	for _, d := range Directions {
		if b := r.Bed.Limit(d); b != nil {
			highest = math.Max(highest, b.highest())
		}
	}
	rows := r.Rows(Throughput)
	for _, row := range rows {
		_, high := row.Spread(func(t *Trial) float64 { return t.ReceivedPPS })
		highest = math.Max(highest, high)
	}
	if highest == 0 {
		return nil
	}
	x := newLinear(highest/1e6, plotWidth-ratesLeft-ratesRight)
	p := &ratesPlot{Ticks: x.ticks()}
	y := ratesTop
	for _, d := range Directions {
		b := r.Bed.Limit(d)
		if b == nil {
			continue
		}
		p.Bars = append(p.Bars, bedBar(d, b, x, y))
		y += barHeight + barGap
		for _, row := range rows {
			if row.First().Direction == d {
				p.Bars = append(p.Bars, trialBar(row, x, y))
				y += barHeight + barGap
			}
		}
		y += groupGap
	}
	p.Bottom = y - groupGap
	p.Height = p.Bottom + axisHeight
	return p
}

func (b *BedLimit) highest() float64 {
	high := b.ReceivedPPS
	for _, t := range b.Repeats {
		high = math.Max(high, t.ReceivedPPS)
	}
	return high
}

func bedBar(d Direction, b *BedLimit, x linear, y float64) rateBar {
	bar := rateBar{
		Y: y, Width: x.at(b.ReceivedPPS / 1e6), Class: "bed", Name: string(d) + ", bed limit",
		Label: rateLabel(b.ReceivedPPS, b.ReceivedBPS),
	}
	for _, t := range b.Repeats {
		bar.Dots = append(bar.Dots, x.at(t.ReceivedPPS/1e6))
	}
	bar.End = max(bar.Width, slices.Max(bar.Dots))
	return bar
}

func trialBar(row Row, x linear, y float64) rateBar {
	t := row.First()
	pps := row.Median(func(t *Trial) float64 { return t.ReceivedPPS })
	bar := rateBar{
		Y: y, Width: x.at(pps / 1e6), Class: string(t.Direction), Name: string(t.Direction) + ", " + t.Datapath,
		Label: rateLabel(pps, row.Median(func(t *Trial) float64 { return t.ReceivedBPS })),
		Share: fmt.Sprintf("%.1f %% of the bed limit", 100*row.Median(func(t *Trial) float64 { return t.BedRatio })),
	}
	if bar.Width < shareWidth {
		bar.Label, bar.Share = bar.Label+" · "+bar.Share, ""
	}
	for _, t := range row.Trials {
		bar.Dots = append(bar.Dots, x.at(t.ReceivedPPS/1e6))
	}
	bar.End = max(bar.Width, slices.Max(bar.Dots))
	return bar
}

func rateLabel(pps, bps float64) string {
	return fmt.Sprintf("%.3f Mpps · %.2f Gbit/s", pps/1e6, bps/1e9)
}

// curve is the latency of one paced trial by percentile.
type curve struct {
	Path   string // SVG path data
	Class  string
	Label  string
	LabelX float64
	LabelY float64
}

type latencyPlot struct {
	Height, Right, Bottom float64
	Curves                []curve
	X, Y                  []tick
}

// newLatencyPlot returns nil if no paced trial has a curve.
func newLatencyPlot(r *Result) *latencyPlot {
	trials := curveTrials(r)
	low, high, decades := math.Inf(1), 0.0, 1.0
	for _, t := range trials {
		for _, p := range finite(t.LatencyCurve) {
			low, high = math.Min(low, float64(max(p.NS, 1))/1e3), math.Max(high, float64(max(p.NS, 1))/1e3)
			decades = math.Max(decades, math.Min(maxDecades, decadesOf(p.Percentile)))
		}
	}
	if high == 0 {
		return nil
	}
	x := nines{decades: math.Ceil(decades - 1e-6), width: plotWidth - curveLeft - curveRight}
	y := newLogarithmic(low, high, curveHeight)
	p := &latencyPlot{
		Height: curveTop + curveHeight + curveBottom, Right: plotWidth - curveRight, Bottom: curveTop + curveHeight,
		X: x.ticks(), Y: y.ticks(),
	}
	for i := range p.X {
		p.X[i].At += curveLeft
	}
	for i := range p.Y {
		p.Y[i].At = p.Bottom - p.Y[i].At
	}
	for _, t := range trials {
		p.Curves = append(p.Curves, newCurve(t, x, y, p.Bottom))
	}
	p.separateLabels()
	return p
}

// curveTrials returns one paced trial for each row: the last.
func curveTrials(r *Result) []*Trial {
	var trials []*Trial
	for _, row := range r.Rows(Paced) {
		t := row.Trials[len(row.Trials)-1]
		if len(finite(t.LatencyCurve)) > 0 && len(trials) < maxCurves {
			trials = append(trials, t)
		}
	}
	return trials
}

// finite returns the points that have a place on an axis of nines: not the
// maximum.
func finite(points []Percentile) []Percentile {
	for i, p := range points {
		if p.Percentile >= 100 {
			return points[:i]
		}
	}
	return points
}

func newCurve(t *Trial, x nines, y logarithmic, bottom float64) curve {
	var path strings.Builder
	var lastX, lastY float64
	for i, p := range finite(t.LatencyCurve) {
		lastX = curveLeft + x.at(p.Percentile)
		lastY = bottom - y.at(float64(p.NS)/1e3)
		command := 'L'
		if i == 0 {
			command = 'M'
		}
		fmt.Fprintf(&path, "%c%.1f %.1f", command, lastX, lastY)
	}
	return curve{
		Path: path.String(), Class: string(t.Direction), Label: string(t.Direction) + ", " + t.Datapath,
		LabelX: lastX + 8, LabelY: lastY,
	}
}

// separateLabels moves labels down that would cover one another.
func (p *latencyPlot) separateLabels() {
	for moved := range p.Curves {
		c := &p.Curves[moved]
		for range moved {
			for _, other := range p.Curves[:moved] {
				if math.Abs(c.LabelY-other.LabelY) < labelRoom {
					c.LabelY = other.LabelY + labelRoom
				}
			}
		}
	}
}
