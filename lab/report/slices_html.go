package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
)

//go:embed slices.html
var slicesHTML string

var slicesTemplate = template.Must(template.Must(labTemplate.Clone()).New("slices").Parse(slicesHTML))

// slicesPage is what the template shows, in its order.
type slicesPage struct {
	Title, Heading, When string
	Unfinished           string
	Style                template.CSS
	Tiles                []tile
	Key                  []keyEntry
	Charts, More         []*chart
	First                []slicesSection // the tables of the study
	Rest                 []slicesSection
	Failures             []note
	Notes, Host          []note
	Arrangement, Command string
	Configurations       []note
	Source, Schema       string
}

// slicesSection is a table.
type slicesSection struct {
	ID, Heading, Sub string
	Grid             pageGrid
}

// SlicesHTML writes s as one page that loads nothing else.
func SlicesHTML(w io.Writer, s *Slices) error {
	if err := slicesTemplate.Execute(w, newSlicesPage(newSlicesView(s))); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	return nil
}

func newSlicesPage(v *slicesView) *slicesPage {
	p := &slicesPage{
		Title: v.title(), Heading: v.heading(), When: v.Started.UTC().Format("2 January 2006, 15:04 UTC"), Style: template.CSS(pageCSS + labCSS),
		Tiles: v.tiles(), Key: v.key(), Failures: v.failures(), Notes: v.pageNotes(), Host: v.Host.notes(),
		Arrangement: v.Plan.Arrangement, Command: v.Host.CommandLine, Source: slicesSource, Schema: v.Schema,
	}
	if v.Finished == nil {
		p.Unfinished = fmt.Sprintf("%d of %d cells were measured.", len(v.Cells), len(v.Systems)*len(v.Plan.Loads)*v.Plan.Repeats)
	}
	const studied = 2 // of the parts
	for i, part := range v.parts() {
		if len(part.grid.rows) == 0 {
			continue
		}
		section := slicesSection{part.id, titled(part.heading), part.sub, part.grid.page()}
		for i := range section.Grid.Rows {
			section.Grid.Rows[i].Class = rowClass(part.grid, i)
		}
		if i < studied {
			p.First = append(p.First, section)
		} else {
			p.Rest = append(p.Rest, section)
		}
	}
	p.Charts, p.More = v.charts()
	p.Charts = p.Charts[:min(len(p.Charts), maxCharts)]
	p.More = p.More[:min(len(p.More), maxCharts-len(p.Charts))]
	for i := range v.Systems {
		if s := &v.Systems[i]; s.Configuration != "" {
			p.Configurations = append(p.Configurations, note{s.Name, s.Configuration})
		}
	}
	return p
}

// rowClass tells groups of rows apart, and what was published.
func rowClass(g *grid, i int) string {
	class := ""
	if slices.Contains(g.rows[i], publishedRow) {
		class = "reference"
	}
	if i > 0 && g.rows[i][0] != "" && g.rows[i][0] != g.rows[i-1][0] {
		class += " first"
	}
	return class
}

func (v *slicesView) heading() string {
	n := len(v.systems)
	if n == 1 {
		return "How long packets of each slice stay in a UPF"
	}
	return fmt.Sprintf("How long packets of each slice stay in %d UPFs", n)
}

// key has a system for each colour.
func (v *slicesView) key() []keyEntry {
	if len(v.systems) < 2 {
		return nil // colours are loads, and stand beside their curves
	}
	var key []keyEntry
	for _, name := range v.systems {
		key = append(key, keyEntry{v.class(name), name, v.System(name).Version})
	}
	return key
}

// tiles are the p99 of each slice at the last load, of the best system, and the account.
func (v *slicesView) tiles() []tile {
	var tiles []tile
	last := v.Plan.Loads[len(v.Plan.Loads)-1].Name
	for _, s := range v.Plan.Slices {
		if t, ok := v.tile(s.Name, last); ok {
			tiles = append(tiles, t)
		}
	}
	packets, ambiguous, ok := v.balanced()
	t := tile{Class: "good", What: "packets whose fate is known", Figure: "100", Unit: "%", More: "of " + count(packets, "packet")}
	switch {
	case !ok:
		t = tile{Class: "bad", What: "the account", Figure: "does not balance", More: "of " + count(packets, "packet")}
	case ambiguous > 0:
		t.Figure = fmt.Sprintf("%.4g", 100*(1-float64(ambiguous)/float64(packets)))
	}
	return append(tiles, t)
}

// tile is the lowest p99 of a slice at a load, and who is not told apart from it.
func (v *slicesView) tile(slice, load string) (tile, bool) {
	best, with := "", Estimate{}
	p99 := func(system string) Estimate { return over(v.delays(system, load, slice, Uplink), p99Of) }
	for _, system := range v.systems {
		if e := p99(system); e.Repeats > 0 && (best == "" || e.Median < with.Median) {
			best, with = system, e
		}
	}
	var close []string
	for _, system := range v.systems {
		if e := p99(system); system != best && e.Repeats > 0 && with.Known() && with.Overlaps(e.Interval) {
			close = append(close, system)
		}
	}
	more := fmt.Sprintf("%s; p50 %s µs", best, microUnit.text(over(v.delays(best, load, slice, Uplink), p50Of).Median))
	if len(close) > 0 {
		more += "; not told apart: " + strings.Join(close, ", ")
	}
	return tile{Class: v.class(best), What: slice + ", uplink, " + load + ": p99", Figure: microUnit.text(with.Median), Unit: "µs", More: more}, best != ""
}

// pageNotes are the notes that have no place of their own on the page.
func (v *slicesView) pageNotes() []note {
	var list []note
	for _, n := range v.notes() {
		switch n.Label {
		case "failed", "published", "arrangement", "host":
		default:
			list = append(list, n)
		}
	}
	return list
}

// SlicesSVG writes the charts that the page shows as a picture of its own.
func SlicesSVG(w io.Writer, s *Slices) error {
	return newSlicesView(s).picture().write(w)
}

// SlicesPNG is [SlicesSVG] in pixels.
func SlicesPNG(w io.Writer, s *Slices) error { return writePNG(w, newSlicesView(s).picture()) }

// picture has the key and all charts.
func (v *slicesView) picture() *svgPage {
	p := newPicture(v.key())
	charts, _ := v.charts()
	p.add(charts)
	return p
}
