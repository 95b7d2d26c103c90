package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/analyze"
)

// AnalysisHTML writes the page of what a capture of nFAPI says. commandLine is how it was asked.
func AnalysisHTML(w io.Writer, a *analyze.Analysis, commandLine string) error {
	d := &Document{
		Heading: analysisHeading(a), Title: "plumb nfapi analyze",
		When:   a.Started.UTC().Format("2 January 2006, 15:04:05 UTC") + ", " + a.Duration().Round(time.Millisecond).String() + " of capture",
		Schema: a.Schema, Command: commandLine,
	}
	if n := a.Undecoded + a.WrongChecksums; n > 0 {
		d.Warnings = append(d.Warnings, fmt.Sprintf("%d messages could not be decoded, %d had a wrong checksum.", a.Undecoded, a.WrongChecksums))
	}
	if a.CutShort {
		d.Warnings = append(d.Warnings, "The capture ends within a packet.")
	}
	for _, note := range a.Notes {
		d.Warnings = append(d.Warnings, "Of the capture "+note+".")
	}
	for _, c := range a.Cells {
		if len(a.Cells) == 1 {
			d.Tiles = analysisTiles(c)
		}
		d.Sections = append(d.Sections, analysisSections(c)...)
	}
	if len(a.P5) > 0 {
		d.Sections = append(d.Sections, Section{Heading: "P5", Text: a.P5Text()})
	}
	return d.WriteHTML(w)
}

func analysisHeading(a *analyze.Analysis) string {
	came, late, known := uint64(0), uint64(0), false
	for _, c := range a.Cells {
		known = known || c.SlotAhead >= 0
		for i := range c.Requests {
			came, late = came+c.Requests[i].Counts.Came(), late+c.Requests[i].Counts.Late
		}
	}
	if !known {
		return fmt.Sprintf("%d requests", came)
	}
	return fmt.Sprintf("%d of %d requests were late", late, came)
}

// analysisTiles are the figures of the only cell.
func analysisTiles(c *analyze.Cell) []Tile {
	mood := func(bad bool) Mood {
		if bad {
			return Bad
		}
		return Good
	}
	b := &c.Broken
	pairs := b.DLTTIWithoutTXData + b.TXDataWithoutDLTTI + b.PDSCHWithoutBlock
	feedback := b.PUSCHWithoutCRC + b.CRCWithoutPUSCH + b.GoodWithoutRXData + b.PUCCHWithoutUCI
	tiles := []Tile{
		{What: "missing SLOT.indications", Figure: fmt.Sprint(c.Ticks.Missing), More: fmt.Sprintf("of %d; %d again, %d backwards", c.Ticks.Count+c.Ticks.Missing, c.Ticks.Repeated, c.Ticks.Backwards), Mood: mood(c.Ticks.Missing > 0)},
		{What: "halves without the other", Figure: fmt.Sprint(pairs), More: "DL_TTI, TX_DATA and their blocks", Mood: mood(pairs > 0)},
		{What: "without feedback", Figure: fmt.Sprint(feedback), More: "CRC, RX_DATA and UCI.indication", Mood: mood(feedback > 0)},
		{What: "lost messages", Figure: fmt.Sprint(c.ToPNF.Lost + c.ToVNF.Lost), More: fmt.Sprintf("by sequence numbers, of %d", c.ToPNF.Received+c.ToVNF.Received), Mood: mood(c.ToPNF.Lost+c.ToVNF.Lost > 0)},
	}
	if q := &c.Requested; q.ToCRC.Total() > 0 {
		tiles = append(tiles, Tile{What: "from SR to CRC", Figure: q.ToCRC.Text(0.5), Unit: "µs", More: fmt.Sprintf("median; grant after %s µs; %d SRs", q.ToGrant.Text(0.5), q.Count)})
	}
	return tiles
}

// analysisSections are one cell: its figures, and what was wrong.
func analysisSections(c *analyze.Cell) []Section {
	lead := Curves{Title: "Lead", Sub: "how long before its slot a request came; late ones are at 0", X: "lead, ms", Y: "requests with less, %"}
	response := Curves{Title: "Response", Sub: "from SLOT.indication to a request for its slot", X: "percentile", Y: "µs", XScale: Nines, YScale: Logarithmic}
	for i := range c.Requests {
		r := &c.Requests[i]
		line := Line{Name: r.Message, Colour: i + 1}
		line.Dashed = r.Message == nfapi.MsgTXDataRequest.String() // it goes with DL_TTI.request, whose line it would hide
		if r.Lead.Total() > 0 {
			line.Points = cumulative(r.Lead)
			lead.Lines = append(lead.Lines, line)
		}
		if r.Response.Total() > 0 {
			line.Points = percentiles(r.Response)
			response.Lines = append(response.Lines, line)
		}
	}
	interval := Curves{Title: "Slot clock", Sub: "between consecutive SLOT.indications", X: "percentile", Y: "µs", XScale: Nines, YScale: Logarithmic}
	if c.Ticks.Interval.Total() > 0 {
		interval.Lines = []Line{{Name: "interval", Points: percentiles(c.Ticks.Interval)}}
	}
	section := Section{Heading: fmt.Sprintf("PHY %d of %s", c.PHY, c.PNF), Text: c.Headline(), Charts: []Chart{lead, response, interval}}
	for line := range strings.Lines(c.Text()) {
		label, text, _ := strings.Cut(strings.TrimSpace(line), ": ")
		section.Notes = append(section.Notes, Note{Label: label, Text: text})
	}
	for _, t := range c.Tables() {
		section.Tables = append(section.Tables, stopwatchSheet(t))
	}
	sections := []Section{section}
	if len(c.Findings) > 0 {
		sheet := Sheet{Columns: []Column{{Name: "s"}, {Name: "slot"}, {Name: "what", Text: true}}}
		for _, f := range c.Findings {
			sheet.Rows = append(sheet.Rows, []string{fmt.Sprintf("%.6f", f.At.Sub(c.Started).Seconds()), f.Slot, f.Text})
		}
		findings := Section{Heading: "What was wrong", Tables: []Sheet{sheet}}
		if c.Further > 0 {
			findings.Text = fmt.Sprintf("The first %d, and %d more.", len(c.Findings), c.Further)
		}
		sections = append(sections, findings)
	}
	return sections
}
