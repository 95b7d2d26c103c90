package method

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/lab/report"
)

// TestBackToBack wants the longest burst that a buffer takes, and how long it holds it.
func TestBackToBack(t *testing.T) {
	systems, _ := bedAnd("a")
	systems[0].(*fake).buffer = 1e9
	a := systems[1].(*fake)
	a.capacity, a.buffer = 1e6, 5000
	lab := measured(t, systems, nil, testThroughput, BackToBack{Tests: 2, Most: 100 * time.Millisecond, Step: 1})
	if f := figure(t, lab, "a", "backtoback", "", "longest burst"); f.Value != 5000 || f.Note != "" {
		t.Errorf("got %+v, want 5000 frames", f)
	}
	if f := figure(t, lab, "bed", "backtoback", "", "longest burst"); f.Note == "" {
		t.Errorf("got %+v of a bed that loses nothing, want a note", f)
	}
	implied := figure(t, lab, "a", "backtoback", "", "buffer time, implied").Value
	if want := 5000 / senderPPS * 1e9; math.Abs(implied/want-1) > 0.01 {
		t.Errorf("implied buffer time of %g ns, want %g", implied, want)
	}
	if got := figure(t, lab, "a", "backtoback", "", "buffer time, corrected").Value; math.Abs(got/(implied/2)-1) > 0.02 {
		t.Errorf("corrected buffer time of %g ns, want half of %g: as much as half was forwarded meanwhile", got, implied)
	}
}

func TestSoak(t *testing.T) {
	systems, _ := bedAnd("a")
	systems[1].(*fake).capacity = 750
	lab := measured(t, systems, nil, Soak{Loads: []Level{{}}, Time: time.Second, Interval: 100 * time.Millisecond})
	for name, want := range map[string]float64{
		"loss": 0.25, "loss of the worst interval": 0.25, "intervals with loss": 1, "drift of latency p50 in an hour": 0,
	} {
		if f := figure(t, lab, "a", "soak", "idle", name); math.Abs(f.Value-want) > 1e-9 {
			t.Errorf("%s: got %+v, want %g", name, f, want)
		}
	}
	if n := len(lab.Turns[0].Trials); n != 10 {
		t.Errorf("%d intervals, want 10", n)
	}
}

// TestSoakMemory wants what the UPF's memory rises by in an hour, with bounds, and each
// interval to have what there was at its end.
func TestSoakMemory(t *testing.T) {
	systems, _ := bedAnd("a")
	systems[1].(*fake).leak = 1 << 20
	lab := measured(t, systems, nil, Soak{Loads: []Level{{}}, Time: time.Second, Interval: 200 * time.Millisecond})
	first, last := figure(t, lab, "a", "soak", "idle", "memory after the first interval"), figure(t, lab, "a", "soak", "idle", "memory after the last interval")
	if first.Value != 1<<20 || last.Value != 5<<20 || last.Better != report.Lower {
		t.Errorf("got %+v and %+v, want 1 and 5 MiB", first, last)
	}
	if f := figure(t, lab, "a", "soak", "idle", "drift of memory"); f.Unit != "octets/h" || !(0 < f.Low && f.Low <= f.Value && f.Value <= f.High) {
		t.Errorf("got %+v, want a rise with its bounds", f)
	}
	for _, turn := range lab.Turns {
		for i, trial := range turn.Trials {
			switch {
			case turn.System == report.SystemBed && trial.Memory != nil:
				t.Errorf("the bed has no processes: got memory %+v", trial.Memory)
			case turn.System == "a" && (trial.Memory == nil || trial.Memory.ResidentOctets != uint64(i+1)<<20):
				t.Errorf("interval %d: got memory %+v, want %d MiB", i, trial.Memory, i+1)
			}
		}
		if turn.System == report.SystemBed && turn.Figure("drift of memory") != nil {
			t.Error("the bed has no processes: got a drift of memory")
		}
	}
}

// TestSoakTooShort wants a drift of few intervals to say how little it is worth.
func TestSoakTooShort(t *testing.T) {
	systems, _ := bedAnd("a")
	lab := measured(t, systems, nil, Soak{Loads: []Level{{}}, Time: time.Second, Interval: 300 * time.Millisecond})
	if f := figure(t, lab, "a", "soak", "idle", "drift of latency p50 in an hour"); f.Note != "of 3 intervals: within its bounds with a confidence of 67 %" {
		t.Errorf("got note %q", f.Note)
	}
}

// TestSoakOnce wants no drift of one interval.
func TestSoakOnce(t *testing.T) {
	systems, _ := bedAnd("a")
	systems[1].(*fake).leak = 1 << 20
	lab := measured(t, systems, nil, Soak{Loads: []Level{{}}, Time: time.Second, Interval: time.Second})
	for _, turn := range lab.Turns {
		for _, f := range turn.Figures {
			if strings.HasPrefix(f.Name, "drift") {
				t.Errorf("%s: got %+v of one interval", turn.System, f)
			}
		}
	}
}

// TestCritical wants the load beyond which frames are lost, of each direction or of both.
func TestCritical(t *testing.T) {
	for d, want := range map[report.Direction]float64{report.Uplink: 420_000, "": 840_000} {
		systems, _ := bedAnd("a")
		systems[1].(*fake).capacity = 420_000
		lab := measured(t, systems, func(c *Config) { c.Axes.Directions = []report.Direction{d} },
			Critical{LossRatio: 1e-5, Most: 100 * time.Millisecond, First: time.Second, Budget: time.Minute})
		f := figure(t, lab, "a", NameCritical, "", "critical load at loss 1e-05")
		if math.Abs(f.Value/want-1) > 0.03 || f.Low > f.Value || f.High < f.Value || f.Better != report.Higher {
			t.Errorf("%q: got %+v, want about %g", d, f, want)
		}
	}
}

