package report

import (
	"fmt"
	"math"
	"unicode/utf8"
)

// Charts of a [Lab] are narrow, so that two stand beside each other on a desk and their
// text can still be read where one fills a phone. Numbers are pixels of a canvas chartWidth wide.
const (
	chartWidth   = 400.0
	chartNames   = 6.6 // of a character of a system's name, about
	chartBold    = 7.8 // where it is bold, at the end of a curve
	maxName      = 16  // characters of a name that have room in a chart
	chartRow     = 15.0
	chartBar     = 10.0
	chartGroup   = 10.0 // between groups of bars
	chartCaption = 18.0 // of a group's name
	chartFoot    = 44.0 // marks and name of the axis
	chartTop     = 10.0
	curveHead    = 24.0  // above it: the name of the axis
	chartPlot    = 200.0 // height of the area of curves
	chartLeft    = 48.0  // of it: marks and name of the axis
	chartValue   = 78.0  // right of bars: the value of the longest
	maxCharts    = 96    // of a page
	maxSystemCSS = 10    // colours in page.css
)

// chart is a drawing chartWidth wide, with what stands above it.
type chart struct {
	Title, Sub string
	Height     float64
	drawing
}

// class is the colour of a system: its place among all but the bed.
func (v *labView) class(system string) string {
	switch system {
	case SystemBed:
		return "bed"
	case SystemBedTC:
		return "bed second"
	}
	i := 0
	for _, s := range v.Systems {
		if s.Name == system {
			break
		}
		if !isBed(s.Name) {
			i++
		}
	}
	class := fmt.Sprintf("s%d", i%maxSystemCSS+1)
	if i >= maxSystemCSS {
		class += " dashed"
	}
	return class
}

// namesWidth is the room that names take, with so much for each character.
func namesWidth(short map[string]string, character float64) float64 {
	longest := 4
	for _, name := range short {
		longest = max(longest, utf8.RuneCountInString(name))
	}
	return character*float64(longest) + 10
}

// barValue is a bar of a chart.
type barValue struct {
	system, class string
	estimate      Estimate
	note          string // beside the value
}

// barGroup is bars with a name in common.
type barGroup struct {
	name string
	bars []barValue
}

// newBarChart draws groups of horizontal bars, each with its interval and repeats;
// nil: there is nothing to draw.
func newBarChart(title, sub, axis string, u unit, groups []barGroup) *chart {
	highest, names := 0.0, []string(nil)
	for _, g := range groups {
		for _, b := range g.bars {
			highest = max(highest, u.value(b.estimate.High))
			names = append(names, b.system)
		}
	}
	if highest <= 0 || math.IsInf(highest, 0) {
		return nil
	}
	c := &chart{Title: title, Sub: sub}
	short := shortNames(names)
	left := namesWidth(short, chartNames)
	x := newLinear(highest, chartWidth-left-chartValue)
	y := chartTop
	for i, g := range groups {
		if i > 0 {
			y += chartGroup
		}
		if g.name != "" {
			c.label(0, y+11, g.name, "soft", "start")
			y += chartCaption
		}
		for _, b := range g.bars {
			c.bar(b, short[b.system], u, x, left, y)
			y += chartRow
		}
	}
	for _, t := range everySecond(x.ticks()) {
		c.vertical(left+t.At, chartTop, y)
		c.label(left+t.At, y+15, t.Label, "soft", "middle")
	}
	c.label(left+x.width/2, y+34, axis, "soft", "middle")
	c.Height = y + chartFoot
	return c
}

// everySecond thins out marks that would touch each other.
func everySecond(ticks []tick) []tick {
	if len(ticks) > 5 {
		return everyOther(ticks)
	}
	return ticks
}

func (c *chart) bar(b barValue, name string, u unit, x linear, left, y float64) {
	c.label(left-8, y+9, name, "small", "end")
	e := b.estimate
	if e.Repeats == 0 {
		c.label(left+4, y+9, b.note, "small", "start")
		return
	}
	text := u.text(e.Median)
	if b.note != "" {
		text += " · " + b.note
	}
	title := b.system + ": " + u.both(e) + " " + u.name
	at := func(v float64) float64 { return left + x.at(max(u.value(v), 0)) }
	c.Marks = append(c.Marks, mark{left, y, max(at(e.Median)-left, 1), chartBar, b.class, title})
	end := at(e.Median)
	if e.Known() {
		middle := y + chartBar/2
		c.Whiskers = append(c.Whiskers, segment{at(e.Low), middle, at(e.High), middle, "whisker"})
		for _, v := range []float64{e.Low, e.High} {
			c.Whiskers = append(c.Whiskers, segment{at(v), middle - 3.5, at(v), middle + 3.5, "whisker"})
		}
		end = at(e.High)
	}
	c.label(end+6, y+9, text, "small", "start")
}
