package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/internal/histogram"
)

func TestLabRoundTrip(t *testing.T) {
	want := sampleLab(t)
	name := filepath.Join(t.TempDir(), "lab.json")
	if err := WriteLabFile(name, want); err != nil {
		t.Fatal(err)
	}
	got, err := ReadLabFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if left, _ := filepath.Glob(name + "*"); len(left) != 1 {
		t.Errorf("files: got %v, want %s alone", left, name)
	}
}

// TestWriteLabFileKeeps: what is there stays when what shall replace it is invalid.
func TestWriteLabFileKeeps(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lab.json")
	if err := os.WriteFile(name, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := WriteLabFile(name, &Lab{}); !errors.Is(err, ErrInvalid) {
		t.Errorf("got %v, want %v", err, ErrInvalid)
	}
	got, err := os.ReadFile(name)
	if err != nil || string(got) != "before" {
		t.Errorf("got %q, %v, want the file of before", got, err)
	}
	if left, _ := filepath.Glob(name + "*"); len(left) != 1 {
		t.Errorf("files: got %v, want %s alone", left, name)
	}
}

func TestLabRefuses(t *testing.T) {
	for _, tc := range []struct {
		name   string
		break_ func(*Lab)
	}{
		{"schema of another version", func(l *Lab) { l.Schema = "plumbline.lab/2" }},
		{"finished before it started", func(l *Lab) { *l.Finished = l.Started.Add(-time.Second) }},
		{"no system", func(l *Lab) { l.Systems, l.Turns = nil, nil }},
		{"system twice", func(l *Lab) { l.Systems[1].Name = SystemBed }},
		{"system of two lines", func(l *Lab) { l.Systems[1].Name = "a\nb" }},
		{"cell of no method", func(l *Lab) { l.Plan.Cells[0].Method = "guess" }},
		{"cell of another direction", func(l *Lab) { l.Plan.Cells[0].Direction = "sideways" }},
		{"turn in no cell", func(l *Lab) { l.Turns[0].Cell = len(l.Plan.Cells) }},
		{"turn of no system", func(l *Lab) { l.Turns[0].System = "ghost" }},
		{"turn beyond the repeats", func(l *Lab) { l.Turns[0].Repeat = l.Plan.Repeats + 1 }},
		{"turn twice", func(l *Lab) { l.Turns[1] = l.Turns[0] }},
		{"figure without name", func(l *Lab) { l.Turns[0].Figures[0].Name = "" }},
		{"figure twice", func(l *Lab) { l.Turns[0].Figures[1] = l.Turns[0].Figures[0] }},
		{"figure that is no number", func(l *Lab) { l.Turns[0].Figures[0].Value = math.NaN() }},
		{"figure outside its bounds", func(l *Lab) { l.Turns[0].Figures[0].High = l.Turns[0].Figures[0].Low }},
		{"better sideways", func(l *Lab) { l.Turns[0].Figures[0].Better = "sideways" }},
		{"more sent than offered", func(l *Lab) { l.Turns[0].Trials[0].SentFrames++ }},
		{"trial of no kind", func(l *Lab) { l.Turns[0].Trials[0].Kind = "" }},
		{"stream without name", func(l *Lab) { l.Turns[0].Trials[0].Streams = []StreamTrial{{}} }},
		{"stream that lost more than all", func(l *Lab) { l.Turns[0].Trials[0].Streams = []StreamTrial{{Name: "a", LossRatio: 2}} }},
		{"churn at no rate", func(l *Lab) { l.Turns[0].Trials[0].Churn = &N4Phase{Rate: -1} }},
		{"histogram that is none", func(l *Lab) { l.Turns[0].Trials[0].LatencyHistogram = "AAAA" }},
		{"reference without source", func(l *Lab) { l.References[0].Source = "" }},
		{"escape sequence in an option", func(l *Lab) { l.Plan.Options["goals"] = "\x1b[2J" }},
		{"mean above the maximum", func(l *Lab) { l.Turns[0].Trials[0].LatencyNS.Mean = 1e15 }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := sampleLab(t)
			tc.break_(l)
			if err := WriteLab(io.Discard, l); !errors.Is(err, ErrInvalid) {
				t.Errorf("got %v, want %v", err, ErrInvalid)
			}
		})
	}
}

// TestDecodeHistogramRefuses what would unpack to much, before it does.
func TestDecodeHistogramRefuses(t *testing.T) {
	encode := func(h *hdrhistogram.Histogram) string {
		b, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for name, s := range map[string]string{
		"no base64":    "!",
		"short":        "AAAA",
		"no zlib":      "HISTFAAAAAAAAAAA",
		"empty":        encode(hdrhistogram.New(1, 1000, 2)),
		"too fine":     encode(one(hdrhistogram.New(1, 1000, 5))),
		"beyond hours": encode(one(hdrhistogram.New(1, math.MaxInt64/2, 2))),
		"long":         strings.Repeat("A", maxHistogram+4),
	} {
		if h, err := DecodeHistogram(s); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: got %v, %v, want %v", name, h, err, ErrInvalid)
		}
	}
}

func one(h *hdrhistogram.Histogram) *hdrhistogram.Histogram {
	if err := h.RecordValue(7); err != nil {
		panic(err)
	}
	return h
}

