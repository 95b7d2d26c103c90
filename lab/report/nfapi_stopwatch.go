package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi/stopwatch"
)

// StopwatchHTML writes the page of the stopwatches of 'plumb nfapi COMMAND', which ran on host
// about.
func StopwatchHTML(w io.Writer, r *stopwatch.Result, command string, about Host) error {
	all := r.Merged()
	d := &Document{
		Heading: stopwatchHeading(all), Title: "plumb nfapi " + command,
		When:  all.Started.UTC().Format("2 January 2006, 15:04 UTC") + ", took " + all.Duration().Round(time.Second).String(),
		Tiles: stopwatchTiles(all), Host: &about, Schema: r.Schema, Command: about.CommandLine,
	}
	for _, s := range r.Watches {
		d.Sections = append(d.Sections, stopwatchSection(s))
	}
	if study, ok := stopwatchStudy(all); ok {
		d.Sections = append(d.Sections, study)
	}
	return d.WriteHTML(w)
}

// requestTotals is what became of requests, of all types.
func requestTotals(s *stopwatch.Snapshot) (came, late, bad uint64) {
	for i := range s.Messages {
		c := &s.Messages[i].Counts
		came, late, bad = came+c.Came(), late+c.Late, bad+c.Early+c.Duplicate+c.Invalid+c.Unpaired
	}
	return came, late, bad
}

func stopwatchHeading(s *stopwatch.Snapshot) string {
	if came, late, _ := requestTotals(s); came > 0 {
		return fmt.Sprintf("%d of %d requests were late", late, came)
	}
	return "How long messages are under way"
}

// stopwatchTiles are the figures to take away.
func stopwatchTiles(s *stopwatch.Snapshot) []Tile {
	var tiles []Tile
	mood := func(bad bool) Mood {
		if bad {
			return Bad
		}
		return Good
	}
	if came, late, bad := requestTotals(s); came > 0 {
		tiles = append(tiles, Tile{
			What: "late requests", Figure: fmt.Sprint(late), Unit: fmt.Sprintf("of %d", came), Mood: mood(late > 0),
			More: fmt.Sprintf("%d more were early, doubled, invalid or without their pair", bad),
		})
	}
	if c := &s.Clock; c.Slots > 0 {
		tiles = append(tiles, Tile{
			What: "lateness of the clock", Figure: c.Late.Text(0.5), Unit: "µs", Mood: mood(c.Skipped > 0),
			More: fmt.Sprintf("median; p99 %s, max %s µs; %d of %d slots left out", c.Late.Text(0.99), c.Late.Text(1), c.Skipped, c.Slots+c.Skipped),
		})
	}
	for _, d := range []struct {
		to string
		stopwatch.Sequences
	}{{"PNF", s.ToPNF}, {"VNF", s.ToVNF}} {
		if d.Received > 0 {
			tiles = append(tiles, Tile{
				What: "lost on the way to the " + d.to, Figure: fmt.Sprint(d.Lost), Unit: "messages", Mood: mood(d.Lost > 0),
				More: fmt.Sprintf("of %d; %d twice, %d out of order", d.Received+d.Lost, d.Duplicate, d.Reordered),
			})
		}
	}
	return tiles
}

