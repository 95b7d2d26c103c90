package report

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden compares what is written from each result with the files in
// testdata: table, JSON and page.
func TestGolden(t *testing.T) {
	results := map[string]*Result{"full": sample(), "single": single(), "sizes": sizes()}
	writers := map[string]func(io.Writer, *Result) error{"txt": Table, "json": Write, "html": HTML}
	for name, r := range results {
		for ext, write := range writers {
			t.Run(name+"."+ext, func(t *testing.T) {
				var got bytes.Buffer
				if err := write(&got, r); err != nil {
					t.Fatal(err)
				}
				compareGolden(t, filepath.Join("testdata", name+"."+ext), got.String())
			})
		}
	}
}

func compareGolden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got), rewrite with -update:\n%s", path, diff)
	}
}

// single is the smallest result: one direction, one trial at a given rate, one
// session, no paced trial.
func single() *Result {
	r := sample()
	r.Bed.Downlink = nil
	r.Bed.Uplink.Repeats = r.Bed.Uplink.Repeats[:1]
	t := r.Trials[0]
	t.Sessions, t.Access, t.XDPMode, t.IntendedPPS, t.CostNS = 1, "same", "", 1e5, nil
	r.Bed.Uplink.Repeats[0].Sessions = 1
	t.ReceivedPPS, t.BedRatio = 1e5, 1e5/r.Bed.Uplink.Repeats[0].ReceivedPPS
	r.Trials = []Trial{t}
	r.Program, r.Install.MapMemoryOctets, r.Setup.Repeats = nil, 0, 1
	return r
}

// sizes is a result with two session counts.
func sizes() *Result {
	small, r := sample(), sample()
	for _, d := range Directions {
		limit := small.Bed.Limit(d)
		for i := range limit.Repeats {
			limit.Repeats[i].Sessions = 1
		}
		r.Bed.Limit(d).Repeats = append(limit.Repeats, r.Bed.Limit(d).Repeats...)
	}
	for i := range small.Trials {
		t := &small.Trials[i]
		t.Sessions = 1
		t.ReceivedPPS, t.OfferedPPS, t.BedRatio = 1.1*t.ReceivedPPS, 1.1*t.OfferedPPS, 1.1*t.BedRatio
		for j := range t.LatencyCurve {
			t.LatencyCurve[j].NS -= 300
		}
	}
	r.Trials = append(small.Trials, r.Trials...)
	return r
}

func TestTableFits(t *testing.T) {
	var b bytes.Buffer
	r := sample()
	r.Setup.Arrangement = strings.Repeat("many words that go on ", 20)
	if err := Table(&b, r); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > TableColumns {
			t.Errorf("%d columns, want %d at most: %s", n, TableColumns, line)
		}
	}
}

func TestHTMLEscapesAndLoadsNothing(t *testing.T) {
	r := sample()
	r.Setup.Configuration = `<script>alert("configuration")</script>`
	r.Host.CommandLine = `plumb bench --html "x</pre><img src=x onerror=alert(1)>"`
	r.Trials[0].DUT = "<b>dut</b>"
	var b bytes.Buffer
	if err := HTML(&b, r); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<script", "<img", "<b>", "http://", "https://", "url(", "@import", "ZgotmplZ"} {
		if strings.Contains(b.String(), bad) {
			t.Errorf("page contains %q", bad)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	for _, tc := range []struct {
		name   string
		break_ func(*Result)
	}{
		{"schema of another version", func(r *Result) { r.Schema = "plumbline.result/2" }},
		{"direction", func(r *Result) { r.Trials[0].Direction = "sideways" }},
		{"kind", func(r *Result) { r.Trials[0].Kind = "" }},
		{"no bed limit of as many sessions", func(r *Result) { r.Trials[0].Sessions = 2 }},
		{"no bed limit", func(r *Result) { r.Bed.Uplink = nil }},
		{"bed limit of nothing", func(r *Result) { r.Bed.Uplink.ReceivedPPS = 0 }},
		{"bed without repeats", func(r *Result) { r.Bed.Uplink.Repeats = nil }},
		{"loss below 0", func(r *Result) { r.Trials[1].LossRatio = -0.001 }},
		{"loss above 1", func(r *Result) { r.Trials[1].LossRatio = 1.001 }},
		{"negative rate", func(r *Result) { r.Trials[0].ReceivedPPS = -1 }},
		{"rate beyond any machine", func(r *Result) { r.Trials[0].OfferedBPS = 1e16 }},
		{"percentiles that fall", func(r *Result) { r.Trials[0].LatencyNS.P90 = r.Trials[0].LatencyNS.P50 - 1 }},
		{"curve that falls", func(r *Result) { r.Trials[3].LatencyCurve[1].NS = 1 }},
		{"percentile beyond 100", func(r *Result) { r.Trials[3].LatencyCurve[7].Percentile = 101 }},
		{"no session", func(r *Result) { r.Trials[0].Sessions = 0 }},
		{"no CPU", func(r *Result) { r.Host.CPUs = 0 }},
		{"no duration", func(r *Result) { r.Trials[0].DurationNS = 0 }},
		{"escape sequence", func(r *Result) { r.Host.Kernel = "6.18\x1b[2J" }},
		{"text without end", func(r *Result) { r.Setup.Configuration = strings.Repeat("x", maxText+1) }},
		{"escape sequence in a drop reason", func(r *Result) { r.Trials[3].Drops["\x1b"] = 1 }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := sample()
			tc.break_(r)
			if err := r.Validate(); !errors.Is(err, ErrInvalid) {
				t.Errorf("Validate: got %v, want %v", err, ErrInvalid)
			}
			if err := Write(io.Discard, r); !errors.Is(err, ErrInvalid) {
				t.Errorf("Write: got %v, want %v", err, ErrInvalid)
			}
		})
	}
}