func TestRecovery(t *testing.T) {
	for _, d := range []report.Direction{report.Uplink, ""} {
		systems, diary := bedAnd("a")
		a := systems[1].(*fake)
		a.capacity, a.recovers = 1e6, 20*time.Millisecond
		prefix := ""
		if d == "" {
			prefix = "downlink "
		}
		lab := measured(t, systems, func(c *Config) { c.Axes.Directions = []report.Direction{d} },
			testThroughput, Recovery{Overload: time.Second, After: 2 * time.Second, ResetPPS: 1000})
		if f := figure(t, lab, "a", "recovery", "overload", prefix+"recovery after overload"); f.Value != 2e7 || f.Note != "" {
			t.Errorf("got %+v, want 20 ms", f)
		}
		if f := figure(t, lab, "a", "recovery", "reset", prefix+"outage, longest time without a frame"); f.Value < 0 || f.Better != report.Lower {
			t.Errorf("got %+v", f)
		}
		if f := figure(t, lab, "a", "recovery", "reset", "sessions there after reset"); f.Value != 2e6 {
			t.Errorf("got %+v, want 2 ms", f)
		}
		if n, beds := count(diary.lines, "a: restart"), count(diary.lines, "bed: restart"); n != 1 || beds != 0 {
			t.Errorf("%d restarts, %d of the bed, want one and none", n, beds)
		}
	}
}

// TestIsolation wants the other slices to be told from the one that is overloaded.
func TestIsolation(t *testing.T) {
	systems, _ := bedAnd("a")
	a := systems[1].(*fake)
	a.capacity = 1e6
	lab := measured(t, systems, func(c *Config) { c.Axes.Sessions, c.Axes.Access = []int{8}, "uniform" },
		testThroughput, Isolation{Slices: EqualSlices(4), Base: 50, Overload: 200, Duration: time.Second})
	for name, want := range map[string]float64{
		"other slices before: throughput": 375_000, "other slices before: loss": 0, "other slices during: loss": 0.5,
		"other slices during: throughput": 187_500, "overloaded slice during: throughput": 812_500, "other slices after: throughput": 375_000,
	} {
		if f := figure(t, lab, "a", "isolation", "", name); math.Abs(f.Value-want) > 0.02*math.Max(want, 1) {
			t.Errorf("%s: got %g, want %g", name, f.Value, want)
		}
	}
	last := a.profile.Streams[3]
	if len(a.profile.Streams) != 4 || last.First != 6 || last.Sessions != 2 {
		t.Errorf("got streams %+v, want the last one of sessions 6 and 7", a.profile.Streams)
	}
	for _, turn := range lab.Turns {
		for i, trial := range turn.Trials {
			if lab.Plan.Cells[turn.Cell].Method == NameIsolation && (trial.Phase != phases[i] || len(trial.Series) == 0 || len(trial.Streams[3].Series) == 0) {
				t.Errorf("trial %d of %s: got phase %q, %d slots, %d of the last slice, want %s and some", i, turn.System, trial.Phase, len(trial.Series),
					len(trial.Streams[3].Series), phases[i])
			}
		}
	}
}

// TestNoPartOfNothing wants who has no throughput to fail in its turn, and not to leave, and
// nothing to be sent: there is no part of nothing.
func TestNoPartOfNothing(t *testing.T) {
	part := []Level{{Percent: 50}}
	for _, m := range []Method{
		Latency{Loads: part, Duration: time.Second}, Campaign{Loads: part, Duration: time.Second},
		Soak{Loads: part, Time: time.Second, Interval: time.Second}, Isolation{Slices: EqualSlices(2), Base: 50, Overload: 150, Duration: time.Second},
		Recovery{Overload: time.Second, After: time.Second, ResetPPS: 1000},
	} {
		systems, _ := bedAnd("a")
		c := testConfig(systems)
		c.Methods, c.Repeats = []Method{m}, 1 // no search before
		lab, err := Run(t.Context(), c)
		if err != nil || lab.System("a").Missing != "" {
			t.Errorf("%s: got %v, missing %q", m.Name(), err, lab.System("a").Missing)
		}
		for _, turn := range lab.Turns {
			if lab.Plan.Cells[turn.Cell].Load != reset && (turn.Failed == "" || len(turn.Trials) > 0) {
				t.Errorf("%s: got %+v, want a turn that failed without a trial", m.Name(), turn)
			}
		}
	}
}

// TestRecoveryWithoutRestart wants the rest to be measured of what cannot be restarted.
func TestRecoveryWithoutRestart(t *testing.T) {
	systems, _ := bedAnd("a")
	systems[1].(*fake).fails = map[string]error{"restart": errors.ErrUnsupported}
	c := testConfig(systems)
	c.Methods = []Method{testThroughput, Recovery{Overload: time.Second, After: 2 * time.Second, ResetPPS: 1000}}
	lab, err := Run(t.Context(), c)
	if err != nil || lab.System("a").Missing != "" || 3*countOf(lab, "a") != 2*countOf(lab, "bed") {
		t.Errorf("got %v, %d good turns, of the bed %d, missing %q", err, countOf(lab, "a"), countOf(lab, "bed"), lab.System("a").Missing)
	}
}
