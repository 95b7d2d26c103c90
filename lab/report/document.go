package report

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
)

//go:embed document.html
var documentHTML string

var documentTemplate = template.Must(template.Must(labTemplate.Clone()).New("document").Parse(documentHTML))

// Document is a page about whatever was measured: tiles with what matters, then sections
// of charts and tables. It looks like the other pages, and loads nothing else.
type Document struct {
	Heading  string // what was found
	Title    string // what was done
	When     string
	Warnings []string
	Tiles    []Tile
	Sections []Section
	Host     *Host  // nil: not said
	Command  string // empty: not said
	Schema   string // of the figures as JSON
}

// Tile is a figure to take away.
type Tile struct {
	What, Figure, Unit, More string
	Mood                     Mood
}

// Mood is how good a figure is.
type Mood string

// The moods.
const (
	Neutral Mood = ""
	Good    Mood = "good"
	Bad     Mood = "bad"
)

// Section is a part of a [Document], in this order.
type Section struct {
	Heading, Text string
	Charts        []Chart
	Tables        []Sheet
	Notes         []Note
}

// Sheet is a table: columns under a heading. Each row has as many cells as there are columns.
type Sheet struct {
	Columns []Column
	Rows    [][]string
	Folded  bool // it is seen when its title is clicked
	Title   string
}

// Column of a [Sheet]. Group, if it is not empty, stands above it and those that follow
// without one.
type Column struct {
	Group, Name string
	Text        bool // not figures: aligned left
}

// Note is a line with a label.
type Note struct{ Label, Text string }

// Chart is [Bars] or [Curves].
type Chart interface{ chart() *chart }

// Bars is horizontal bars in groups.
type Bars struct {
	Title, Sub, Axis string
	Unit             string // beside values: "ms"
	Groups           []BarGroup
}

// BarGroup is bars with a name in common, which may be empty.
type BarGroup struct {
	Name string
	Bars []Bar
}

// Bar is one of [Bars]. Between Low and High it has a whisker, unless both are 0.
type Bar struct {
	Name, Note       string
	Value, Low, High float64
	Colour           int // 1 to 10; 0: grey
}

func (b Bars) chart() *chart {
	var groups []barGroup
	for _, g := range b.Groups {
		group := barGroup{name: g.Name}
		for _, one := range g.Bars {
			e := Estimate{Repeats: 1, Median: one.Value}
			e.Low, e.High = one.Value, one.Value
			if one.Low != 0 || one.High != 0 {
				e.Low, e.High = one.Low, one.High
			}
			if !finiteNumber(one.Value) || !finiteNumber(e.Low) || !finiteNumber(e.High) {
				e, one.Note = Estimate{}, cmp.Or(one.Note, "-")
			}
			group.bars = append(group.bars, barValue{one.Name, colourClass(one.Colour, 0), e, one.Note})
		}
		groups = append(groups, group)
	}
	return newBarChart(b.Title, b.Sub, b.Axis, unit{name: b.Unit, scale: 1, decimal: -1}, groups)
}

// Curves is lines over a common axis.
type Curves struct {
	Title, Sub     string
	X, Y           string // names of the axes, with their units
	XScale, YScale Scale
	Lines          []Line
}

// Line is one of [Curves].
type Line struct {
	Name   string
	Points [][2]float64 // x and y, by x
	Colour int          // 1 to 10; 0: by its place
	Dashed bool
}

// Scale is how values are laid out on an axis.
type Scale int

// The scales. None has a place for values below 0: they are drawn at its start.
const (
	Linear      Scale = iota // from 0 on
	Logarithmic              // above 0
	Nines                    // percentiles: 90, 99 and 99.9 are as far from each other as 0 and 90
)

func (s Scale) scale() func(low, high, length float64) axisScale {
	switch s {
	case Logarithmic:
		return logScale
	case Nines:
		return ninesScale
	}
	return linearScale
}

func (c Curves) chart() *chart {
	spec := curveChart{title: c.Title, sub: c.Sub, x: c.X, y: c.Y, xScale: c.XScale.scale(), yScale: c.YScale.scale()}
	for i, l := range c.Lines {
		one := curveOf{system: l.Name, class: colourClass(l.Colour, i+1), labelled: true}
		if l.Dashed {
			one.class += " dashed"
		}
		for _, p := range l.Points {
			if x, y := p[0], p[1]; finiteNumber(x) && finiteNumber(y) {
				one.points = append(one.points, point{max(x, 0), max(y, 0)})
			}
		}
		spec.curves = append(spec.curves, one)
	}
	return newCurveChart(spec)
}

func finiteNumber(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// colourClass is a colour of page.css; place is that of who has none of its own.
func colourClass(colour, place int) string {
	if colour == 0 {
		colour = place
	}
	if colour <= 0 {
		return "bed"
	}
	return fmt.Sprintf("s%d", (colour-1)%maxSystemCSS+1)
}

// documentPage is what the template shows.
type documentPage struct {
	*Document
	Style    template.CSS
	Sections []documentSection
	Host     []note
}

type documentSection struct {
	Heading, Text string
	Charts        []*chart
	Tables        []documentTable
	Notes         []Note
}

type documentTable struct {
	Title  string
	Folded bool
	Grid   pageGrid
}

// WriteHTML writes the page.
func (d *Document) WriteHTML(w io.Writer) error {
	page := documentPage{Document: d, Style: template.CSS(pageCSS + labCSS)}
	if d.Host != nil {
		page.Host = d.Host.notes()
	}
	for _, s := range d.Sections {
		shown := documentSection{Heading: s.Heading, Text: s.Text, Notes: s.Notes}
		for _, c := range s.Charts {
			shown.Charts = appendChart(shown.Charts, c.chart())
		}
		for _, t := range s.Tables {
			shown.Tables = append(shown.Tables, documentTable{t.Title, t.Folded, t.page()})
		}
		page.Sections = append(page.Sections, shown)
	}
	if err := documentTemplate.Execute(w, page); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	return nil
}

func (t *Sheet) page() pageGrid {
	g := &grid{}
	for _, c := range t.Columns {
		one := column{group: c.Group, name: c.Name}
		if c.Text {
			one.flags |= left
		}
		g.columns = append(g.columns, one)
	}
	for _, row := range t.Rows {
		cells := make([]string, len(t.Columns))
		copy(cells, row)
		g.add(cells...)
	}
	page := g.page()
	for i := range page.Rows {
		page.Rows[i].Class = ""
	}
	return page
}
