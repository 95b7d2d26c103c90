package method

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/search"
)

// measured runs methods over fakes and returns the result.
func measured(t *testing.T, systems []System, change func(*Config), methods ...Method) *report.Lab {
	t.Helper()
	c := testConfig(systems)
	c.Methods, c.Axes.Sessions, c.Repeats = methods, []int{1}, 1
	if change != nil {
		change(&c)
	}
	lab, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := lab.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, s := range lab.Systems {
		if s.Missing != "" {
			t.Fatalf("%s left: %s", s.Name, s.Missing)
		}
	}
	return lab
}

func figure(t *testing.T, lab *report.Lab, system, method, load, name string) report.Figure {
	t.Helper()
	for _, turn := range lab.Turns {
		if c := lab.Plan.Cells[turn.Cell]; turn.System != system || c.Method != method || c.Load != load {
			continue
		}
		if f := turn.Figure(name); f != nil {
			return *f
		}
		t.Fatalf("%s, %s %s: no figure %q among %+v", system, method, load, name, turn.Figures)
	}
	t.Fatalf("no turn of %s, %s %s", system, method, load)
	return report.Figure{}
}

var testThroughput = Throughput{
	Goals: []search.Goal{search.NewGoal(0, 100*time.Millisecond), search.NewGoal(0.005, 100*time.Millisecond)},
	Most:  100 * time.Millisecond,
}

// TestThroughput wants the capacity of a system to be found within the width of the
// goals, in one direction and in both.
func TestThroughput(t *testing.T) {
	for _, d := range []report.Direction{report.Uplink, ""} {
		for _, capacity := range []float64{1e4, 4.2e5, 1.9e6} {
			systems, _ := bedAnd("a")
			systems[1].(*fake).capacity = capacity
			lab := measured(t, systems, func(c *Config) { c.Axes.Directions = []report.Direction{d} }, testThroughput)
			want := capacity
			if d == "" {
				want *= 2
			}
			for name, share := range map[string]float64{"throughput at loss 0": 1, "throughput at loss 0.5 %": 1, "maximum receive rate": 1} {
				f := figure(t, lab, "a", "throughput", "", name)
				if math.Abs(f.Value/want-share) > 0.01 || f.Better != report.Higher || f.Note != "" {
					t.Errorf("%q, capacity %g: %s is %+v, want about %g", d, capacity, name, f, want*share)
				}
			}
			if f := figure(t, lab, "a", "throughput", "", "throughput at loss 0"); f.Value > want || f.High < want {
				t.Errorf("%q: capacity %g is not between %g and %g", d, want, f.Value, f.High)
			}
			if f := figure(t, lab, "a", "throughput", "", "CPU of the process per frame"); math.Abs(f.Value*want/1e9-0.5) > 0.01 {
				t.Errorf("%q: %g ns a frame at %g frames/s, want half a CPU", d, f.Value, want)
			}
		}
	}
}

// TestThroughputOfWhatIsAsFastAsTheSender wants the sender's limit to be the result,
// since nobody offered more.
func TestThroughputOfWhatIsAsFastAsTheSender(t *testing.T) {
	systems, _ := bedAnd("a")
	lab := measured(t, systems, nil, testThroughput)
	if f := figure(t, lab, report.SystemBed, "throughput", "", "throughput at loss 0"); math.Abs(f.Value/senderPPS-1) > 0.01 {
		t.Errorf("got %+v, want the sender's %g", f, senderPPS)
	}
}

// TestThroughputBeginsWhereItWas wants a repeat to need fewer trials than the first
// search, and to go up to what the bed could do even if its sender was held up.
func TestThroughputBeginsWhereItWas(t *testing.T) {
	systems, _ := bedAnd("a")
	a := systems[1].(*fake)
	a.capacity, a.hinders = 4.2e5, 0.1
	lab := measured(t, systems, func(c *Config) { c.Repeats = 2 }, testThroughput)
	var trials []int
	for _, turn := range lab.Turns {
		if turn.System == "a" {
			trials = append(trials, len(turn.Trials))
		}
	}
	if len(trials) != 2 || trials[1] >= trials[0] {
		t.Errorf("got %v trials, want fewer in the second repeat", trials)
	}
	if f := figure(t, lab, "a", "throughput", "", "throughput at loss 0"); math.Abs(f.Value/a.capacity-1) > 0.01 || f.Note != "" {
		t.Errorf("got %+v, want %g", f, a.capacity)
	}
}

// TestThroughputOfNothing wants a system that forwards nothing to be none that leaves
// the run, but one without throughput.
func TestThroughputOfNothing(t *testing.T) {
	systems, _ := bedAnd("a")
	systems[1].(*fake).capacity = 0
	lab := measured(t, systems, nil, testThroughput)
	if f := figure(t, lab, "a", "throughput", "", "throughput at loss 0"); f.Value != 0 || f.Note == "" {
		t.Errorf("got %+v, want 0 and why", f)
	}
}

