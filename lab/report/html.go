package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"
	"time"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

// pageTemplate escapes everything that comes from a result.
var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"px":     func(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) },
	"middle": func(y float64) string { return strconv.FormatFloat(y+barHeight/2, 'f', 1, 64) },
}).Parse(pageHTML))

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
	PacedAt                 []string
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
		Arrangement: r.Setup.Arrangement, Command: r.Host.CommandLine, Configuration: r.Setup.Configuration, Schema: r.Schema,
	}
	for _, row := range r.Rows(Paced) {
		t := row.First()
		p.PacedAt = append(p.PacedAt, fmt.Sprintf("%s at %s kpps", t.Direction, kpps(t.IntendedPPS)))
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
	var shares []string
	for _, row := range r.Rows(Throughput) {
		share := row.Median(func(t *Trial) float64 { return t.BedRatio })
		shares = append(shares, fmt.Sprintf("%.0f\u00a0%% %s", share*100, row.First().Direction))
	}
	if len(shares) == 0 || len(shares) > len(Directions) {
		return "Throughput and latency of a UPF"
	}
	return "The UPF forwards " + strings.Join(shares, " and ") + " of what the bed carries"
}

// tiles are the figures to take away: a rate for each row, the latency of each
// paced row, and whether all frames were right.
func (r *Result) tiles() []tile {
	var tiles []tile
	for _, row := range r.Rows(Throughput) {
		t := row.First()
		more := fmt.Sprintf("%.2f Gbit/s", row.Median(func(t *Trial) float64 { return t.ReceivedBPS })/1e9)
		if ns, ok := row.CostNS(); ok {
			more += fmt.Sprintf(", +%.0f ns a frame", ns)
		}
		tiles = append(tiles, tile{
			Class: string(t.Direction), What: string(t.Direction) + ", " + t.Datapath,
			Figure: fmt.Sprintf("%.2f", row.Median(func(t *Trial) float64 { return t.ReceivedPPS })/1e6), Unit: "Mpps", More: more,
		})
	}
	for _, row := range r.Rows(Paced) {
		t, l := row.First(), row.LatencyNS()
		tiles = append(tiles, tile{
			Class: string(t.Direction), What: string(t.Direction) + ", latency p99", Figure: micros(l.P99), Unit: "µs",
			More: fmt.Sprintf("p50 %s µs at %s kpps", micros(l.P50), kpps(t.IntendedPPS)),
		})
	}
	return append(tiles, r.correctnessTile())
}

func (r *Result) correctnessTile() tile {
	var received, wrong uint64
	for i := range r.Trials {
		t := &r.Trials[i]
		received += t.ReceivedFrames
		wrong += t.Misdelivered + t.Duplicated + t.Reordered
	}
	class := "good"
	if wrong > 0 {
		class = "bad"
	}
	return tile{Class: class, What: "wrong, double, disordered", Figure: grouped(wrong), Unit: "frames", More: "of " + count(received, "frame")}
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
		{"", "direction", left}, {"", "path", left}, {"", "kind", left}, {"", "repeat", 0}, {"", "seconds", 0},
		{"kpps", "intended", bar}, {"", "offered", 0}, {"", "received", 0}, {"", "bed", 0},
		{"", "share", bar}, {"frames", "lost", bar}, {"", "wrong", 0}, {"", "doubled", 0}, {"", "out of order", 0},
	}}
	for i := range r.Trials {
		t := &r.Trials[i]
		intended, bed := "max", ""
		if t.IntendedPPS > 0 {
			intended = kpps(t.IntendedPPS)
		}
		for _, b := range r.Bed.Limit(t.Direction).Repeats {
			if b.Repeat == t.Repeat && t.Kind == Throughput {
				bed = kpps(b.ReceivedPPS)
			}
		}
		lost := uint64(0)
		if t.OfferedFrames > t.ReceivedFrames {
			lost = t.OfferedFrames - t.ReceivedFrames
		}
		g.add(string(t.Direction), t.Datapath, string(t.Kind), strconv.Itoa(t.Repeat),
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
		if cells[1] == "bed" {
			row.Class += " bedrow"
		}
		for i, cell := range cells {
			row.Cells = append(row.Cells, pageCell{cell, g.columns[i].flags&left != 0})
		}
		p.Rows = append(p.Rows, row)
	}
	return p
}
