package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"slices"
	"strconv"
)

//go:embed drawing.html
var drawingHTML string

//go:embed page.css
var pageCSS string

// pageTemplate is what pages have in common. It escapes everything that comes from a result.
var pageTemplate = template.Must(template.New("drawing").Funcs(template.FuncMap{
	"chartWidth": func() int { return chartWidth },
	"px":         func(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) },
}).Parse(drawingHTML))

type tile struct{ Class, What, Figure, Unit, More string }

func (r trialList) correctnessTile() tile {
	received, wrong := uint64(0), r.wrong()
	for i := range r {
		received += r[i].ReceivedFrames
	}
	class := "good"
	if wrong > 0 {
		class = "bad"
	}
	return tile{Class: class, What: "wrong, double, disordered", Figure: grouped(wrong), Unit: "frames", More: "of " + count(received, "frame")}
}

// wrong is how many frames were wrong, double or out of order.
func (r trialList) wrong() uint64 {
	wrong := uint64(0)
	for i := range r {
		t := &r[i]
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
		if slices.Contains(cells, SystemBed) {
			row.Class += " bedrow"
		}
		for i, cell := range cells {
			row.Cells = append(row.Cells, pageCell{cell, g.columns[i].flags&left != 0})
		}
		p.Rows = append(p.Rows, row)
	}
	return p
}
