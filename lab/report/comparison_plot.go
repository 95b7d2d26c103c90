package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/plumbline-upf/plumbline/internal/stats"
)

// The plot of a comparison is panels, each with a row for every path. Numbers are
// pixels of a canvas plotWidth wide.
const (
	panelLeft    = 74.0 // of the first panel of a line: names of the paths
	panelGap     = 26.0
	panelHead    = 34.0 // title
	panelFoot    = 30.0 // marks of the axis
	pathHeight   = 26.0 // of a path's row
	markHeight   = 8.0  // of a bar; uplink above downlink
	markInset    = 4.0
	lineGap      = 22.0 // between two lines of panels
	lineTitle    = 26.0
	labelReserve = 42.0 // right of the axis, for the label of the longest bar
	roomyAxis    = 300.0
	roomyDecade  = 42.0 // for each label of a logarithmic one
	leastHigh    = 1e-3 // of an axis: what is less is nothing in every unit here
)

// comparisonPlot is a drawing plotWidth wide.
type comparisonPlot struct {
	Height float64
	drawing
}

// Framed is the height of the picture with a margin and the key, Below where that
// stands.
func (p *comparisonPlot) Framed() float64 { return p.Height + 52 }

// Below is the line of the key.
func (p *comparisonPlot) Below() float64 { return p.Height + 16 }

// panel is one of a line of panels, with its own axis.
type panel struct {
	title       string
	logarithmic bool
	values      func(path string, d Direction) panelValue
}

// panelValue is what a path has in one direction: a bar up to solid, and a pale one
// up to pale; on a logarithmic axis from low to solid.
type panelValue struct {
	ok               bool // there is one
	low, solid, pale float64
	label            string
	text             string // on pointing at it
}

// newComparisonPlot returns nil if there is nothing to show.
func newComparisonPlot(c *Comparison) *comparisonPlot {
	cells := c.Cells()
	if len(cells) == 0 {
		return nil
	}
	p := &comparisonPlot{}
	for _, sessions := range c.Setup.Sessions {
		var panels []panel
		for _, payload := range c.Setup.Payloads {
			panels = append(panels, c.ratePanel(payload, sessions))
		}
		p.line(c, "Million frames per second, "+count(uint64(sessions), "session")+": loss within the goal, and pale: saturated", true, panels)
	}
	last := cells[len(cells)-1]
	shown := Cell{Payload: c.shownPayload(), Sessions: last.Sessions}
	var panels []panel
	for _, load := range c.Setup.LoadsPercent {
		panels = append(panels, c.latencyPanel(shown, load))
	}
	of := fmt.Sprintf("payload %s, %s", shown.Payload, count(uint64(shown.Sessions), "session"))
	p.line(c, "One-way latency in µs from p50 (the figure) to p99, "+of+", at parts of each one's own rate", true, panels)
	p.line(c, "CPU, memory and TCP: "+of, false, []panel{c.cpuPanel(shown), c.memoryPanel(shown.Sessions), c.tcpPanel()})
	return p
}

// shownPayload is the one that stands for all where there is room for one: the
// largest that is a number.
func (c *Comparison) shownPayload() string {
	best, octets := c.Setup.Payloads[0], 0
	for _, payload := range c.Setup.Payloads {
		if n, err := strconv.Atoi(payload); err == nil && n > octets {
			best, octets = payload, n
		}
	}
	return best
}

// ratePanel shows the throughputs.
func (c *Comparison) ratePanel(payload string, sessions int) panel {
	title := payload + " octets"
	if payload == PayloadIMIX {
		title = "IMIX"
	}
	return panel{title: title, values: func(path string, d Direction) panelValue {
		row := c.Row(Cell{payload, sessions, d}, path)
		if row == nil {
			return panelValue{}
		}
		_, pps := row.ThroughputPPS()
		v := panelValue{ok: true, solid: pps / 1e6, pale: row.SaturatedPPS() / 1e6}
		v.label = fmt.Sprintf("%.2f", v.solid)
		v.text = fmt.Sprintf("%s, %s: %s kpps, saturated %s", path, d, kpps(pps), kpps(row.SaturatedPPS()))
		return v
	}}
}

