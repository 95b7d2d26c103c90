package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strconv"
	"time"
)

//go:embed page.html
var pageHTML string

//go:embed drawing.html
var drawingHTML string

//go:embed page.css
var pageCSS string

// pageTemplate escapes everything that comes from a result.
var pageTemplate = template.Must(template.Must(template.New("drawing").Funcs(template.FuncMap{
	"chartWidth": func() int { return chartWidth },
	"px":         func(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) },
	"middle":     func(y float64) string { return strconv.FormatFloat(y+barHeight/2, 'f', 1, 64) },
}).Parse(drawingHTML)).New("page").Parse(pageHTML))

// HTML writes r as one page that loads nothing else: tiles, plots, tables, and
// what the figures belong to.
func HTML(w io.Writer, r *Result) error {
	if err := pageTemplate.Execute(w, newPage(r)); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	return nil
}

// page is what the template shows, in its order.
type page struct {
	Title, Heading, Started string
	Style                   template.CSS // our own file, nothing of the result's
	Tiles                   []tile
	Rates                   *ratesPlot
	Latency                 *latencyPlot
	RateGrid                pageGrid
	LatencyGrid, RepeatGrid *pageGrid
	Notes, Host             []note
	Arrangement, Command    string
	Configuration, Schema   string
}

type tile struct{ Class, What, Figure, Unit, More string }

func newPage(r *Result) *page {
	p := &page{
		Title: r.title(), Heading: r.heading(), Started: r.Started.UTC().Format("2 January 2006, 15:04 UTC"),
		Style: template.CSS(pageCSS), Tiles: r.tiles(), Rates: newRatesPlot(r), Latency: newLatencyPlot(r),
		RateGrid: rateGrid(r).page(), Notes: r.resultNotes(), Host: r.Host.notes(),
		Arrangement: r.Setup.text(), Command: r.Host.CommandLine, Configuration: r.Setup.Configuration, Schema: r.Schema,
	}
	if g := latencyGrid(r); len(g.rows) > 0 {
		page := g.page()
		p.LatencyGrid = &page
	}
	if g := repeatGrid(r); len(g.rows) > 0 {
		page := g.page()
		p.RepeatGrid = &page
	}
	return p
}

// heading is the result in a sentence.
func (r *Result) heading() string {
	rows := r.Rows(Throughput)
	if len(rows) == 0 {
		return "Throughput and latency of a UPF"
	}
	if rate := rows[0].First().IntendedPPS; rate > 0 {
		return fmt.Sprintf("Loss and latency of a UPF at %s frames per second", grouped(uint64(rate)))
	}
	low, high := math.Inf(1), 0.0
	for _, row := range rows {
		share := 100 * row.Median(func(t *Trial) float64 { return t.BedRatio })
		low, high = min(low, share), max(high, share)
	}
	shares := fmt.Sprintf("%.0f to %.0f", low, high)
	if math.Round(low) == math.Round(high) {
		shares = fmt.Sprintf("%.0f", low)
	}
	return "The UPF forwards " + shares + "\u00a0% of what the bed carries"
}

// tiles are the figures to take away: a rate for each row, the latency with the
// most sessions, and whether all frames were right.
func (r *Result) tiles() []tile {
	var tiles []tile
	largest := slices.Max(append(r.SessionCounts(), 0))
	for _, row := range r.Rows(Throughput) {
		t := row.First()
		more := fmt.Sprintf("%.1f Gbit/s", row.Median(func(t *Trial) float64 { return t.ReceivedBPS })/1e9)
		if ns, ok := row.CostNS(); ok {
			more += fmt.Sprintf(", %+.0f ns/frame", ns)
		}
		tiles = append(tiles, tile{
			Class: string(t.Direction), What: string(t.Direction) + ", " + count(uint64(t.Sessions), "session"),
			Figure: fmt.Sprintf("%.2f", row.Median(receivedPPS)/1e6), Unit: "Mpps", More: more,
		})
	}
	for _, row := range r.LatencyRows() {
		t, l := row.First(), row.LatencyNS()
		if t.Sessions != largest {
			continue
		}
		tiles = append(tiles, tile{
			Class: string(t.Direction), What: string(t.Direction) + ", one-way latency",
			Figure: micros(l.P50), Unit: "µs", More: fmt.Sprintf("median; p99 %s µs", micros(l.P99)),
		})
	}
	return append(tiles, r.correctnessTile())
}

