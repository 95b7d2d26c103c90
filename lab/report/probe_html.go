package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"time"

	"github.com/plumbline-upf/plumbline/probe/export"
)

//go:embed probe.html
var probeHTML string

//go:embed probe.css
var probeCSS string

var probeTemplate = template.Must(template.Must(labTemplate.Clone()).New("probe").Parse(probeHTML))

// probePage is what the template shows, in its order.
type probePage struct {
	Title, Heading, When string
	Style                template.CSS
	Warnings             []string
	Tiles                []tile
	Key                  []keyEntry
	Charts, More         []*chart
	Delays, Accounts     pageGrid
	Parts                []pageGrid
	N4                   *pageGrid
	N4Note               string
	UPFs                 []note
	Points               pageGrid
	Settings, Samples    string
	Host                 []note
	Command, Schema      string
}

// ProbeHTML writes p as one page that loads nothing else: what matters, distributions,
// heat maps, tables, and what the figures belong to.
func ProbeHTML(w io.Writer, p *Probe) error {
	if err := probeTemplate.Execute(w, newProbePage(newProbeView(p))); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	return nil
}

// ProbeSVG writes the charts that the page shows as a picture of its own.
func ProbeSVG(w io.Writer, p *Probe) error {
	v := newProbeView(p)
	shown, _ := v.charts()
	picture := newPicture(v.key)
	picture.add(shown)
	return picture.write(w)
}

func newProbePage(v *probeView) *probePage {
	host := Host(v.Host)
	p := &probePage{
		Title: v.title(), Heading: v.heading(), When: v.when(), Style: template.CSS(pageCSS + labCSS + probeCSS),
		Warnings: v.Warnings, Tiles: v.tiles(), Key: v.key, UPFs: v.upfNotes(), Points: v.pointGrid().page(),
		Settings: titled(v.settingsText()) + ".", Host: host.notes(), Command: v.Host.CommandLine, Schema: v.Schema,
	}
	p.Charts, p.More = v.charts()
	series := v.seriesGrid()
	parts := series.parted(v.naming())
	p.Delays, p.Accounts = withAll(parts[0]), withAll(parts[1])
	for _, g := range []*grid{v.partsGrid(), v.beyondGrid()} {
		if g != nil {
			p.Parts = append(p.Parts, withAll(g))
		}
	}
	if v.N4 != nil {
		p.N4Note = titled(v.n4Text()) + "."
	}
	if g := v.n4Grid(); g != nil && len(g.rows) > 0 {
		page := withAll(g)
		p.N4 = &page
	}
	for i := range p.Points.Rows {
		p.Points.Rows[i].Class = ""
	}
	if s := v.Samples; s != nil {
		p.Samples = fmt.Sprintf("%s packets were written one by one; %s more were lost for want of room.", grouped(s.Written), grouped(s.Lost))
	}
	return p
}

// parted cuts the grid of series before its accounts.
func (g *grid) parted(first int) [2]*grid {
	account := first + 8 // behind rate and delay
	return [2]*grid{g.part(first, first, account), g.part(first, account, len(g.columns))}
}

// withAll sets the line of all series apart.
func withAll(g *grid) pageGrid {
	p := g.page()
	for i := range p.Rows {
		p.Rows[i].Class = ""
		if i > 0 && i == len(p.Rows)-1 && g.rows[i][0] == "all" {
			p.Rows[i].Class = "all"
		}
	}
	return p
}

func (v *probeView) heading() string {
	if len(v.UPFs) == 1 {
		return "How long packets stay in " + v.UPFs[0].Name
	}
	return "How long packets stay in " + count(uint64(len(v.UPFs)), "UPF")
}

func (v *probeView) when() string {
	return v.Started.UTC().Format("2 January 2006, 15:04 UTC") + ", took " + duration(v.DurationNS)
}

// probeTiles is how many series have a tile.
const probeTiles = 6

// tiles are the series of most packets in each direction, and whether every packet is
// accounted for.
func (v *probeView) tiles() []tile {
	var tiles []tile
	for _, d := range Directions {
		list := v.of(d)
		for _, i := range list[:min(len(list), probeTiles/2)] {
			s := &v.Series[i]
			tiles = append(tiles, tile{
				Class: v.classes[i], What: v.labels[i] + ", " + s.Direction, Figure: delayMicros(s.DelayNS.P50), Unit: "µs",
				More: fmt.Sprintf("median; p99 %s µs; %.2f kpps", delayMicros(s.DelayNS.P99), float64(s.Matched+s.Untimed)/time.Duration(max(v.DurationNS, 1)).Seconds()/1e3),
			})
		}
	}
	return append(tiles, v.accountTile())
}

func (v *probeView) accountTile() tile {
	a := v.Total()
	missing := int64(a.In) - int64(a.Matched+a.Lost+a.InFlight+a.Ambiguous+a.Evicted+a.Untimed)
	t := tile{Class: "good", What: "lost in the UPF", Figure: grouped(a.Lost), Unit: "packets", More: "of " + grouped(a.In) + ", all of them accounted for"}
	if a.Untimed > 0 {
		t.More = "of " + grouped(a.Timed()) + " that are timed; " + grouped(a.In) + " came in, all of them accounted for"
	}
	if missing != 0 {
		t.Class, t.More = "bad", fmt.Sprintf("of %s; %d not accounted for", grouped(a.In), missing)
	}
	if ratio := export.AmbiguousRatio(a); ratio > 0 {
		t.More += fmt.Sprintf("; %.2g %% ambiguous", 100*ratio)
	}
	return t
}
