package report

import (
	"bytes"
	"encoding/csv"
	"errors"
	"image/color"
	"image/png"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/plumbline-upf/plumbline/internal/histogram"
)

// sampleSlices is a result of given systems with all there is to see. Its figures are
// made up.
func sampleSlices(t *testing.T, systems ...string) *Slices {
	t.Helper()
	began := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	finished := began.Add(time.Hour)
	s := &Slices{
		Schema: SlicesSchema, Started: began, Finished: &finished, Host: sampleHost(),
		Plan: SlicesPlan{
			Arrangement: "three of everything", Instances: 3, DurationNS: 10e9, WarmUpNS: 1e9, TimeoutNS: 1e9, Repeats: 3, ModifyRate: 10,
			Slices: []SlicePlan{{"eMBB", 1, "internet", "iperf3"}, {"URLLC", 2, "voip", "SIPp"}, {"mMTC", 3, "streaming", "curl"}},
			Loads:  []SlicesLoad{{Name: "light", StreamBPS: 5e6, CallsPerSecond: 2}, {Name: "heavy", StreamBPS: 50e6, CallsPerSecond: 8}, {Name: "50 %", OfThroughput: 0.5}},
		},
	}
	random := rand.New(rand.NewPCG(1, 1))
	for i, name := range systems {
		s.Systems = append(s.Systems, SlicesSystem{Name: name, Title: "The " + name, Version: "v1", Points: []string{"N3 in: ingress of n3", "N6 out: ingress of tun0"}})
		for _, l := range s.Plan.Loads {
			for repeat := 1; repeat <= s.Plan.Repeats; repeat++ {
				s.Cells = append(s.Cells, sampleSlicesCell(t, s, random, name, l.Name, repeat, 20e3*float64(i+1)))
			}
		}
	}
	s.Systems = append(s.Systems, SlicesSystem{Name: "absent", Title: "The absent", Missing: "no such program"})
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	return s
}

func sampleSlicesCell(t *testing.T, s *Slices, random *rand.Rand, system, load string, repeat int, medianNS float64) SlicesCell {
	t.Helper()
	c := SlicesCell{System: system, Load: load, Repeat: repeat, Started: s.Started, DurationNS: 10e9, StreamBPS: 5e6}
	made := func(n int) (*hdrhistogram.Histogram, string) {
		h := hdrhistogram.New(1, 1<<36-1, 2)
		for range n {
			if err := h.RecordValue(int64(medianNS * math.Exp(0.5*random.NormFloat64()))); err != nil {
				t.Fatal(err)
			}
		}
		text, err := histogram.Encode(h)
		if err != nil {
			t.Fatal(err)
		}
		return h, text
	}
	for i, slice := range s.Plan.Slices {
		for _, d := range Directions {
			h, text := made(1000)
			c.Delays = append(c.Delays, SliceDelay{
				UPF: slice.Name, Slice: slice.Name, Direction: d, In: 1010, Matched: 1000, Lost: 7, Ambiguous: 2, Evicted: 1, Octets: 1e6,
				DelayNS: LatencyOf(h), MeanNS: h.Mean(), Histogram: text,
			})
		}
		h, text := made(100)
		c.N4 = append(c.N4, SliceN4{UPF: slice.Name, Seen: SeenByCP, Message: modification, Count: 100, DelayNS: LatencyOf(h), MeanNS: h.Mean(), Histogram: text})
		c.Programs = append(c.Programs, SliceProgram{slice.Name, slice.Program, []Figure{{Name: "received uplink", Unit: "bit/s", Value: 5e6 + float64(i)}}})
	}
	c.Points = []SlicePoint{{UPF: "eMBB", Point: "N3 in: ingress of n3", Packets: 1010, Dropped: 5, HookNS: 70}, {UPF: "eMBB", Point: "N6 out: ingress of tun0", Packets: 1002, HookNS: 50}}
	return c
}

// TestSlicesTable: every line fits, and all is said: what was published, what was
// measured, who is absent.
func TestSlicesTable(t *testing.T) {
	var b bytes.Buffer
	if err := SlicesTable(&b, sampleSlices(t, "tun", "xdp", "open5gs-tun")); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > TableColumns {
			t.Errorf("%d columns, want %d at most: %s", n, TableColumns, line)
		}
	}
	for _, want := range []string{
		"published", "2,814,633", "1243", "URLLC", "in = matched + lost", "no such program", "125", "197", "50 to 70 ns", "0.198 %", "5.00",
		"dropped 45 packets",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
}

