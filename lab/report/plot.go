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
	curveLeft, curveRight, curveTop = 90.0, 215.0, 12.0
	curveHeight, curveBottom        = 320.0, 56.0
	maxDecades, maxCurves           = 6.0, 24
	axisHeight                      = 48.0
	labelRoom                       = 17.0  // between two labels of a curve
	nameWidth                       = 220.0 // of a bar that its name fits into
)

// rateBar is one bar of the rates plot.
type rateBar struct {
	Y, Width float64
	End      float64   // where the label may start: right of bar and dots
	Class    string    // bed, uplink, downlink
	Name     string    // inside the bar
	Label    string    // at its end
	Dots     []float64 // x of each repeat
}

// rateGroup is the bars of one direction and number of sessions, the bed limit
// first.
type rateGroup struct {
	Middle              float64
	Direction, Sessions string
	Bars                []rateBar
}

// ratesPlot shows the rates of all paths.
type ratesPlot struct {
	Height, Bottom float64
	Groups         []rateGroup
	Ticks          []tick
}

// newRatesPlot returns nil if there is nothing to show.
func newRatesPlot(r *Result) *ratesPlot {
	rows := r.Rows(Throughput)
	if len(rows) == 0 {
		return nil
	}
	x := newLinear(highestPPS(rows)/1e6, plotWidth-ratesLeft-ratesRight)
	p := &ratesPlot{Ticks: x.ticks()}
	y := ratesTop
	var last rowKey
	for _, row := range rows {
		t := row.First()
		if key := (rowKey{direction: t.Direction, sessions: t.Sessions}); key != last {
			if last.direction != "" {
				y += groupGap
			}
			p.Groups = append(p.Groups, rateGroup{
				Middle: y + barHeight + barGap/2, Direction: string(t.Direction), Sessions: count(uint64(t.Sessions), "session"),
				Bars: []rateBar{bedBar(row, x, y)},
			})
			y += barHeight + barGap
			last = key
		}
		group := &p.Groups[len(p.Groups)-1]
		group.Bars = append(group.Bars, trialBar(row, x, y))
		y += barHeight + barGap
	}
	p.Bottom = y
	p.Height = p.Bottom + axisHeight
	return p
}

func highestPPS(rows []Row) float64 {
	highest := 0.0
	for _, row := range rows {
		_, high := row.Spread(receivedPPS)
		highest = math.Max(highest, high)
		for _, t := range row.Bed {
			highest = math.Max(highest, t.ReceivedPPS)
		}
	}
	return highest
}

func receivedPPS(t *Trial) float64 { return t.ReceivedPPS }

func bedBar(row Row, x linear, y float64) rateBar {
	var dots []float64
	for _, t := range row.Bed {
		dots = append(dots, t.ReceivedPPS)
	}
	bps := medianOf(row.Bed, func(t BedTrial) float64 { return t.ReceivedBPS })
	return newBar("bed", "bed limit", row.BedPPS(), bps, dots, x, y)
}

func trialBar(row Row, x linear, y float64) rateBar {
	t := row.First()
	name := fmt.Sprintf("%s: %.1f %% of the bed limit", t.Datapath, 100*row.Median(func(t *Trial) float64 { return t.BedRatio }))
	bps := row.Median(func(t *Trial) float64 { return t.ReceivedBPS })
	return newBar(string(t.Direction), name, row.Median(receivedPPS), bps, row.values(receivedPPS), x, y)
}

// newBar puts the name behind the label if the bar is too short for it.
func newBar(class, name string, pps, bps float64, dots []float64, x linear, y float64) rateBar {
	bar := rateBar{Y: y, Width: x.at(pps / 1e6), Class: class, Name: name, Label: rateLabel(pps, bps)}
	for _, dot := range dots {
		bar.Dots = append(bar.Dots, x.at(dot/1e6))
	}
	bar.End = max(bar.Width, slices.Max(bar.Dots))
	if bar.Width < nameWidth {
		bar.Label, bar.Name = bar.Label+" · "+bar.Name, ""
	}
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
		c := newCurve(t, x, y, p.Bottom)
		if t.Sessions != trials[0].Sessions {
			c.Class += " dashed"
		}
		p.Curves = append(p.Curves, c)
	}
	p.separateLabels()
	return p
}

// curveTrials returns one paced trial for each row: the last.
func curveTrials(r *Result) []*Trial {
	var trials []*Trial
	for _, row := range r.LatencyRows() {
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
		Path: path.String(), Class: string(t.Direction), Label: string(t.Direction) + ", " + count(uint64(t.Sessions), "session"),
		LabelX: plotWidth - curveRight + 8, LabelY: lastY,
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
