package report

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// seriesLab has one turn of a method with trials one second apart, made up.
func seriesLab(method string, trials ...Trial) *Lab {
	began := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for i := range trials {
		trials[i].Direction, trials[i].Kind, trials[i].Started = Uplink, Paced, began.Add(time.Duration(i)*time.Second)
		trials[i].DurationNS, trials[i].Sessions, trials[i].FrameOctets, trials[i].Repeat, trials[i].Access = 5e8, 1, 60, 1, "same"
	}
	return &Lab{
		Schema: LabSchema, Host: Host{CPUs: 1}, Systems: []System{{Name: "a"}},
		Plan:  LabPlan{Methods: []string{method}, Cells: []LabCell{{Method: method, Direction: Uplink}}, Repeats: 1},
		Turns: []Turn{{System: "a", Repeat: 1, Started: began, Trials: trials}},
	}
}

func titlesOf(charts []*chart) []string {
	var titles []string
	for _, c := range charts {
		titles = append(titles, c.Title)
	}
	return titles
}

// TestSoakOverTime: intervals are points, and memory has a chart.
func TestSoakOverTime(t *testing.T) {
	var trials []Trial
	for i := range 3 {
		trials = append(trials, Trial{
			OfferedPPS: 100, ReceivedPPS: 90, LossRatio: 0.1, Memory: &Memory{ResidentOctets: uint64(100+i) << 20},
			LatencyNS: Latency{P50: 1e4, P90: 1e4, P99: 2e4, P999: 2e4, P9999: 2e4, Max: 2e4},
		})
	}
	l := seriesLab("soak", trials...)
	if err := l.Validate(); err != nil {
		t.Fatal(err)
	}
	shown, more := newLabView(l).methods()[0].overTime()
	if got, want := titlesOf(shown), []string{"Loss over time", "Latency over time", "Memory over time"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := titlesOf(more), []string{"Received over time"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	page := labPageOf(t, l)
	for _, want := range []string{"Memory over time", "time of the trials, s", ">101.5<"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in the page", want)
		}
	}
}

// TestDriftInterval: the table has the bounds of a drift, whatever else there is.
func TestDriftInterval(t *testing.T) {
	l := seriesLab("soak", Trial{})
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		l.Turns[0].Figures = append(l.Turns[0].Figures, Figure{Name: name, Unit: "ratio", Better: Lower, Value: 0.5})
	}
	l.Turns[0].Figures = append(l.Turns[0].Figures, Figure{Name: "drift of memory", Unit: "octets/h", Better: Lower, Value: 3 << 20, Low: 2 << 20, High: 4 << 20})
	var b strings.Builder
	if err := LabTable(&b, l); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"drift of memory, MiB/h", " 3 ", "2-4"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
}

// slot is one of a series, in milliseconds.
func slot(ms int64) Slot {
	return Slot{AtNS: ms * 1e6, OfferedPPS: 100, ReceivedPPS: 50, LossRatio: 0.5, P50NS: 1e4, P99NS: 2e4}
}

// TestIsolationOverTime: streams have charts of their own, in which the phases are marked.
func TestIsolationOverTime(t *testing.T) {
	var trials []Trial
	for _, phase := range []string{"before", "during", "after"} {
		series := []Slot{slot(100), slot(200)}
		trials = append(trials, Trial{Phase: phase, Series: series, Streams: []StreamTrial{{Name: "uplink one", Series: series}, {Name: "uplink two", Series: series}}})
	}
	l := seriesLab("isolation", trials...)
	m := newLabView(l).methods()[0]
	shown, more := m.overTime()
	if got, want := titlesOf(shown), []string{"Loss over time", "Latency over time"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if len(more) != 1 || len(shown[0].Strokes) != 2 || !strings.HasPrefix(shown[0].Sub, "a") {
		t.Errorf("got %d more charts, %d curves, %q; want 1, one of each stream, and the system's name", len(more), len(shown[0].Strokes), shown[0].Sub)
	}
	page := labPageOf(t, l)
	for _, want := range []string{">before<", ">during<", ">after<", "uplink two"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in the page", want)
		}
	}
	c := courseOf(&l.Turns[0], Uplink, false, func(t *Trial) []Slot { return t.Series })
	if got := c.slots[5].AtNS; got != 1_200e6 || c.phases[2].at != 1e9 {
		t.Errorf("got the last slot at %d ns, the last phase from %g on, want 1.2 s and 1 s", got, c.phases[2].at)
	}
}

// TestSeriesRows: CSV has a row for each slot of a trial and of its streams.
func TestSeriesRows(t *testing.T) {
	series := []Slot{slot(100), slot(200)}
	l := seriesLab("isolation", Trial{Phase: "before", Series: series, Streams: []StreamTrial{{Name: "one", Series: series[:1]}}})
	directory := t.TempDir()
	if err := errors.Join(l.Validate(), LabCSV(directory, l)); err != nil {
		t.Fatal(err)
	}
	lines := readCSV(t, filepath.Join(directory, "series.csv"))
	if len(lines) != 4 {
		t.Fatalf("got %q, want three rows", lines)
	}
	last := lines[3]
	if at := slices.Index(lines[0], "stream"); last[at] != "one" || last[at-1] != "before" || last[at+1] != "100000000" {
		t.Errorf("got %q", last)
	}
}

func TestSeriesRefused(t *testing.T) {
	for _, tc := range []struct {
		name   string
		series []Slot
	}{
		{"time that goes back", []Slot{slot(200), slot(100)}},
		{"time that stands", []Slot{slot(100), slot(100)}},
		{"before the beginning", []Slot{slot(-1)}},
		{"p50 above p99", []Slot{{AtNS: 1, P50NS: 2, P99NS: 1}}},
		{"more lost than sent", []Slot{{AtNS: 1, LossRatio: 2}}},
		{"too many", make([]Slot, MaxSlots+1)},
	} {
		for name, l := range map[string]*Lab{
			"trial":  seriesLab("soak", Trial{Series: tc.series}),
			"stream": seriesLab("soak", Trial{Streams: []StreamTrial{{Name: "one", Series: tc.series}}}),
		} {
			if err := l.Validate(); !errors.Is(err, ErrInvalid) {
				t.Errorf("%s, of a %s: got %v, want it refused", tc.name, name, err)
			}
		}
	}
	if err := seriesLab("soak", Trial{Memory: &Memory{ResidentOctets: 1 << 60}}).Validate(); !errors.Is(err, ErrInvalid) {
		t.Errorf("memory of 2^60 octets: got %v, want it refused", err)
	}
}

func TestNearScale(t *testing.T) {
	for _, tc := range []struct {
		low, high float64
		want      []string
	}{
		{100, 102, []string{"100", "100.5", "101", "101.5", "102", "102.5"}},
		{-3, 7, []string{"-4", "-2", "0", "2", "4", "6", "8"}},
		{50, 50, []string{"50", "50.1", "50.2", "50.3", "50.4", "50.5"}},
	} {
		var got []string
		for _, tick := range nearScale(tc.low, tc.high, 100).ticks() {
			got = append(got, tick.Label)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%g to %g: got %q, want %q", tc.low, tc.high, got, tc.want)
		}
	}
}
