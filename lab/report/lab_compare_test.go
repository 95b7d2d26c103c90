package report

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// labOf is a result of one cell with one figure of a system and the bed.
func labOf(f Figure, system, bed []float64) *Lab {
	l := &Lab{
		Schema: LabSchema, Host: Host{CPUs: 1}, Systems: []System{{Name: SystemBed}, {Name: "a"}},
		Plan: LabPlan{Methods: []string{"throughput"}, Cells: []LabCell{{Method: "throughput", Direction: Uplink}}, Repeats: max(1, len(system), len(bed))},
	}
	for name, values := range map[string][]float64{"a": system, SystemBed: bed} {
		for i, v := range values {
			f.Value = v
			l.Turns = append(l.Turns, Turn{System: name, Repeat: i + 1, Figures: []Figure{f}})
		}
	}
	return l
}

func TestCompareVerdicts(t *testing.T) {
	rate, time := Figure{Name: "rate", Unit: "pps", Better: Higher}, Figure{Name: "time", Unit: "ns", Better: Lower}
	for _, tc := range []struct {
		name   string
		figure Figure
		a, b   []float64
		want   Verdict
	}{
		{"lower rate", rate, []float64{100, 101, 102}, []float64{80, 81, 82}, Worse},
		{"higher rate", rate, []float64{100, 101, 102}, []float64{120, 121, 122}, Improved},
		{"longer", time, []float64{100, 101, 102}, []float64{120, 121, 122}, Worse},
		{"shorter", time, []float64{100, 101, 102}, []float64{80, 81, 82}, Improved},
		{"no different", rate, []float64{100, 101, 102}, []float64{100, 101, 101.5}, Same},
		{"a little slower", rate, []float64{100, 100.1, 100.2}, []float64{94.8, 96, 96.2}, Slight},
		{"scattered", rate, []float64{80, 100, 120}, []float64{70, 90, 110}, Untold},
		{"twice each", rate, []float64{100, 101}, []float64{50, 51}, Untold},
		{"once each", rate, []float64{100}, []float64{50}, Untold},
		{"neither is better", Figure{Name: "n", Unit: "frames"}, []float64{100, 101, 102}, []float64{50, 51, 52}, Changed},
		{"loss that was none", Figure{Name: "loss", Unit: "ratio", Better: Lower}, []float64{0, 0, 0}, []float64{.1, .2, .3}, Worse},
		{"loss that is none", Figure{Name: "loss", Unit: "ratio", Better: Lower}, []float64{.1, .2, .3}, []float64{0, 0, 0}, Improved},
		{"no loss", Figure{Name: "loss", Unit: "ratio", Better: Lower}, []float64{0, 0, 0}, []float64{0, 0, 0}, Same},
		{"below nothing", time, []float64{-3, -2, -1}, []float64{-3, -2, -1}, Untold},
	} {
		c, err := CompareLabs([]LabRun{{"a", labOf(tc.figure, tc.a, nil)}, {"b", labOf(tc.figure, tc.b, nil)}}, CompareOptions{Threshold: 0.05})
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		if got := c.Rows[0].Changes[1]; got.Verdict != tc.want {
			t.Errorf("%s: got %+v, want %s", tc.name, got, tc.want)
		}
		if got, want := len(c.Regressions()) > 0, tc.want == Worse; got != want {
			t.Errorf("%s: regression: got %v, want %v", tc.name, got, want)
		}
		if err := errors.Join(LabComparisonTable(io.Discard, c, true), LabComparisonHTML(io.Discard, c)); err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

// TestCompareBounds: what a search left open keeps a difference from being told.
func TestCompareBounds(t *testing.T) {
	f := Figure{Name: "rate", Unit: "pps", Better: Higher}
	a, b := labOf(f, []float64{100, 100, 100}, nil), labOf(f, []float64{90, 90, 90}, nil)
	for i := range b.Turns {
		b.Turns[i].Figures[0].Low, b.Turns[i].Figures[0].High = 90, 101
	}
	c, err := CompareLabs([]LabRun{{"a", a}, {"b", b}}, CompareOptions{Threshold: 0.05})
	if err != nil {
		t.Fatal(err)
	}
	d := c.Rows[0].Changes[1]
	if d.Verdict != Untold || d.Low != 0.9 || math.Abs(d.High-1.01) > 1e-9 {
		t.Errorf("got %+v, want 0.9 to 1.01, not told", d)
	}
}

// TestCompareShares: a slower machine makes no regression of shares of the bed, and is
// said where rates are compared.
func TestCompareShares(t *testing.T) {
	f := Figure{Name: "rate", Unit: "pps", Better: Higher}
	runs := []LabRun{{"fast", labOf(f, []float64{50, 51, 52}, []float64{100, 102, 104})}, {"slow", labOf(f, []float64{25, 25.5, 26}, []float64{50, 51, 52})}}
	for shares, want := range map[bool]int{false: 1, true: 0} {
		c, err := CompareLabs(runs, CompareOptions{Threshold: 0.05, Shares: shares})
		if err != nil {
			t.Fatal(err)
		}
		if got := len(c.Regressions()); got != want {
			t.Errorf("shares %v: got %d regressions, want %d: %+v", shares, got, want, c.Rows)
		}
		var b bytes.Buffer
		if err := LabComparisonTable(&b, c, false); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), "the bed itself carried more or less") {
			t.Errorf("shares %v: nothing of the bed in\n%s", shares, &b)
		}
	}
}