// TestSlicesFigures: the table says what the cells say, over the repeats.
func TestSlicesFigures(t *testing.T) {
	s := sampleSlices(t, "tun")
	for i, p99 := range []int64{10_000, 30_000, 20_000} {
		d := &s.Cells[i].Delays[0]
		d.DelayNS = N4Latency{Min: 1000, P50: 5000, P90: 6000, P99: p99, P999: p99, P9999: p99, Max: p99}
		d.Matched = uint64(1000 * (i + 1))
	}
	got := newSlicesView(s).forwardingGrid().rows[:2]
	want := [][]string{{"eMBB", "light", "published", "281,428", "66", "574"}, {"", "", "tun", "6,000", "5.0 (5.0-5.0)", "20.0 (10.0-30.0)"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestSlicesAccount: a series that does not balance is told, in the table and on the page.
func TestSlicesAccount(t *testing.T) {
	s := sampleSlices(t, "tun")
	s.Cells[0].Delays[0].In++
	var table, page bytes.Buffer
	if err := errors.Join(SlicesTable(&table, s), SlicesHTML(&page, s)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(table.String(), "does NOT balance") || !strings.Contains(page.String(), "does not balance") {
		t.Errorf("nothing of it in\n%s", &table)
	}
}

// TestSlicesFile: what is written is read back the same, and what could not be is refused.
func TestSlicesFile(t *testing.T) {
	s := sampleSlices(t, "tun")
	name := filepath.Join(t.TempDir(), "r.json")
	if err := WriteSlicesFile(name, s); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, err := readSlices(f)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for what, spoil := range map[string]func(*Slices){
		"another schema":          func(s *Slices) { s.Schema = LabSchema },
		"an unknown system":       func(s *Slices) { s.Cells[0].System = "x" },
		"an unknown load":         func(s *Slices) { s.Cells[0].Load = "x" },
		"a cell twice":            func(s *Slices) { s.Cells = append(s.Cells, s.Cells[0]) },
		"percentiles that fall":   func(s *Slices) { s.Cells[0].Delays[0].DelayNS.P50 = s.Cells[0].Delays[0].DelayNS.Max + 1 },
		"a direction":             func(s *Slices) { s.Cells[0].Delays[0].Direction = "up" },
		"a control character":     func(s *Slices) { s.Systems[0].Name = "\x1b[2J" },
		"a histogram that lies":   func(s *Slices) { s.Cells[0].Delays[0].Histogram = "AAAA" },
		"no slice":                func(s *Slices) { s.Plan.Slices = nil },
		"an end before the start": func(s *Slices) { early := s.Started.Add(-1); s.Finished = &early },
	} {
		spoilt := sampleSlices(t, "tun")
		spoil(spoilt)
		if err := spoilt.Validate(); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: got %v, want %v", what, err, ErrInvalid)
		}
	}
}

func FuzzReadSlices(f *testing.F) {
	var b bytes.Buffer
	s := &Slices{Schema: SlicesSchema, Host: sampleHost(), Systems: []SlicesSystem{{Name: "a"}}, Plan: SlicesPlan{
		Instances: 1, DurationNS: 1, Repeats: 1, Slices: []SlicePlan{{Name: "s"}}, Loads: []SlicesLoad{{Name: "l"}}}}
	if err := WriteSlices(&b, s); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, in []byte) {
		s, err := readSlices(bytes.NewReader(in))
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := errors.Join(SlicesTable(&out, s), SlicesHTML(&out, s), SlicesSVG(&out, s), WriteSlices(&out, s)); err != nil {
			t.Errorf("%q: read, but not shown: %v", in, err)
		}
	})
}

// TestSlicesPage: names of others stay text, nothing is loaded, and there is a chart for
// each slice, load and direction.
func TestSlicesPage(t *testing.T) {
	s := sampleSlices(t, "tun", "<b>x")
	var b bytes.Buffer
	if err := SlicesHTML(&b, s); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, never := range []string{"<b>x", "<script", "src=", "@import", "url("} {
		if strings.Contains(page, never) {
			t.Errorf("the page has %q", never)
		}
	}
	shown, more := newSlicesView(s).charts()
	if len(shown) != 2*3*3+3+3 || len(more) != 2*3*2 {
		t.Errorf("got %d charts and %d more, want 24 and 12", len(shown), len(more))
	}
	if shown, more := newSlicesView(sampleSlices(t, "tun")).charts(); len(shown) != 2*3+3+3 || len(more) != 0 {
		t.Errorf("of one system: got %d charts and %d more, want 12 and 0", len(shown), len(more))
	}
}

// TestSlicesExport: as many rows as there are, and the same packets in both forms.
func TestSlicesExport(t *testing.T) {
	s, directory := sampleSlices(t, "tun"), t.TempDir()
	samples, err := NewSliceSamples(map[string]string{".csv": directory, ".parquet": directory})
	if err != nil {
		t.Fatal(err)
	}
	const packets = 2*sampleBatch + 5
	for i := range packets {
		one := SliceSample{System: "tun", Load: "light", Repeat: 1, UPF: "embb", Slice: "eMBB", Direction: "uplink", In: int64(i), Out: int64(i + 2500), DelayUS: 2.5}
		if err := samples.Add(one); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(samples.Close(), SlicesCSV(directory, s), SlicesParquet(directory, s)); err != nil {
		t.Fatal(err)
	}
	cells := len(s.Cells)
	for table, want := range map[string]int{"samples": packets, "delays": 6 * cells, "n4": 3 * cells, "programs": 3 * cells} {
		f, err := os.Open(filepath.Join(directory, table+".csv"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		rows, err := csv.NewReader(f).ReadAll()
		if err != nil || len(rows) != want+1 {
			t.Errorf("%s.csv: %d rows, %v, want %d", table, len(rows), err, want+1)
		}
	}
	got, err := parquet.ReadFile[SliceSample](filepath.Join(directory, "samples.parquet"))
	if err != nil || len(got) != packets || got[packets-1].Out != packets+2499 || got[0].Slice != "eMBB" {
		t.Errorf("samples.parquet: %d rows, %v, want %d", len(got), err, packets)
	}
	buckets, err := parquet.ReadFile[sliceHistogramRow](filepath.Join(directory, "histograms.parquet"))
	sum := int64(0)
	for _, b := range buckets {
		sum += b.Count
	}
	if err != nil || sum != int64(6*1000*cells) {
		t.Errorf("histograms.parquet: %d packets, %v, want %d", sum, err, 6*1000*cells)
	}
	gone, err := NewSliceSamples(map[string]string{".csv": t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	name := gone.files[0].Name()
	if err := gone.Discard(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s after Discard: %v", name, err)
	}
}

// TestSlicesPNG: the picture in pixels has what the other one has: its size, and the
// colours of both systems.
func TestSlicesPNG(t *testing.T) {
	s := sampleSlices(t, "tun", "xdp")
	var b bytes.Buffer
	if err := SlicesPNG(&b, s); err != nil {
		t.Fatal(err)
	}
	got, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	p := newSlicesView(s).picture()
	if size := got.Bounds().Size(); size.X != int(math.Ceil(p.Width*pngScale)) || size.Y != int(math.Ceil(p.Height*pngScale)) {
		t.Errorf("got %v, want %g by %g, twice", size, p.Width, p.Height)
	}
	colours := map[color.Color]int{}
	for y := range got.Bounds().Dy() {
		for x := range got.Bounds().Dx() {
			colours[got.At(x, y)]++
		}
	}
	for _, class := range []string{"s1", "s2", "bed", "grid"} {
		if colours[pngColours[class]] < 1000 {
			t.Errorf("%d points of the colour of %s, want curves and bars", colours[pngColours[class]], class)
		}
	}
	if err := writePNG(io.Discard, &svgPage{Width: 1e6, Height: 10}); err == nil {
		t.Error("a picture of a million pixels: no error")
	}
}

func TestDashes(t *testing.T) {
	got := dashes([]point{{0, 0}, {7, 0}, {14, 0}}, 5, 4)
	want := [][]point{{{0, 0}, {5, 0}}, {{9, 0}, {14, 0}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := pathPoints("M1.0 2.0L3.5 4.0"); !cmp.Equal(got, []point{{1, 2}, {3.5, 4}}) {
		t.Errorf("got %v", got)
	}
}
