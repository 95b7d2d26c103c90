package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
)

//go:embed lab.html
var labHTML string

//go:embed lab.css
var labCSS string

var labTemplate = template.Must(template.Must(pageTemplate.Clone()).New("lab").Parse(labHTML))

// labPage is what the template shows, in its order.
type labPage struct {
	Title, Heading, When string
	Unfinished           string
	Style                template.CSS
	Tiles                []tile
	Key                  []keyEntry
	Sections             []labSection
	References           *labReferences
	Systems              pageGrid
	Notes, Host          []note
	Arrangement, Command string
	Configurations       []note
	Schema               string
}

// keyEntry is a system and its colour.
type keyEntry struct{ Class, Name, Version string }

// labSection is a method.
type labSection struct {
	Name, Heading, Sub string
	Charts, More       []*chart
	Sides              *pageGrid // both directions of each system beside each other; nil: there are none
	Grids              []pageGrid
	Folded             bool // the grids are long, and charts stand for them
}

type labReferences struct {
	Grid   *pageGrid // nil: all are in tables above
	Marked bool      // some are
	From   []string
}

// LabHTML writes l as one page that loads nothing else: what is best, charts and
// tables of each method, the systems, and what the figures belong to.
func LabHTML(w io.Writer, l *Lab) error {
	if err := labTemplate.Execute(w, newLabPage(newLabView(l))); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	return nil
}

func newLabPage(v *labView) *labPage {
	p := &labPage{
		Title: v.title(), Heading: v.heading(), When: v.when(), Style: template.CSS(pageCSS + labCSS), Tiles: v.tiles(), Key: v.key(),
		Systems: v.systemsGrid().page(), Notes: v.resultNotes(), Host: v.Host.notes(),
		Arrangement: v.Plan.Arrangement, Command: v.Host.CommandLine, Schema: v.Schema,
	}
	if v.Finished == nil {
		p.Unfinished = titled(v.progress()) + "."
	}
	room := maxCharts
	for _, m := range v.methods() {
		s := m.section(room)
		room -= len(s.Charts) + len(s.More)
		p.Sections = append(p.Sections, s)
	}
	if len(v.References) > 0 {
		p.References = &labReferences{Marked: v.marked(), From: v.publications()}
		if g := v.referencesGrid(); g != nil {
			page := g.page()
			p.References.Grid = &page
		}
	}
	for _, s := range v.Systems {
		if s.Configuration != "" {
			p.Configurations = append(p.Configurations, note{s.Name, s.Configuration})
		}
	}
	return p
}

// longGrid is from how many rows on a table is folded if there are charts.
const longGrid = 24

// section draws no more charts than there is room for.
func (m *methodView) section(room int) labSection {
	s := labSection{Name: m.name, Heading: titled(m.name), Sub: m.sub()}
	rows := 0
	for _, p := range m.parts() {
		g := p.grid(true)
		rows += len(g.rows)
		s.Grids = append(s.Grids, p.pageOf(g))
	}
	s.Charts, s.More = m.charts()
	s.Charts = s.Charts[:min(len(s.Charts), room)]
	s.More = s.More[:min(len(s.More), room-len(s.Charts))]
	if sides := m.sides(); sides != nil {
		page := sides.page()
		for i := range page.Rows {
			page.Rows[i].Class = m.sideClass(sides.rows[i])
		}
		s.Sides = &page
	}
	s.Folded = s.Sides != nil || len(s.Charts) > 0 && rows > longGrid
	return s
}

// sideClass tells the lines of the bed and of others apart.
func (m *methodView) sideClass(row []string) string {
	for _, cell := range row {
		switch {
		case isBed(cell):
			return "bedrow"
		case strings.HasSuffix(cell, referenceMark):
			return "reference"
		}
	}
	return ""
}

// pageOf is a grid with the rows of the bed told apart.
func (m *methodView) pageOf(g *grid) pageGrid {
	p := g.page()
	for i := range p.Rows {
		p.Rows[i].Class = ""
		if isBed(g.rows[i][len(m.axes)]) {
			p.Rows[i].Class = "bedrow"
		}
		if i > 0 && len(m.axes) > 0 && g.rows[i][0] != "" {
			p.Rows[i].Class += " first"
		}
	}
	return p
}