// smallLab has one cell of each method, for seeds of the fuzzer.
func smallLab(t testing.TB) *Lab {
	l := sampleLab(t)
	seen := map[string]bool{}
	keep := map[int]bool{}
	for i, c := range l.Plan.Cells {
		keep[i] = !seen[c.Method]
		seen[c.Method] = true
	}
	var turns []Turn
	for _, turn := range l.Turns {
		if keep[turn.Cell] && turn.Repeat == 1 && turn.System != "plumbline tc" {
			turn.Trials = turn.Trials[:min(2, len(turn.Trials))]
			turns = append(turns, turn)
		}
	}
	l.Turns = turns
	return l
}

// tinyLab has all that a result can have, in little text: a fuzzer works on it.
func tinyLab(t testing.TB) *Lab {
	t.Helper()
	h := one(hdrhistogram.New(1, 1000, 1))
	encoded, err := histogram.Encode(h)
	if err != nil {
		t.Fatal(err)
	}
	rate := func(v float64) []Figure {
		return []Figure{{"throughput at loss 0", "pps", Higher, v, v - 1, v + 1, "note"}, {"Rx frames", "pps", "", 1, 0, 0, ""}}
	}
	trial := Trial{
		Direction: Uplink, Sessions: 1, FrameOctets: 60, Kind: Paced, Repeat: 1, DurationNS: 1, IntendedPPS: 2, OfferedPPS: 2, ReceivedPPS: 1,
		LossRatio: 0.5, OfferedFrames: 2, ReceivedFrames: 1, LatencyNS: Latency{7, 7, 7, 7, 7, 7, 7, 7, 0, 0}, LatencyCurve: Curve(h),
		LatencyHistogram: encoded, Drops: map[string]uint64{"no_pdr": 1}, Streams: []StreamTrial{{Name: "one"}},
		Phase: "before", Memory: &Memory{1, 1, 1}, Series: []Slot{{1, 2, 1, 0.5, 7, 7}, {2, 2, 1, 0.5, 7, 7}},
	}
	n4 := []N4Phase{{Name: "a", Total: N4Count{AcceptedPerSec: 1, LatencyNS: N4Latency{Max: 5}}}, {Name: "b", Total: N4Count{AcceptedPerSec: 2, LatencyNS: N4Latency{Max: 5}}}}
	latency := []Figure{{Name: "p99", Unit: "ns", Better: Lower, Value: 7}}
	cell := func(method, load string) LabCell {
		return LabCell{Method: method, Direction: Uplink, Sessions: 1, Frames: "64", Load: load}
	}
	return &Lab{
		Schema: LabSchema, Host: Host{CPUs: 1}, Systems: []System{{Name: SystemBed}, {Name: "a", Memory: []PathMemory{{Sessions: 1}}}},
		Plan: LabPlan{
			Methods: []string{"throughput", "latency"}, Repeats: 3, DurationNS: 1,
			Cells: []LabCell{cell("throughput", ""), cell("latency", "10 %"), cell("latency", "50 %"), {Method: "latency", Load: "n4"}},
		},
		Turns: []Turn{
			{System: SystemBed, Repeat: 1, Figures: rate(10)}, {System: "a", Repeat: 1, Figures: rate(8), Trials: []Trial{trial}},
			{System: "a", Repeat: 2, Figures: rate(9)}, {System: "a", Repeat: 3, Failed: "reason"},
			{Cell: 1, System: "a", Repeat: 1, Figures: latency, Trials: []Trial{trial}}, {Cell: 2, System: "a", Repeat: 1, Figures: latency, Trials: []Trial{trial}},
			{Cell: 3, System: "a", Repeat: 1, Figures: []Figure{}, N4: n4},
		},
		References: []Reference{{System: "b", Source: "c", Cell: cell("throughput", ""), Figures: rate(7)}},
	}
}

// FuzzReadLab: what ReadLab accepts is read back the same after WriteLab, and can be
// shown.
func FuzzReadLab(f *testing.F) {
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(tinyLab(f)); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, in []byte) {
		l, err := ReadLab(bytes.NewReader(in))
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := WriteLab(&out, l); err != nil {
			t.Fatalf("WriteLab of what ReadLab accepted: %v", err)
		}
		again, err := ReadLab(&out)
		if err != nil {
			t.Fatalf("ReadLab of what WriteLab wrote: %v", err)
		}
		if diff := cmp.Diff(l, again); diff != "" {
			t.Errorf("(-first +second):\n%s", diff)
		}
		var table bytes.Buffer
		if err := errors.Join(LabTable(&table, l), LabHTML(io.Discard, l), LabSVG(io.Discard, l)); err != nil {
			t.Error(err)
		}
		c, err := CompareLabs([]LabRun{{"a", l}, {"b", again}}, CompareOptions{Threshold: 0.05})
		switch {
		case errors.Is(err, ErrNothingShared):
		case err != nil || len(c.Regressions()) > 0 && !c.Regressions()[0].Has(FailedNow):
			t.Errorf("beside itself: got %v, %+v", err, c.Rows)
		default:
			if err := errors.Join(LabComparisonTable(&table, c, true), LabComparisonHTML(io.Discard, c)); err != nil {
				t.Error(err)
			}
		}
		if strings.ContainsFunc(table.String(), func(r rune) bool { return r < ' ' && r != '\n' }) {
			t.Errorf("control character in %q", table.String())
		}
	})
}

func BenchmarkWriteLab(b *testing.B) {
	l := sampleLab(b)
	for b.Loop() {
		if err := WriteLab(io.Discard, l); err != nil {
			b.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := WriteLab(&out, l); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(out.Len()), "octets")
}
