package report

import (
	"bytes"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

func sampleDocument() *Document {
	line := Line{Name: "DL_TTI", Points: [][2]float64{{0, 1.2}, {50, 1.4}, {99, 2.5}, {99.9, math.Inf(1)}, {99.99, -3}}}
	return &Document{
		Heading: "A <heading>", Title: "what was done", When: "today", Warnings: []string{"not quite"}, Schema: "plumbline.test/1",
		Tiles: []Tile{{What: "ping", Figure: "5.2", Unit: "ms", More: "mean", Mood: Good}},
		Sections: []Section{{
			Heading: "Charts", Text: "text",
			Charts: []Chart{
				Curves{Title: "Lead time", X: "percentile", Y: "ms", XScale: Nines, YScale: Logarithmic, Lines: []Line{line, {Name: "TX_DATA", Points: line.Points, Dashed: true}}},
				Bars{Title: "Throughput", Axis: "Mbit/s", Unit: "Mbit/s", Groups: []BarGroup{{Name: "downlink", Bars: []Bar{
					{Name: "split", Value: 110, Low: 100, High: 120, Colour: 1}, {Name: "floor", Value: 124}, {Name: "broken", Value: math.NaN()},
				}}}},
				Curves{Title: "nothing"}, Bars{Title: "nothing"},
			},
			Tables: []Sheet{
				{Columns: []Column{{Name: "message", Text: true}, {Group: "delay, µs", Name: "p50"}, {Name: "p99"}}, Rows: [][]string{{"DL_TTI.request", "12", "30"}, {"short"}}},
				wideSheet(),
				{Title: "all of them", Folded: true, Columns: []Column{{Name: "n"}}, Rows: [][]string{{"1"}}},
			},
			Notes: []Note{{"clock", "on time"}},
		}},
		Host: &Host{CPUs: 2}, Command: "plumb nfapi demo",
	}
}

// wideSheet has as many columns as the widest table of a command, with figures of a long
// measurement.
func wideSheet() Sheet {
	s := Sheet{Columns: []Column{{Name: "requests", Text: true}}, Rows: [][]string{{"TX_DATA.request"}}}
	for i, name := range []string{"Mbit/s", "on time", "late", "early", "twice", "invalid", "unpaired", "min", "p1", "p50", "max", "p50", "p99", "max"} {
		c := Column{Name: name}
		switch i {
		case 7:
			c.Group = "lead µs"
		case 11:
			c.Group = "after SLOT.indication µs"
		}
		s.Columns, s.Rows[0] = append(s.Columns, c), append(s.Rows[0], "123456")
	}
	return s
}

// TestDocument reads the page as a browser does: all that was given is there, what is
// no number is not drawn, and nothing lies outside of the canvas.
func TestDocument(t *testing.T) {
	page := written(t, func(b *bytes.Buffer) error { return sampleDocument().WriteHTML(b) })
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	var text strings.Builder
	for n := range doc.Descendants() {
		if n.Type == html.TextNode {
			text.WriteString(n.Data + "\n")
		}
		if n.Type != html.ElementNode {
			continue
		}
		count[n.Data]++
		count[n.Data+"."+attribute(n, "class")]++
		for _, name := range []string{"x", "x1", "x2", "cx", "y", "cy"} {
			if v := attribute(n, name); v != "" {
				if f, err := strconv.ParseFloat(v, 64); err != nil || f < 0 || f > chartWidth {
					t.Errorf("%s at %s=%s", n.Data, name, v)
				}
			}
		}
	}
	for what, want := range map[string]int{
		"figure": 2, "path.s1": 1, "path.s2 dashed": 1, "rect.s1": 1, "table": 3, "details": 1, "script": 0, "link": 0, "div.tile good": 1,
		"circle.s1": 4, "th.group": 2 + 3 + 1,
	} {
		if count[what] != want {
			t.Errorf("%s: got %d, want %d", what, count[what], want)
		}
	}
	for _, want := range []string{"A <heading>", "what was done", "not quite", "5.2 ", "DL_TTI.request", "delay, µs", "all of them", "on time", "plumb nfapi demo", "plumbline.test/1"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in the page", want)
		}
	}
	if strings.Contains(page, "NaN") || strings.Contains(page, "Inf") {
		t.Error("values that are no numbers")
	}
	if err := (&Document{}).WriteHTML(io.Discard); err != nil {
		t.Errorf("of nothing: %v", err)
	}
}