// methodTexts say what a method does, in a sentence.
var methodTexts = map[string]string{
	"share":       "Frames received at the highest load, or at a given rate.",
	"tcp":         "One TCP connection of a UE through the system (iperf3).",
	"throughput":  "The highest rates that lose no more than the goals allow, by MLRsearch (RFC 9971).",
	"latency":     "One-way, from each frame's intended send time to its arrival at the meter, at parts of each system's own throughput.",
	"loss":        "Frames that did not arrive, at rates that fall in steps (RFC 2544, 26.3).",
	"campaign":    "One length of frames, at the highest rate and at loads of each system's own: what was sent, what arrived, and what it cost.",
	"backtoback":  "The longest burst at the highest rate that is forwarded without loss (RFC 9004).",
	"soak":        "One rate for long.",
	"plrsearch":   "The load of which a given part is lost on average (PLRsearch).",
	"recovery":    "How long frames are lost after overload and after a restart (RFC 2544, 26.5 and 26.6).",
	"isolation":   "What an overloaded slice does to the others.",
	"n4":          "PFCP requests at given rates; response times count from the intended send time.",
	"correctness": "How far a system is from what its rules say.",
}

func (m *methodView) sub() string {
	text := methodTexts[m.name]
	if c := m.constants(); c != "" {
		text = strings.TrimSpace(text + " " + titled(c) + ".")
	}
	return text
}

func (v *labView) heading() string {
	systems := 0
	for _, s := range v.Systems {
		if !isBed(s.Name) && s.Missing == "" {
			systems++
		}
	}
	beside := " beside the limit of the bed"
	if v.System(SystemBed) == nil {
		beside = "" // of a UPF elsewhere nobody knows what its links carry
	}
	switch {
	case systems == 0:
		return "What the test bed can carry"
	case systems == 1:
		return "One UPF" + beside
	}
	return fmt.Sprintf("%d UPFs%s", systems, beside)
}

func (v *labView) when() string {
	text := v.Started.UTC().Format("2 January 2006, 15:04 UTC")
	if took := v.took(); took != "" {
		text += ", took " + took
	}
	return text
}

func (v *labView) key() []keyEntry {
	var key []keyEntry
	for _, s := range v.Systems {
		if s.Missing == "" || v.hasTurns(s.Name) {
			key = append(key, keyEntry{v.class(s.Name), s.Name, s.Version})
		}
	}
	return key
}

func (v *labView) hasTurns(system string) bool {
	return slices.ContainsFunc(v.Turns, func(t Turn) bool { return t.System == system })
}

// tiles are the best of the last method's main figures, for which those before it were measured, and
// of share, in the last cell of each direction, and whether all frames were right.
func (v *labView) tiles() []tile {
	var tiles []tile
	for _, m := range v.tileParts() {
		last := map[Direction]int{}
		for _, cell := range m.cells {
			if first, seen := last[m.cell(cell).Direction]; !seen || m.cell(cell).Frames == m.cell(first).Frames {
				last[m.cell(cell).Direction] = cell
			}
		}
		for _, d := range append(slices.Clone(Directions), "") {
			if cell, ok := last[d]; ok {
				tiles = append(tiles, m.tilesOf(cell)...)
			}
		}
	}
	if r := v.trialsOf(""); len(r) > 0 {
		tiles = append(tiles, r.correctnessTile())
	}
	return tiles
}

// tileParts are those of share, which is measured for its own sake, and of the last method.
func (v *labView) tileParts() (parts []*methodView) {
	methods := v.methods()
	for i, m := range methods {
		if m.name == "share" && i < len(methods)-1 {
			parts = append(parts, m.parts()...)
		}
	}
	return append(parts, v.lastParts()...)
}

// lastParts are those of the last method.
func (v *labView) lastParts() []*methodView {
	methods := v.methods()
	if len(methods) == 0 {
		return nil
	}
	return methods[len(methods)-1].parts()
}

// tilesOf has one tile: the system with the best median, and whom it is not told apart
// from.
func (m *methodView) tilesOf(cell int) []tile {
	f := m.main()
	if f == nil {
		return nil
	}
	best, with := "", Estimate{}
	systems := m.systemsOf(cell)
	for _, name := range systems {
		e := m.figure(cell, name, f.name)
		if isBed(name) || e.Repeats == 0 {
			continue
		}
		if best == "" || f.better == Higher && e.Median > with.Median || f.better == Lower && e.Median < with.Median {
			best, with = name, e
		}
	}
	if best == "" {
		return nil
	}
	var close []string
	for _, name := range systems {
		if e := m.figure(cell, name, f.name); name != best && !isBed(name) && e.Repeats > 0 && with.Overlaps(e.Interval) {
			close = append(close, name)
		}
	}
	u := plotUnitOf(f.kept, f.span.low, f.span.high)
	more := best
	if len(close) > 0 {
		more += "; not told apart: " + strings.Join(close, ", ")
	}
	if share := m.share(cell, best, f.name); share.Repeats > 0 && m.sharesOf(f) {
		more = fmt.Sprintf("%s; %.0f %% of the bed", more, 100*share.Median)
	}
	what := strings.TrimSuffix(f.name+", "+m.cell(cell).words(m.axes), ", ")
	return []tile{{Class: m.class(best), What: what, Figure: u.text(with.Median), Unit: u.name, More: more}}
}