// TestLatency wants percentages of each one's own throughput, and the bed's latency at
// that rate taken off.
func TestLatency(t *testing.T) {
	systems, _ := bedAnd("a", "b")
	systems[1].(*fake).capacity, systems[1].(*fake).latency = 1e5, 7000
	lab := measured(t, systems, nil, testThroughput, Latency{Loads: []Level{{}, {Percent: 50}, {PPS: 900_000}}, Duration: time.Second})
	for _, tc := range []struct {
		system, load string
		pps          float64
	}{
		{"a", "idle", IdlePPS}, {"b", "idle", IdlePPS}, {"bed", "idle", IdlePPS},
		{"a", "50 %", 50_000}, {"b", "50 %", 250_000}, {"bed", "50 %", 1_000_000},
		{"a", "900kpps", 900_000}, {"bed", "900kpps", 900_000},
	} {
		var turn *report.Turn
		for i := range lab.Turns {
			if c := lab.Plan.Cells[lab.Turns[i].Cell]; lab.Turns[i].System == tc.system && c.Load == tc.load && c.Method == NameLatency {
				turn = &lab.Turns[i]
			}
		}
		if turn == nil || math.Abs(turn.Trials[0].IntendedPPS/tc.pps-1) > 0.02 {
			t.Errorf("%s at %s: %+v, want %g frames/s", tc.system, tc.load, turn, tc.pps)
		}
	}
	for name, want := range map[string]float64{
		"latency p50": 7000, "latency p50 less bed": 6000, "latency max less bed": 6000, "latency p99.99": 7000, "PDV": 0,
	} {
		if f := figure(t, lab, "a", "latency", "50 %", name); f.Value != want || f.Unit != "ns" || f.Better != report.Lower {
			t.Errorf("%s: got %+v, want %g ns", name, f, want)
		}
	}
	if f := figure(t, lab, "a", "latency", "900kpps", "loss"); math.Abs(f.Value-8.0/9) > 1e-6 {
		t.Errorf("got a loss of %g at 9 times the capacity", f.Value)
	}
}

// TestCampaign wants what was sent and received, in both directions together.
func TestCampaign(t *testing.T) {
	systems, _ := bedAnd("a")
	lab := measured(t, systems, func(c *Config) { c.Axes.Directions = []report.Direction{""} },
		testThroughput, Campaign{Loads: []Level{{Max: true}, {Percent: 100}}, Duration: time.Second})
	for _, tc := range []struct {
		load, name string
		want       float64
	}{
		{"max", "Tx frames", 2 * senderPPS}, {"max", "Rx frames", 1e6}, {"max", "loss", 0.75}, {"max", "Rx", 1e6 * 480},
		{"100 %", "Tx frames", 1e6}, {"100 %", "Rx frames", 1e6}, {"100 %", "loss", 0}, {"100 %", "CPU of the process", 50},
		{"100 %", "uplink latency p99", 5000}, {"max", "uplink Tx frames", senderPPS}, {"max", "downlink Rx frames", 5e5}, {"max", "downlink loss", 0.75},
	} {
		if f := figure(t, lab, "a", "campaign", tc.load, tc.name); math.Abs(f.Value-tc.want) > 0.01*tc.want {
			t.Errorf("%s at %s: got %+v, want %g", tc.name, tc.load, f, tc.want)
		}
	}
}

// TestReferences wants those of a campaign to be as they were printed, in a result that
// is valid.
func TestReferences(t *testing.T) {
	systems, _ := bedAnd("a")
	lab := measured(t, systems, func(c *Config) {
		c.References = slices.Concat(CampaignReferences(report.Directions), LatencyReferences())
	}, Campaign{Loads: []Level{{PPS: 1000}}, Duration: time.Second})
	if len(lab.References) != 11 {
		t.Fatalf("got %d references, want 11", len(lab.References))
	}
	eupf := lab.References[9]
	if !strings.Contains(eupf.System, "eUPF") || eupf.Cell.Direction != report.Downlink || eupf.Figures[3].Value != 819_850 {
		t.Errorf("got %+v, want eUPF downlink with 819.85 kpps", eupf)
	}
	if loss := lab.References[0].Figures[4].Value; math.Abs(loss-0.376) > 0.001 {
		t.Errorf("loss of Open5GS uplink is %g, want 0.376", loss)
	}
}