func (c *Comparison) latencyPanel(cell Cell, load int) panel {
	return panel{title: loadName(load), logarithmic: true, values: func(path string, d Direction) panelValue {
		cell.Direction = d
		row := c.Row(cell, path)
		if row == nil || row.Paced[load] == nil {
			return panelValue{}
		}
		l := row.Paced[load].LatencyNS
		v := panelValue{ok: true, low: max(float64(l.P50), 1) / 1e3, solid: max(float64(l.P99), 1) / 1e3}
		v.label = shortMicros(l.P50)
		v.text = fmt.Sprintf("%s, %s: p50 %s, p90 %s, p99 %s, p99.9 %s µs", path, d, micros(l.P50), micros(l.P90), micros(l.P99), micros(l.P999))
		return v
	}}
}

func (c *Comparison) cpuPanel(cell Cell) panel {
	return panel{title: "CPU, ns per frame; pale: with softirq", values: func(path string, d Direction) panelValue {
		cell.Direction = d
		row := c.Row(cell, path)
		if row == nil {
			return panelValue{}
		}
		process, softirq, ok := row.CPUNS()
		if !ok {
			return panelValue{}
		}
		return panelValue{
			ok: true, solid: process, pale: process + softirq, label: fmt.Sprintf("%.0f", process+softirq),
			text: fmt.Sprintf("%s, %s: process %.0f, softirq %.0f ns", path, d, process, softirq),
		}
	}}
}

func (c *Comparison) memoryPanel(sessions int) panel {
	return panel{title: "memory, MiB; pale: with BPF maps", values: func(path string, d Direction) panelValue {
		if d == Downlink {
			return panelValue{} // it has no direction
		}
		for _, m := range c.Path(path).Memory {
			if m.Sessions == sessions {
				v := panelValue{ok: true, solid: float64(m.ResidentOctets) / (1 << 20), pale: float64(m.ResidentOctets+m.MapOctets) / (1 << 20)}
				v.label = fmt.Sprintf("%.0f", v.pale)
				v.text = fmt.Sprintf("%s: process %s, maps %s", path, mebi(m.ResidentOctets), mebi(m.MapOctets))
				return v
			}
		}
		return panelValue{}
	}}
}

func (c *Comparison) tcpPanel() panel {
	return panel{title: "TCP, Gbit/s", values: func(path string, d Direction) panelValue {
		rates := c.TCPRates(path, d)
		if len(rates) == 0 {
			return panelValue{}
		}
		v := panelValue{ok: true, solid: stats.Median(rates) / 1e9}
		v.label = fmt.Sprintf("%.2f", v.solid)
		v.text = fmt.Sprintf("%s, %s: %.2f to %.2f Gbit/s", path, d, slices.Min(rates)/1e9, slices.Max(rates)/1e9)
		return v
	}}
}

// line draws panels side by side below what is there; shared: they have one axis.
func (p *comparisonPlot) line(c *Comparison, title string, shared bool, panels []panel) {
	if len(panels) == 0 {
		return
	}
	if p.Height > 0 {
		p.Height += lineGap
	}
	p.Labels = append(p.Labels, label{X: 0, Y: p.Height + 16, Text: title, Class: "title", Anchor: "start"})
	top := p.Height + lineTitle
	for i, path := range c.Paths {
		p.Labels = append(p.Labels, label{X: panelLeft - 10, Y: rowTop(top, i) + pathHeight/2 + 4, Text: path.Name, Anchor: "end"})
	}
	width := (plotWidth-panelLeft+panelGap)/float64(len(panels)) - panelGap
	all := noSpan
	for _, one := range panels {
		all = all.with(one.span(c))
	}
	for i, one := range panels {
		s := all
		if !shared {
			s = one.span(c)
		}
		p.panel(c, one, s, panelLeft+float64(i)*(width+panelGap), top, width)
	}
	p.Height = rowTop(top, len(c.Paths)) + panelFoot
}

