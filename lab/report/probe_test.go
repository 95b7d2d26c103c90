package report

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/probe/export"
)

func written(t *testing.T, write func(*bytes.Buffer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestProbeRoundTrip: what is read is what was written.
func TestProbeRoundTrip(t *testing.T) {
	p := sampleProbe(t, 5)
	text := written(t, func(b *bytes.Buffer) error { return WriteProbe(b, p) })
	back, err := ReadProbe(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	p.N4.Messages[0].Delays = nil // not of the file
	if diff := cmp.Diff(p, back); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestProbeTable(t *testing.T) {
	table := written(t, func(b *bytes.Buffer) error { return ProbeTable(b, sampleProbe(t, 5)) })
	for _, want := range []string{
		"delay in upf1, upf2, 5s", "embb", "withheld", "33.33 %", "Session Establishment Request",
		"in 6,675 = matched 6,600 + lost 25 + in flight 0 + ambiguous 50 + evicted 0", "N3 in  n3 in upf, ingress",
		"missing: N4: no such device", "samples      1,200 written, 3 lost",
	} {
		if !strings.Contains(unbroken(table), unbroken(want)) {
			t.Errorf("no %q in\n%s", want, table)
		}
	}
	for _, line := range strings.Split(table, "\n") {
		if n := utf8.RuneCountInString(line); n > TableColumns+1 {
			t.Errorf("%d columns, want %d at most: %s", n, TableColumns, line)
		}
	}
}

// TestProbeN4: where N4 is seen, and that no device for it was found.
func TestProbeN4(t *testing.T) {
	for _, tc := range []struct {
		name   string
		points []export.N4Point
		want   string
	}{
		{"a device", sampleProbe(t, 5).N4.Points, "N4 1,040 messages at n4, 0 malformed, 1 that answer nothing seen,"},
		{"no device", nil, "N4 no N4 device was found: no message was seen, and no session's slice learnt"},
	} {
		p := sampleProbe(t, 5)
		p.N4.Points, p.N4.Messages = tc.points, nil
		if tc.points == nil {
			p.N4.Sessions = 0
		}
		table := written(t, func(b *bytes.Buffer) error { return ProbeTable(b, p) })
		page := written(t, func(b *bytes.Buffer) error { return ProbeHTML(b, p) })
		if !strings.Contains(unbroken(table), unbroken(tc.want)) {
			t.Errorf("%s: no %q in\n%s", tc.name, tc.want, table)
		}
		if got := strings.Contains(page, "No N4 device was found"); got != (tc.points == nil) {
			t.Errorf("%s: the page says that no N4 device was found: %t", tc.name, got)
		}
	}
}

// TestProbePage: the page has all series, both kinds of charts, and nothing of a name
// gets out of its text.
func TestProbePage(t *testing.T) {
	p := sampleProbe(t, 20)
	p.Series[0].Slice = `<script>alert("x")</script>`
	page := written(t, func(b *bytes.Buffer) error { return ProbeHTML(b, p) })
	for _, want := range []string{
		"How long packets stay in 2 UPFs", "distribution of the delay", "99th percentile over time", "delay over time", "path class=\"heat h7 s1\"",
		"could not be told apart", "Session Establishment Request", "&lt;script&gt;alert", "all of them accounted for",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in the page", want)
		}
	}
	for _, bad := range []string{"<script", "http://", "https://", "NaN", "Inf"} {
		if strings.Contains(page, bad) {
			t.Errorf("%q in the page", bad)
		}
	}
	picture := written(t, func(b *bytes.Buffer) error { return ProbeSVG(b, p) })
	if !strings.HasPrefix(picture, "<svg xmlns") || !strings.Contains(picture, "path.heat") {
		t.Errorf("got %.200s, want a picture", picture)
	}
}

// TestProbeTimed: what is of a part of the packets says so, and the account has the others.
func TestProbeTimed(t *testing.T) {
	p := sampleProbe(t, 5)
	all := written(t, func(b *bytes.Buffer) error { return ProbeTable(b, p) })
	p.Settings.Timed = 16
	for i := range p.Series {
		s := &p.Series[i]
		s.Untimed, s.UntimedOctets = 15*s.In, 15*s.Octets
		s.In += s.Untimed
	}
	part := written(t, func(b *bytes.Buffer) error { return ProbeTable(b, p) })
	page := written(t, func(b *bytes.Buffer) error { return ProbeHTML(b, p) })
	for _, want := range []string{"1/16 of the packets timed", "untimed", "of 1/16, µs"} {
		if strings.Contains(all, want) || !strings.Contains(part, want) || !strings.Contains(page, want) {
			t.Errorf("%q: want it in the table and on the page of a part, and nowhere else:\n%s", want, part)
		}
	}
	if !strings.Contains(page, "that are timed") || !strings.Contains(page, "all of them accounted for") {
		t.Error("the page does not say what the losses are of")
	}
	if got, want := export.AmbiguousRatio(p.Total()), export.AmbiguousRatio(sampleProbe(t, 5).Total()); got != want {
		t.Errorf("%v of the timed packets are ambiguous, want %v", got, want)
	}
}

// TestProbeNothing: a run without packets, or without UPFs, is shown as well.
func TestProbeNothing(t *testing.T) {
	for name, p := range map[string]*Probe{"no packets": sampleProbe(t, 0), "nothing": {Result: sampleProbe(t, 0).Result}} {
		if name == "nothing" {
			p.UPFs, p.Series, p.Points, p.N4, p.Samples = nil, nil, nil, nil, nil
		}
		if page := written(t, func(b *bytes.Buffer) error { return ProbeHTML(b, p) }); strings.Contains(page, "NaN") {
			t.Errorf("%s: NaN in the page", name)
		}
		written(t, func(b *bytes.Buffer) error { return ProbeTable(b, p) })
		written(t, func(b *bytes.Buffer) error { return ProbeSVG(b, p) })
	}
}

func TestProbeHgrm(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "delays")
	if err := ProbeHgrm(directory, sampleProbe(t, 5)); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
	}
	want := []string{"000-upf1-embb-uplink.hgrm", "001-upf1-embb-downlink.hgrm", "002-upf1-urllc-uplink.hgrm",
		"003-upf1-urllc-downlink.hgrm", "005-upf2-mmtc-uplink.hgrm"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("want all but the withheld one (-want +got):\n%s", diff)
	}
	text, err := os.ReadFile(filepath.Join(directory, want[0]))
	if err != nil || !strings.Contains(string(text), "Total count    =         2000") {
		t.Errorf("got %s, %v", text, err)
	}
}

func TestProbeInvalid(t *testing.T) {
	for name, spoil := range map[string]func(*Probe){
		"schema":    func(p *Probe) { p.Schema = "plumbline.probe/9" },
		"control":   func(p *Probe) { p.Series[0].Slice = "a\x1b[2J" },
		"histogram": func(p *Probe) { p.Series[0].Histogram = "AAAA" },
		"series":    func(p *Probe) { p.Timeline.Columns[0].Cells[0].Series = 99 },
		"bin":       func(p *Probe) { p.Timeline.Columns[0].Cells[0].Bins = [][2]uint64{{1 << 40, 1}} },
		"time":      func(p *Probe) { p.Timeline.Columns[0].DurationNS = -1 },
		"delay":     func(p *Probe) { p.Series[0].DelayNS.Max = -1 },
	} {
		p := sampleProbe(t, 2)
		spoil(p)
		if err := p.Validate(); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: got %v, want %v", name, err, ErrInvalid)
		}
	}
}

// FuzzProbe: whatever a file has, it is refused, or can be shown.
func FuzzProbe(f *testing.F) {
	var b bytes.Buffer
	if err := WriteProbe(&b, sampleProbe(f, 2)); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte(`{"schema": "plumbline.probe/1", "host": {"cpus": 1}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		p, err := ReadProbe(bytes.NewReader(in))
		if err != nil {
			return
		}
		var page bytes.Buffer
		if err := errors.Join(ProbeHTML(&page, p), ProbeTable(&page, p), ProbeSVG(&page, p)); err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(page.Bytes(), []byte("NaN")) && !bytes.Contains(in, []byte("NaN")) {
			t.Errorf("NaN is shown of %s", in)
		}
	})
}