func TestValidateRefusesNaN(t *testing.T) {
	r := sample()
	r.Trials[0].BedRatio = math.NaN()
	if err := r.Validate(); !errors.Is(err, ErrInvalid) {
		t.Errorf("got %v, want %v", err, ErrInvalid)
	}
}

// TestMisdeliveredIsSaid: how many frames, and what was wrong with them in all trials.
func TestMisdeliveredIsSaid(t *testing.T) {
	r := single()
	r.Trials = []Trial{
		{ReceivedFrames: 5000, Misdelivered: 1204, MisdeliveredBy: map[string]uint64{"ue": 4, "teid": 1200}},
		{ReceivedFrames: 5000, Misdelivered: 4, MisdeliveredBy: map[string]uint64{"qfi": 4}},
	}
	want := "1,208 misdelivered (1,200 teid, 4 qfi, 4 ue), 0 duplicated, 0 reordered of 10,000 frames"
	if got := r.correctness(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestReadSkipsUnknownFields(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, sample()); err != nil {
		t.Fatal(err)
	}
	later := strings.Replace(b.String(), `"schema"`, `"moon": {"phase": 3}, "schema"`, 1)
	got, err := readResult(strings.NewReader(later))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample(), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDisturbedIsSaid(t *testing.T) {
	for _, tc := range []struct {
		name     string
		busy     float64
		threaded bool
		want     bool
	}{
		{"at rest", 101, false, false}, {"disturbed", 190, false, true}, {"threads of their own", 190, true, false},
	} {
		r := sample()
		r.Setup.Threaded = tc.threaded
		for i := range r.Trials {
			r.Trials[i].CPU.BusyPercent = tc.busy
		}
		var b bytes.Buffer
		if err := Table(&b, r); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(b.String(), "beware"); got != tc.want {
			t.Errorf("%s: warned: got %v, want %v:\n%s", tc.name, got, tc.want, &b)
		}
	}
}

// FuzzRead: what Read accepts is read back the same after Write, and can be
// shown: no line of the table with control characters, no page that fails.
func FuzzRead(f *testing.F) {
	for _, r := range []*Result{sample(), single()} {
		var b bytes.Buffer
		if err := Write(&b, r); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		r, err := readResult(bytes.NewReader(in))
		if err != nil {
			return
		}
		var out, table bytes.Buffer
		if err := Write(&out, r); err != nil {
			t.Fatalf("Write of what Read accepted: %v", err)
		}
		again, err := readResult(&out)
		if err != nil {
			t.Fatalf("Read of what Write wrote: %v", err)
		}
		if diff := cmp.Diff(r, again); diff != "" {
			t.Errorf("(-first +second):\n%s", diff)
		}
		if err := errors.Join(Table(&table, r), HTML(io.Discard, r)); err != nil {
			t.Error(err)
		}
		if strings.ContainsFunc(table.String(), func(r rune) bool { return r < ' ' && r != '\n' }) {
			t.Errorf("control character in %q", table.String())
		}
	})
}
