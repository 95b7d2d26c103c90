package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/internal/term"
	"github.com/plumbline-upf/plumbline/lab/host"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/nfapi/stopwatch"
)

// nfapiPage is the page of a command's stopwatches.
type nfapiPage struct{ command string }

func (p nfapiPage) write(w io.Writer, r *stopwatch.Result) error {
	all := r.Merged()
	version, commit := cli.Built()
	about := host.Describe(version, commit, "plumb "+strings.Join(os.Args[1:], " "))
	d := &report.Document{
		Heading: nfapiHeading(all), Title: "plumb nfapi " + p.command,
		When:  all.Started.UTC().Format("2 January 2006, 15:04 UTC") + ", took " + all.Duration().Round(time.Second).String(),
		Tiles: nfapiTiles(all), Host: &about, Schema: r.Schema, Command: about.CommandLine,
	}
	for _, s := range r.Watches {
		d.Sections = append(d.Sections, nfapiSection(s))
	}
	if study, ok := nfapiStudy(all); ok {
		d.Sections = append(d.Sections, study)
	}
	return d.WriteHTML(w)
}

// nfapiTotals is what became of requests, of all types.
func nfapiTotals(s *stopwatch.Snapshot) (came, late, bad uint64) {
	for i := range s.Messages {
		c := &s.Messages[i].Counts
		came, late, bad = came+c.Came(), late+c.Late, bad+c.Early+c.Duplicate+c.Invalid+c.Unpaired
	}
	return came, late, bad
}

func nfapiHeading(s *stopwatch.Snapshot) string {
	if came, late, _ := nfapiTotals(s); came > 0 {
		return fmt.Sprintf("%d of %d requests were late", late, came)
	}
	return "How long messages are under way"
}

// nfapiTiles are the figures to take away.
func nfapiTiles(s *stopwatch.Snapshot) []report.Tile {
	var tiles []report.Tile
	mood := func(bad bool) report.Mood {
		if bad {
			return report.Bad
		}
		return report.Good
	}
	if came, late, bad := nfapiTotals(s); came > 0 {
		tiles = append(tiles, report.Tile{
			What: "late requests", Figure: fmt.Sprint(late), Unit: fmt.Sprintf("of %d", came), Mood: mood(late > 0),
			More: fmt.Sprintf("%d more were early, doubled, invalid or without their pair", bad),
		})
	}
	if c := &s.Clock; c.Slots > 0 {
		tiles = append(tiles, report.Tile{
			What: "lateness of the clock", Figure: term.DelayText(int64(c.Late.Quantile(0.5))), Unit: "µs", Mood: mood(c.Skipped > 0),
			More: fmt.Sprintf("median; p99 %s, max %s µs; %d of %d slots left out", timeText(c.Late, 0.99), timeText(c.Late, 1), c.Skipped, c.Slots+c.Skipped),
		})
	}
	for _, d := range []struct {
		to string
		stopwatch.Sequences
	}{{"PNF", s.ToPNF}, {"VNF", s.ToVNF}} {
		if d.Received > 0 {
			tiles = append(tiles, report.Tile{
				What: "lost on the way to the " + d.to, Figure: fmt.Sprint(d.Lost), Unit: "messages", Mood: mood(d.Lost > 0),
				More: fmt.Sprintf("of %d; %d twice, %d out of order", d.Received+d.Lost, d.Duplicate, d.Reordered),
			})
		}
	}
	return tiles
}

// nfapiSection is one stopwatch.
func nfapiSection(s *stopwatch.Snapshot) report.Section {
	section := report.Section{Heading: s.Name, Text: strings.ReplaceAll(s.Headline(), "\n", "; ")}
	lead := report.Curves{Title: "Lead", Sub: "how long before its slot a request came; those that came after it had begun are at 0", X: "lead, ms", Y: "requests with less, %"}
	way := report.Curves{Title: "Under way", Sub: "by time stamps", X: "percentile", Y: "delay, µs", XScale: report.Nines, YScale: report.Logarithmic}
	handled := report.Curves{Title: "Handled", Sub: "from the sender's time stamp until all is done", X: "percentile", Y: "µs", XScale: report.Nines, YScale: report.Logarithmic}
	for i := range s.Messages {
		m := &s.Messages[i]
		if m.Lead.Total() > 0 {
			lead.Lines = append(lead.Lines, report.Line{Name: m.Name, Points: cumulative(m.Lead), Colour: i + 1})
		}
		if d := nfapiWay(m); d.Total() > 0 {
			way.Lines = append(way.Lines, report.Line{Name: m.Name, Points: percentiles(d), Colour: i + 1})
		}
		if m.Handled.Total() > 0 {
			handled.Lines = append(handled.Lines, report.Line{Name: m.Name, Points: percentiles(m.Handled), Colour: i + 1})
		}
	}
	section.Charts = []report.Chart{lead, way, handled}
	for _, t := range s.Tables() {
		section.Tables = append(section.Tables, sheetOf(t))
	}
	return section
}

// sheetOf is a table of a stopwatch as the page has it. A heading such as "µs: mean"
// is a group and a column.
func sheetOf(t stopwatch.Table) report.Sheet {
	var sheet report.Sheet
	for i, name := range t.Columns {
		c := report.Column{Name: name, Text: i < t.Text}
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

// nfapiStudy is the spans that were measured elsewhere, and here.
func nfapiStudy(s *stopwatch.Snapshot) (report.Section, bool) {
	bars := report.Bars{Title: "Execution times", Sub: "OpenAirInterface in nFAPI mode, as measured in 2024, and the mean here", Axis: "ms", Unit: "ms"}
	sheet := report.Sheet{Columns: []report.Column{
		{Name: "", Text: true}, {Name: "span", Text: true}, {Name: "there, ms"}, {Group: "here, ms", Name: "mean"}, {Name: "p99"}, {Name: "max"}, {Name: "times"},
	}}
	milli := func(d time.Duration) string { return fmt.Sprintf("%.3f", float64(d)/1e6) }
	measured := false
	for _, r := range s.Study() {
		row := []string{r.Name, r.Span, milli(r.There), "-", "-", "-", "0"}
		if d := r.Here; d.Total() > 0 {
			measured = true
			row = append(row[:3], milli(d.Mean()), milli(d.Quantile(0.99)), milli(d.Quantile(1)), fmt.Sprint(d.Total()))
			bars.Groups = append(bars.Groups, report.BarGroup{Name: r.Name, Bars: []report.Bar{
				{Name: "there", Value: float64(r.There) / 1e6}, {Name: "here", Value: float64(d.Mean()) / 1e6, Colour: 1},
			}})
		}
		sheet.Rows = append(sheet.Rows, row)
	}
	return report.Section{
		Heading: "Beside OpenAirInterface", Charts: []report.Chart{bars}, Tables: []report.Sheet{sheet},
		Text: "What a study of OpenAirInterface's nFAPI mode measured in 2024, on another machine and between functions of its own: for orientation, not for comparison.",
	}, measured
}