func rowTop(top float64, row int) float64 { return top + panelHead - 8 + float64(row)*pathHeight }

// panel draws one panel with an axis for values from s.
func (p *comparisonPlot) panel(c *Comparison, one panel, s span, left, top, width float64) {
	p.Labels = append(p.Labels, label{X: left, Y: top + 14, Text: one.title, Class: "soft", Anchor: "start"})
	if one.span(c) == noSpan {
		return
	}
	at, ticks := s.axis(one.logarithmic, width-labelReserve)
	bottom := rowTop(top, len(c.Paths))
	for _, t := range ticks {
		p.vertical(left+t.At, rowTop(top, 0), bottom)
		p.Labels = append(p.Labels, label{X: left + t.At, Y: bottom + 15, Text: t.Label, Class: "soft", Anchor: "middle"})
	}
	for i, path := range c.Paths {
		for j, d := range Directions {
			v := one.values(path.Name, d)
			if !v.ok {
				continue
			}
			class := string(d)
			if isBed(path.Name) {
				class = PathBed
			}
			y := rowTop(top, i) + markInset + float64(j)*(markHeight+1)
			p.bar(v, at, left, y, class)
		}
	}
}

// bar draws a value, pale below solid.
func (p *comparisonPlot) bar(v panelValue, at func(float64) float64, left, y float64, class string) {
	end := at(max(v.solid, v.pale))
	if v.pale > v.solid {
		p.Marks = append(p.Marks, mark{left, y, max(end, 1), markHeight, class + " pale", v.text})
	}
	from := 0.0
	if v.low > 0 {
		from = at(v.low)
	}
	p.Marks = append(p.Marks, mark{left + from, y, max(at(v.solid)-from, 1), markHeight, class, v.text})
	p.Labels = append(p.Labels, label{X: left + end + 5, Y: y + markHeight, Text: v.label, Class: "small", Anchor: "start"})
}

// span is from the lowest to the highest value of a panel; inverted: there is none.
type span struct{ low, high float64 }

var noSpan = span{math.Inf(1), 0}

func (s span) with(other span) span { return span{min(s.low, other.low), max(s.high, other.high)} }

func (one panel) span(c *Comparison) span {
	s := noSpan
	for _, path := range c.Paths {
		for _, d := range Directions {
			if v := one.values(path.Name, d); v.ok {
				s = s.with(span{v.low, max(v.solid, v.pale)})
			}
		}
	}
	return s
}

// axis returns where a value is, and the marks.
func (s span) axis(isLogarithmic bool, width float64) (at func(float64) float64, ticks []tick) {
	high := max(s.high, leastHigh)
	if isLogarithmic {
		a := newLogarithmic(max(s.low, leastHigh), high, width)
		if ticks = decades(a.ticks()); width < roomyDecade*float64(len(ticks)) {
			ticks = everyOther(ticks)
		}
		return a.at, ticks
	}
	a := newLinear(high, width)
	if ticks = a.ticks(); width < roomyAxis {
		ticks = everyOther(ticks)
	}
	return a.at, ticks
}

// decades leaves the marks that are powers of ten: there is little room.
func decades(ticks []tick) []tick {
	return slices.DeleteFunc(ticks, func(t tick) bool {
		v, err := strconv.ParseFloat(t.Label, 64)
		e := math.Log10(v)
		return err != nil || math.Abs(e-math.Round(e)) > 1e-6
	})
}

func everyOther(ticks []tick) []tick {
	var some []tick
	for i, t := range ticks {
		if i%2 == 0 {
			some = append(some, t)
		}
	}
	return some
}

// ComparisonSVG writes the plot of c as a picture of its own.
func ComparisonSVG(w io.Writer, c *Comparison) error {
	plot := newComparisonPlot(c)
	if plot == nil {
		plot = &comparisonPlot{}
	}
	if err := comparisonTemplate.ExecuteTemplate(w, "comparison.svg", plot); err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	return nil
}
