package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"
)

//go:embed lab_compare.html
var labCompareHTML string

var labCompareTemplate = template.Must(template.Must(labTemplate.Clone()).New("comparison of labs").Parse(labCompareHTML))

// labComparePage is what the template shows, in its order.
type labComparePage struct {
	Title, Heading   string
	Style            template.CSS
	Tiles            []tile
	Sections         []labSection
	Differences, All pageGrid
	Notes            []note
	Runs             []labCompareRun
	Schema           string
}

type labCompareRun struct {
	Name    string
	Host    []note
	Command string
}

// LabComparisonHTML writes c as one page that loads nothing else.
func LabComparisonHTML(w io.Writer, c *LabComparison) error {
	p := &labComparePage{
		Title: c.title(), Heading: c.heading(), Style: template.CSS(pageCSS + labCSS), Tiles: c.tiles(), Sections: c.sections(),
		Differences: c.page(false), All: c.page(true), Notes: c.notes(true), Schema: LabSchema,
	}
	for _, run := range c.Runs {
		p.Runs = append(p.Runs, labCompareRun{run.Name, append([]note{{"started", newLabView(run.Lab).when()}}, run.Host.notes()...), run.Host.CommandLine})
	}
	if err := labCompareTemplate.Execute(w, p); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	return nil
}

func (c *LabComparison) heading() string {
	switch n := len(c.Regressions()); {
	case n == 1:
		return "One figure is worse"
	case n > 1:
		return fmt.Sprintf("%d figures are worse", n)
	}
	return "No figure is worse beyond the threshold"
}

func (c *LabComparison) tiles() []tile {
	total := 0
	for _, v := range verdicts {
		total += c.count(v)
	}
	var tiles []tile
	for _, t := range []struct {
		class string
		of    []Verdict
	}{{"bad", []Verdict{Worse}}, {"bad", []Verdict{FailedNow}}, {"good", []Verdict{Improved}}, {"", []Verdict{Slight}}, {"", []Verdict{Same}}, {"", []Verdict{Untold}}} {
		n := c.count(t.of[0])
		if n == 0 && t.of[0] != Worse && t.of[0] != Improved {
			continue
		}
		class := t.class
		if n == 0 {
			class = ""
		}
		tiles = append(tiles, tile{Class: class, What: string(t.of[0]), Figure: grouped(uint64(n)), Unit: "of " + grouped(uint64(total)), More: "figures"})
	}
	return tiles
}

// page is the grid with the verdicts as the rows' classes.
func (c *LabComparison) page(all bool) pageGrid {
	g := c.grid(all)
	p := g.page()
	for i, row := range g.rows {
		p.Rows[i].Class = ""
		switch {
		case slices.Contains(row, string(Worse)) || slices.Contains(row, string(FailedNow)):
			p.Rows[i].Class = "bad"
		case slices.Contains(row, string(Improved)):
			p.Rows[i].Class = "good"
		}
	}
	return p
}

// sections have a chart of changes for each method and main figure, of each result.
func (c *LabComparison) sections() []labSection {
	var sections []labSection
	for _, m := range newLabView(c.Runs[0].Lab).methods() {
		f := m.main()
		if f == nil {
			continue
		}
		s := labSection{Name: m.name, Heading: titled(m.name), Sub: titled(f.name) + ": change to " + c.Runs[0].Name + ", with its interval."}
		for i, run := range c.Runs[1:] {
			titles, cells := m.split(m.inner().name)
			for j, title := range titles {
				s.Charts = appendChart(s.Charts, c.changeChart(m, f, cells[j], i+1, run.Name, title))
			}
		}
		if s.Charts = s.Charts[:min(len(s.Charts), maxCharts/2)]; len(s.Charts) > 0 {
			sections = append(sections, s)
		}
	}
	return sections
}

// changeChart draws the changes of a figure as points with intervals around no change.
func (c *LabComparison) changeChart(m *methodView, f *figureView, cells []int, run int, name, title string) *chart {
	var rows []*DifferenceRow
	widest := c.Threshold
	for i := range c.Rows {
		r := &c.Rows[i]
		if r.Figure != f.name || !slices.ContainsFunc(cells, func(cell int) bool { return *m.cell(cell) == r.Cell }) || !r.Changes[run].Known() {
			continue
		}
		rows = append(rows, r)
		d := r.Changes[run]
		widest = max(widest, math.Abs(d.Low-1), math.Abs(d.High-1))
	}
	if len(rows) == 0 {
		return nil
	}
	ch := &chart{Title: name, Sub: title}
	names := []string{}
	for _, r := range rows {
		names = append(names, r.System)
	}
	short := shortNames(names)
	left := namesWidth(short, chartNames)
	half := (chartWidth - left - chartValue) / 2
	widest = min(widest, 4)
	scale := newLinear(100*widest, half)
	at := func(ratio float64) float64 {
		p := 100 * (ratio - 1)
		return left + half + math.Copysign(min(scale.at(math.Abs(p)), half), p)
	}
	y := chartTop
	inner, last := m.inner(), ""
	for _, r := range rows {
		if group := groupName(inner, &r.Cell); group != last {
			if last != "" {
				y += chartGroup
			}
			ch.label(0, y+11, group, "soft", "start")
			y, last = y+chartCaption, group
		}
		ch.change(r, short[r.System], r.Changes[run], at, left, y)
		y += chartRow
	}
	ch.Marks = append([]mark{{at(1 - c.Threshold), chartTop, at(1+c.Threshold) - at(1-c.Threshold), y - chartTop, "threshold", "within the threshold"}}, ch.Marks...)
	ch.Whiskers = append([]segment{{at(1), chartTop, at(1), y, "axis"}}, ch.Whiskers...)
	for _, t := range everySecond(scale.ticks()) {
		for _, sign := range []float64{-1, 1} {
			if t.At == 0 && sign < 0 {
				continue
			}
			text := t.Label
			if t.At > 0 {
				text = map[float64]string{-1: "−", 1: "+"}[sign] + text
			}
			ch.label(left+half+sign*t.At, y+15, text, "soft", "middle")
		}
	}
	ch.label(left+half, y+34, "change, %", "soft", "middle")
	ch.Height = y + chartFoot
	return ch
}

func groupName(inner axisOf, c *LabCell) string {
	if inner.text == nil {
		return ""
	}
	return axisText(inner, c)
}

// change draws one row.
func (c *chart) change(r *DifferenceRow, name string, d Difference, at func(float64) float64, left, y float64) {
	class := map[Verdict]string{Worse: "bad", Improved: "good"}[d.Verdict]
	if class == "" {
		class = "plain"
	}
	c.label(left-8, y+9, name, "small", "end")
	middle := y + chartBar/2
	c.Whiskers = append(c.Whiskers, segment{at(d.Low), middle, at(d.High), middle, "whisker " + class})
	change, interval := d.text()
	c.Dots = append(c.Dots, dot{at(d.Ratio), middle, class, strings.Join([]string{r.System, change, interval, string(d.Verdict)}, ", ")})
	c.label(chartWidth-chartValue+10, y+9, change, "small "+class, "start")
}