// stopwatchSection is one stopwatch.
func stopwatchSection(s *stopwatch.Snapshot) Section {
	section := Section{Heading: s.Name, Text: strings.ReplaceAll(s.Headline(), "\n", "; ")}
	lead := Curves{Title: "Lead", Sub: "how long before its slot a request came; those that came after it had begun are at 0", X: "lead, ms", Y: "requests with less, %"}
	way := Curves{Title: "Under way", Sub: "by time stamps", X: "percentile", Y: "delay, µs", XScale: Nines, YScale: Logarithmic}
	handled := Curves{Title: "Handled", Sub: "from the sender's time stamp until all is done", X: "percentile", Y: "µs", XScale: Nines, YScale: Logarithmic}
	for i := range s.Messages {
		m := &s.Messages[i]
		if m.Lead.Total() > 0 {
			lead.Lines = append(lead.Lines, Line{Name: m.Name, Points: cumulative(m.Lead), Colour: i + 1})
		}
		if d := m.Way(); d.Total() > 0 {
			way.Lines = append(way.Lines, Line{Name: m.Name, Points: percentiles(d), Colour: i + 1})
		}
		if m.Handled.Total() > 0 {
			handled.Lines = append(handled.Lines, Line{Name: m.Name, Points: percentiles(m.Handled), Colour: i + 1})
		}
	}
	section.Charts = []Chart{lead, way, handled}
	for _, t := range s.Tables() {
		section.Tables = append(section.Tables, stopwatchSheet(t))
	}
	return section
}

// stopwatchSheet is a table of a stopwatch as the page has it. A heading such as "µs: mean"
// is a group and a column.
func stopwatchSheet(t stopwatch.Table) Sheet {
	var sheet Sheet
	for i, name := range t.Columns {
		c := Column{Name: name, Text: i < t.Text}
		if group, first, ok := strings.Cut(name, ": "); ok {
			c.Group, c.Name = group, first
		}
		sheet.Columns = append(sheet.Columns, c)
	}
	sheet.Rows = t.Rows
	return sheet
}

// cumulative is the share of values below, in %, over ms.
func cumulative(d *stopwatch.Distribution) [][2]float64 {
	var points [][2]float64
	for _, p := range percentiles(d) {
		points = append(points, [2]float64{p[1] / 1e3, p[0]})
	}
	return points
}

// percentiles are the values in µs over percentiles, up to as many nines as there are
// values for.
func percentiles(d *stopwatch.Distribution) [][2]float64 {
	var points [][2]float64
	add := func(p float64) { points = append(points, [2]float64{p, float64(d.Quantile(p/100)) / 1e3}) }
	for p := 0.0; p < 90; p += 2 {
		add(p)
	}
	for rest := 10.0; rest*float64(d.Total()) >= 100 && rest > 1e-4; rest *= 0.8 {
		add(100 - rest)
	}
	return points
}

// stopwatchStudy is the spans that were measured elsewhere, and here.
func stopwatchStudy(s *stopwatch.Snapshot) (Section, bool) {
	bars := Bars{Title: "Execution times", Sub: "OpenAirInterface in nFAPI mode, as measured in 2024, and the mean here", Axis: "ms", Unit: "ms"}
	sheet := Sheet{Columns: []Column{
		{Name: "", Text: true}, {Name: "span", Text: true}, {Name: "there, ms"}, {Group: "here, ms", Name: "mean"}, {Name: "p99"}, {Name: "max"}, {Name: "times"},
	}}
	milli := func(d time.Duration) string { return fmt.Sprintf("%.3f", float64(d)/1e6) }
	measured := false
	for _, r := range s.Study() {
		row := []string{r.Name, r.Span, milli(r.There), "-", "-", "-", "0"}
		if d := r.Here; d.Total() > 0 {
			measured = true
			row = append(row[:3], milli(d.Mean()), milli(d.Quantile(0.99)), milli(d.Quantile(1)), fmt.Sprint(d.Total()))
			bars.Groups = append(bars.Groups, BarGroup{Name: r.Name, Bars: []Bar{
				{Name: "there", Value: float64(r.There) / 1e6}, {Name: "here", Value: float64(d.Mean()) / 1e6, Colour: 1},
			}})
		}
		sheet.Rows = append(sheet.Rows, row)
	}
	return Section{
		Heading: "Beside OpenAirInterface", Charts: []Chart{bars}, Tables: []Sheet{sheet},
		Text: "What a study of OpenAirInterface's nFAPI mode measured in 2024, on another machine and between functions of its own: for orientation, not for comparison.",
	}, measured
}