// TestCompareMissing: what failed is a regression, what was not asked for is none.
func TestCompareMissing(t *testing.T) {
	f := Figure{Name: "rate", Unit: "pps", Better: Higher}
	base := labOf(f, []float64{50, 51, 52}, []float64{100, 101, 102})
	failed := labOf(f, nil, []float64{100, 101, 102})
	failed.Turns = append(failed.Turns, Turn{System: "a", Repeat: 1, Failed: "it did not start"})
	absent := labOf(f, nil, []float64{100, 101, 102})
	absent.Systems = absent.Systems[:1]
	for name, tc := range map[string]struct {
		later *Lab
		want  Verdict
	}{"failed": {failed, FailedNow}, "not asked for": {absent, Elsewhere}} {
		c, err := CompareLabs([]LabRun{{"base", base}, {name, tc.later}}, CompareOptions{Threshold: 0.05})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range c.Rows {
			if r.System == "a" && (r.Changes[1].Verdict != tc.want || (len(c.Regressions()) == 1) != (tc.want == FailedNow)) {
				t.Errorf("%s: got %+v, %d regressions, want %s", name, r.Changes[1], len(c.Regressions()), tc.want)
			}
		}
	}
	other := labOf(Figure{Name: "else"}, []float64{1}, []float64{1})
	if _, err := CompareLabs([]LabRun{{"base", base}, {"other", other}}, CompareOptions{Threshold: 0.05}); !errors.Is(err, ErrNothingShared) {
		t.Errorf("got %v, want %v", err, ErrNothingShared)
	}
}

// TestCompareSamples compares whole results, three of them, in both forms.
func TestCompareSamples(t *testing.T) {
	slower := sampleLab(t)
	for i := range slower.Turns {
		if slower.Turns[i].System != "plumbline tc" {
			continue
		}
		for j := range slower.Turns[i].Figures {
			f := &slower.Turns[i].Figures[j]
			f.Value, f.Low, f.High = f.Value*0.7, f.Low*0.7, f.High*0.7
		}
	}
	slower.Systems[2].Version, slower.Host.Kernel = "v0.0.1-sample", "0.0.1"
	c, err := CompareLabs([]LabRun{{"a.json", sampleLab(t)}, {"b.json", slower}, {"c.json", sampleLab(t)}}, CompareOptions{Threshold: 0.05})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range c.Regressions() {
		if r.System != "plumbline tc" || r.Better != Higher || r.Changes[1].Verdict != Worse || r.Changes[2].Verdict == Worse {
			t.Errorf("got a regression of %s: %+v", r.System, r)
		}
	}
	if got, want := len(c.Regressions()), 2*12; got != want {
		t.Errorf("got %d regressions, want both throughputs in 12 cells", got)
	}
	var table, page bytes.Buffer
	if err := errors.Join(LabComparisonTable(&table, c, false), LabComparisonHTML(&page, c)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"-30.0 %", "plumbline tc v0.0.1-sample, was v0.0.0-sample", "kernel 0.0.1, was 0.0.0", "24 worse"} {
		if !strings.Contains(unbroken(table.String()), want) {
			t.Errorf("no %q in\n%s", want, &table)
		}
	}
	doc, err := html.Parse(&page)
	if err != nil {
		t.Fatal(err)
	}
	charts, bad := 0, 0
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode && n.Data == "figure" {
			charts++
		}
		if n.Type == html.ElementNode && n.Data == "tr" && attribute(n, "class") == "bad" {
			bad++
		}
	}
	if charts == 0 || bad != 2*24 {
		t.Errorf("got %d charts, %d rows marked bad, want charts and %d", charts, bad, 2*24)
	}
}
