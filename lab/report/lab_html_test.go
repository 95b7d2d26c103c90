package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// TestLabTable: every line fits, and every system, figure and reason is said.
func TestLabTable(t *testing.T) {
	var b bytes.Buffer
	if err := LabTable(&b, sampleLab(t)); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > TableColumns {
			t.Errorf("%d columns, want %d at most: %s", n, TableColumns, line)
		}
	}
	for _, want := range []string{
		"throughput at loss 0, kpps", "throughput at loss 0.5 %", "sample upf", "absentd: not installed", "Cause 75", "of bed",
		"published by others", "p99.99", "0 misdelivered",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
}

// TestLabTableFigures: what the table says of a cell is what the turns say.
func TestLabTableFigures(t *testing.T) {
	l := &Lab{
		Schema: LabSchema, Systems: []System{{Name: SystemBed}, {Name: "a"}, {Name: "b"}, {Name: "c"}},
		Plan: LabPlan{Methods: []string{"throughput"}, Cells: []LabCell{{Method: "throughput"}}, Repeats: 3},
	}
	for system, kpps := range map[string][]float64{SystemBed: {1000, 1000, 1000}, "a": {500, 510, 520}, "b": {300, 330, 360}, "c": {340, 350, 370}} {
		for i, v := range kpps {
			l.Turns = append(l.Turns, Turn{System: system, Repeat: i + 1, Figures: []Figure{{Name: "rate", Unit: "pps", Better: Higher, Value: v * 1e3}}})
		}
	}
	m := newLabView(l).methods()[0]
	var got [][]string
	for _, row := range m.grid(false).rows {
		got = append(got, []string{row[0], row[1], row[2], row[len(row)-1]})
	}
	want := [][]string{{"bed", "", "1000.0", ""}, {"a", "1", "510.0", "0.510"}, {"b", "2 to 3", "330.0", "0.330"}, {"c", "2 to 3", "350.0", "0.350"}}
	if !slices.EqualFunc(got, want, slices.Equal[[]string]) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestLabTableParts: cells that measure different things have tables of their own, with no
// row or column in which nothing stands.
func TestLabTableParts(t *testing.T) {
	l := &Lab{
		Schema: LabSchema, Systems: []System{{Name: SystemBed}, {Name: "a"}},
		Plan: LabPlan{Methods: []string{"recovery"}, Cells: []LabCell{{Method: "recovery", Load: "overload"}, {Method: "recovery", Load: "reset"}}, Repeats: 1},
	}
	for cell, figure := range []string{"recovery after overload", "outage"} {
		for _, system := range []string{SystemBed, "a"} {
			l.Turns = append(l.Turns, Turn{Cell: cell, System: system, Repeat: 1, Figures: []Figure{{Name: figure, Unit: "ns", Better: Lower, Value: 2e6}}})
		}
	}
	m := newLabView(l).methods()[0]
	var got [][]string
	for _, p := range m.parts() {
		g := p.grid(false)
		got = append(got, []string{g.columns[len(g.columns)-1].group})
		got = append(got, g.rows...)
	}
	want := [][]string{
		{"recovery after overload, µs"}, {"overload", "bed", "2000.0"}, {"", "a", "2000.0"},
		{"outage, µs"}, {"reset", "bed", "2000.0"}, {"", "a", "2000.0"},
	}
	if !slices.EqualFunc(got, want, slices.Equal[[]string]) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestGridPart: a part of a wide table has no row without a figure, and what stood once for
// several rows stands in the first of them that is left.
func TestGridPart(t *testing.T) {
	g := &grid{columns: []column{{"", "way", left}, {"", "system", left}, {"", "x", bar}, {"", "y", bar}}}
	g.add("uplink", "bed", "1", "")
	g.add("", "a", "2", "3")
	g.add("", "failed", "", "")
	g.add("downlink", "bed", "4", "")
	g.add("", "a", "5", "6")
	want := [][]string{{"uplink", "a", "3"}, {"", "failed", ""}, {"downlink", "a", "6"}}
	if got := g.part(2, 3, 4).rows; !slices.EqualFunc(got, want, slices.Equal[[]string]) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestSides: a campaign is shown as comparisons of UPFs show it, with the lines that
// others published.
func TestSides(t *testing.T) {
	l := &Lab{
		Schema: LabSchema, Host: Host{CPUs: 1}, Systems: []System{{Name: SystemBed, Version: "v0"}, {Name: "a", Version: "v1"}},
		Plan: LabPlan{Methods: []string{"campaign"}, Repeats: 1},
	}
	figures := func(scale float64) []Figure {
		return []Figure{
			{Name: "Tx", Unit: "bit/s", Value: 10e9 * scale}, {Name: "Rx", Unit: "bit/s", Better: Higher, Value: 9e9 * scale},
			{Name: "Tx frames", Unit: "pps", Value: 900e3 * scale}, {Name: "Rx frames", Unit: "pps", Better: Higher, Value: 810e3 * scale},
			{Name: "loss", Unit: "ratio", Better: Lower, Value: 0.1}, {Name: "CPU of the process", Unit: "percent", Value: 50},
		}
	}
	for i, d := range Directions {
		cell := LabCell{Method: "campaign", Direction: d, Sessions: 1, Frames: "1446", Load: "max"}
		l.Plan.Cells = append(l.Plan.Cells, cell)
		for j, s := range l.Systems {
			l.Turns = append(l.Turns, Turn{Cell: i, System: s.Name, Repeat: 1, Figures: figures(1 / float64(1+i+j))})
		}
		l.References = append(l.References, Reference{System: "other", Version: "v9", Source: "made up", Cell: cell, Figures: figures(0.1)[:5]})
	}
	want := [][]string{
		{"bed", "v0", "10.000", "9.000", "900.0", "810.0", "10", "50", "5.000", "4.500", "450.0", "405.0", "10", "50"},
		{"a", "v1", "5.000", "4.500", "450.0", "405.0", "10", "50", "3.333", "3.000", "300.0", "270.0", "10", "50"},
		{"other †", "v9", "1.000", "0.900", "90.0", "81.0", "10", "", "1.000", "0.900", "90.0", "81.0", "10", ""},
	}
	if got := newLabView(l).methods()[0].sides().rows; !slices.EqualFunc(got, want, slices.Equal[[]string]) {
		t.Errorf("got %q, want %q", got, want)
	}
	if v := newLabView(l); v.referencesGrid() != nil || v.sidesNote() == "" {
		t.Error("what is in the table of both sides is in another one, or has no note")
	}
	l.References[0].Cell.Method = "latency"
	if g := newLabView(l).referencesGrid(); g == nil || len(g.rows) != 5 {
		t.Errorf("got %+v, want the figures of the reference that is in no other table", g)
	}
	l.References[0].Cell.Method = "campaign"
	for i := range l.Turns { // both directions at once
		for j := range l.Turns[i].Figures {
			f := &l.Turns[i].Figures[j]
			f.Name = string(l.Plan.Cells[l.Turns[i].Cell].Direction) + " " + f.Name
		}
	}
	l.Turns[0].Figures, l.Turns[1].Figures = append(l.Turns[0].Figures, l.Turns[2].Figures...), append(l.Turns[1].Figures, l.Turns[3].Figures...)
	l.Turns, l.Plan.Cells = l.Turns[:2], l.Plan.Cells[:1]
	l.Plan.Cells[0].Direction = ""
	if got := newLabView(l).methods()[0].sides().rows; !slices.EqualFunc(got, want, slices.Equal[[]string]) {
		t.Errorf("both at once: got %q, want %q", got, want)
	}
	if !strings.Contains(labPageOf(t, l), `<tr class="reference">`) {
		t.Error("no line of others in the page")
	}
}

func labPageOf(t *testing.T, l *Lab) string {
	t.Helper()
	var b bytes.Buffer
	if err := LabHTML(&b, l); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestLabHTMLEscapesAndLoadsNothing(t *testing.T) {
	l := sampleLab(t)
	evil := `"'><script>alert(1)</script><img src=x onerror=alert(1)>`
	l.Systems[1].Version, l.Systems[1].Configuration, l.Host.CommandLine = evil, evil, evil
	l.Systems[4].Name, l.Plan.Cells[0].Frames, l.References[0].Source = evil, evil, evil
	for i := range l.Turns {
		if l.Turns[i].System == "sample upf" {
			l.Turns[i].System = evil
		}
	}
	if err := l.Validate(); err != nil {
		t.Fatal(err)
	}
	var picture bytes.Buffer
	if err := LabSVG(&picture, l); err != nil {
		t.Fatal(err)
	}
	page := labPageOf(t, l) + strings.ReplaceAll(picture.String(), `xmlns="http://www.w3.org/2000/svg"`, "")
	for _, bad := range []string{"<script", "<img", "http://", "https://", "url(", "@import", "ZgotmplZ"} {
		if strings.Contains(page, bad) {
			t.Errorf("page contains %q", bad)
		}
	}
}

// TestLabSVGKey wants the names of many systems within the picture, none over another.
func TestLabSVGKey(t *testing.T) {
	l := sampleLab(t)
	for i := len(l.Systems); i < maxSystems; i++ {
		l.Systems = append(l.Systems, System{Name: fmt.Sprintf("another system %d", i)})
	}
	var picture bytes.Buffer
	if err := errors.Join(l.Validate(), LabSVG(&picture, l)); err != nil {
		t.Fatal(err)
	}
	end, line, seen := 0.0, "", 0
	for _, m := range regexp.MustCompile(`<text x="([0-9.]+)" y="([0-9.]+)" dx="17" dy="10">([^<]*)<`).FindAllStringSubmatch(picture.String(), -1) {
		x, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		if seen++; m[2] == line && x < end {
			t.Errorf("%s begins at %g: the one before ends at %g", m[3], x, end)
		}
		end, line = x+17+chartNames*float64(len(m[3])), m[2]
		if most := 2*svgMargin + svgColumns*chartWidth + (svgColumns-1)*svgGap; end > most {
			t.Errorf("%s ends at %g: the picture is %g wide", m[3], end, most)
		}
	}
	if want := len(newLabView(l).key()); seen != want {
		t.Errorf("%d systems in the key: want %d", seen, want)
	}
}

// TestLabHTMLStructure reads the page as a browser does.
func TestLabHTMLStructure(t *testing.T) {
	page := labPageOf(t, sampleLab(t))
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(page, "NaN") + strings.Count(page, "Inf"); n > 0 {
		t.Errorf("%d values that are no numbers", n)
	}
	count := map[string]int{}
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode {
			count[n.Data]++
			count[n.Data+"."+attribute(n, "class")]++
			count["#"+attribute(n, "id")]++
		}
	}
	// Charts: two figures each of 2 directions and 2 frames, and one more on demand with
	// the loss of 12 searches; latency 2 and 8; loss 1; n4 1.
	charts := 8 + 4 + 12 + 2 + 8 + 1 + 1
	for what, want := range map[string]int{
		"figure.chart": charts, "#throughput": 1, "#latency": 1, "#loss": 1, "#n4": 1, "#systems": 1, "#references": 1,
		"h1": 1, "script": 0, "link": 0, "img": 0, "details": 3 + 1 + 4,
	} {
		if count[what] != want {
			t.Errorf("%s: got %d, want %d", what, count[what], want)
		}
	}
	if got := count["table"]; got != 4+2 {
		t.Errorf("tables: got %d, want one of each method, systems, references", got)
	}
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// TestLabShowsAnything: results with little in them can be shown.
func TestLabShowsAnything(t *testing.T) {
	bare := func() *Lab {
		return &Lab{Schema: LabSchema, Host: Host{CPUs: 1}, Systems: []System{{Name: SystemBed}}, Plan: LabPlan{Repeats: 1}}
	}
	failed := bare()
	failed.Plan.Methods, failed.Plan.Cells = []string{"throughput"}, []LabCell{{Method: "throughput"}}
	failed.Turns = []Turn{{System: SystemBed, Repeat: 1, Failed: "no reason"}}
	zero := bare()
	zero.Plan = failed.Plan
	zero.Turns = []Turn{{System: SystemBed, Repeat: 1, Figures: []Figure{{Name: "n", Better: Higher}, {Name: "m", Unit: "pps", Better: Higher, Value: -1}}}}
	many := sampleLab(t)
	for i := range maxSystems - len(many.Systems) {
		many.Systems = append(many.Systems, System{Name: fmt.Sprint("system ", strings.Repeat("x", i*5))})
	}
	for name, l := range map[string]*Lab{"bare": bare(), "failed": failed, "zero": zero, "many systems": many} {
		if err := errors.Join(l.Validate(), LabTable(io.Discard, l), LabHTML(io.Discard, l), LabSVG(io.Discard, l)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