func (r *Result) correctnessTile() tile {
	received, wrong := uint64(0), r.wrong()
	for i := range r.Trials {
		received += r.Trials[i].ReceivedFrames
	}
	class := "good"
	if wrong > 0 {
		class = "bad"
	}
	return tile{Class: class, What: "wrong, double, disordered", Figure: grouped(wrong), Unit: "frames", More: "of " + count(received, "frame")}
}

// wrong is how many frames were wrong, double or out of order.
func (r *Result) wrong() uint64 {
	wrong := uint64(0)
	for i := range r.Trials {
		t := &r.Trials[i]
		wrong += t.Misdelivered + t.Duplicated + t.Reordered
	}
	return wrong
}

func (h *Host) notes() []note {
	return []note{
		{"CPU", fmt.Sprintf("%s, %d usable", h.CPUModel, h.CPUs)}, {"memory", mebi(h.MemoryOctets)},
		{"kernel", "Linux " + h.Kernel + " " + h.Arch}, {"system", h.OS}, {"BPF JIT", h.BPFJIT}, {"spectre v2", h.SpectreV2},
		{"plumb", h.Version + " " + h.Commit}, {"toolchain", h.GoVersion},
	}
}

// repeatGrid shows every trial of its own, with the bed's that it is paired with.
func repeatGrid(r *Result) *grid {
	g := &grid{columns: []column{
		{"", "direction", left}, {"", "sessions", 0}, {"", "path", left}, {"", "kind", left}, {"", "repeat", 0}, {"", "seconds", 0},
		{"kpps", "intended", bar}, {"", "offered", 0}, {"", "received", 0}, {"", "bed", 0},
		{"", "share", bar}, {"frames", "lost", bar}, {"", "wrong", 0}, {"", "doubled", 0}, {"", "out of order", 0},
	}}
	for i := range r.Trials {
		t := &r.Trials[i]
		intended, bed := "max", ""
		if t.IntendedPPS > 0 {
			intended = kpps(t.IntendedPPS)
		}
		for _, b := range r.Bed.Limit(t.Direction).Of(t.Sessions) {
			if b.Repeat == t.Repeat && t.Kind == Throughput {
				bed = kpps(b.ReceivedPPS)
			}
		}
		lost := uint64(0)
		if t.OfferedFrames > t.ReceivedFrames {
			lost = t.OfferedFrames - t.ReceivedFrames
		}
		g.add(string(t.Direction), fmt.Sprint(t.Sessions), t.Datapath, string(t.Kind), strconv.Itoa(t.Repeat),
			fmt.Sprintf("%.2f", time.Duration(t.DurationNS).Seconds()), intended, kpps(t.OfferedPPS), kpps(t.ReceivedPPS), bed,
			fmt.Sprintf("%.3f", t.BedRatio), grouped(lost), grouped(t.Misdelivered), grouped(t.Duplicated), grouped(t.Reordered))
	}
	return g
}

// pageGrid is a grid as the template wants it.
type pageGrid struct {
	Groups []pageGroup
	Heads  []pageCell
	Rows   []pageRow
}

type pageGroup struct {
	Name string
	Span int
}

type pageCell struct {
	Name string
	Text bool
}

type pageRow struct {
	Class string
	Cells []pageCell
}

func (g *grid) page() pageGrid {
	var p pageGrid
	for i, c := range g.columns {
		p.Heads = append(p.Heads, pageCell{c.name, c.flags&left != 0})
		if i == 0 || c.group != "" || c.flags&bar != 0 {
			p.Groups = append(p.Groups, pageGroup{Name: c.group})
		}
		p.Groups[len(p.Groups)-1].Span++
	}
	for _, cells := range g.rows {
		row := pageRow{Class: cells[0]}
		if slices.Contains(cells, bedPath) {
			row.Class += " bedrow"
		}
		for i, cell := range cells {
			row.Cells = append(row.Cells, pageCell{cell, g.columns[i].flags&left != 0})
		}
		p.Rows = append(p.Rows, row)
	}
	return p
}