func TestParseLevel(t *testing.T) {
	for in, want := range map[string]string{
		"idle": "idle", "0": "idle", "max": "max", "profile": "profile", "50": "50 %", "50%": "50 %", "0.5": "0.5 %", "100": "100 %",
		"900kpps": "900kpps", "1.5Mpps": "1.5Mpps", "1500kpps": "1.5Mpps", "20pps": "20pps",
	} {
		l, err := ParseLevel(in)
		if err != nil || l.String() != want {
			t.Errorf("%q: got %q, %v, want %q", in, l, err, want)
		}
	}
	for _, in := range []string{"", "-1", "101", "fast", "NaN", "0pps", "2000Mpps", "1e300kpps", "%", "Inf"} {
		if l, err := ParseLevel(in); err == nil {
			t.Errorf("%q: got %q, want an error", in, l)
		}
	}
}

// TestLevelOfThroughput wants a profile with a percentage to have the throughput searched, and
// not to be sent at any rate when none was found.
func TestLevelOfThroughput(t *testing.T) {
	write := func(name, text string) string {
		name = filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(name, []byte(text+"\nstreams: [{name: a, direction: uplink, frames: 64}]"), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	percent, ramp, kpps := write("percent.yaml", "rate: 50%"), write("ramp.yaml", "rate: 1kpps\nramp: 200%"), write("kpps.yaml", "rate: 1kpps")
	for _, tc := range []struct {
		level  Level
		frames string
		want   bool
	}{
		{Level{Percent: 50}, "64", true}, {Level{Max: true}, percent, false}, {Level{Profile: true}, percent, true},
		{Level{Profile: true}, ramp, true}, {Level{Profile: true}, kpps, false}, {Level{Profile: true}, "imix", false},
	} {
		if got := tc.level.OfThroughput("imix", tc.frames); got != tc.want {
			t.Errorf("%v of %s: got %t, want %t", tc.level, tc.frames, got, tc.want)
		}
		turn := &Turn{Cell: report.LabCell{Frames: tc.frames}, run: &run{lab: &report.Lab{}}}
		if _, ok := tc.level.rate(turn, "a"); ok == tc.want {
			t.Errorf("%v of %s without a throughput: got %t, want %t", tc.level, tc.frames, ok, !tc.want)
		}
	}
}

// TestBinary wants the search of RFC 2544 to find the same.
func TestBinary(t *testing.T) {
	systems, _ := bedAnd("a")
	m := testThroughput
	m.Binary, m.Goals = true, m.Goals[:1]
	lab := measured(t, systems, nil, m)
	if f := figure(t, lab, "a", "throughput", "", "throughput at loss 0"); math.Abs(f.Value/5e5-1) > 0.01 || f.High < 5e5 {
		t.Errorf("got %+v, want 500000", f)
	}
}

// TestLoss wants the loss at each step to be what exceeds the capacity, and steps to
// become finer for who loses frames at the last one.
func TestLoss(t *testing.T) {
	systems, _ := bedAnd("a", "b")
	a, b := systems[1].(*fake), systems[2].(*fake)
	a.capacity, b.capacity = 0.75*senderPPS, 0.042*senderPPS
	lab := measured(t, systems, nil, Loss{Duration: time.Second})
	for _, tc := range []struct {
		system, name string
		want         float64
	}{
		{"bed", "loss at 100 %", 0}, {"bed", "loss at 90 %", 0},
		{"a", "loss at 100 %", 0.25}, {"a", "loss at 80 %", 0.05 / 0.8}, {"a", "loss at 70 %", 0}, {"a", "loss at 60 %", 0},
		{"b", "loss at 100 %", 0.958}, {"b", "loss at 10 %", 0.58}, {"b", "loss at 9 %", 0.048 / 0.09},
		{"b", "loss at 4.5 %", 0.003 / 0.045}, {"b", "loss at 3.6 %", 0},
	} {
		if f := figure(t, lab, tc.system, "loss", "", tc.name); math.Abs(f.Value-tc.want) > 1e-3 || f.Unit != "ratio" {
			t.Errorf("%s, %s: got %+v, want %g", tc.system, tc.name, f, tc.want)
		}
	}
	for _, turn := range lab.Turns {
		if turn.System == "a" && turn.Figure("loss at 50 %") != nil {
			t.Error("a went on after two loads without loss")
		}
	}
}

// TestNoThroughput wants a system without throughput to have no latency at a part of
// it, and to stay.
func TestNoThroughput(t *testing.T) {
	systems, _ := bedAnd("a")
	systems[1].(*fake).capacity = 0
	lab := measured(t, systems, nil, testThroughput, Latency{Loads: []Level{{Percent: 50}}, Duration: time.Second})
	for _, turn := range lab.Turns {
		if lab.Plan.Cells[turn.Cell].Method == NameLatency && (turn.Failed != "") != (turn.System == "a") {
			t.Errorf("%s: got %q, want only a to fail", turn.System, turn.Failed)
		}
	}
}
