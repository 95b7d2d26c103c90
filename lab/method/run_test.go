package method

import (
	"context"

	"errors"

	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/system"
)

// bedAnd returns fakes of these names behind the bed, and what they write into.
func bedAnd(names ...string) ([]System, *diary) {
	d := &diary{}
	systems := []System{&fake{name: report.SystemBed, capacity: 1e9, latency: 1000, diary: d}}
	for _, name := range names {
		systems = append(systems, &fake{name: name, capacity: 5e5, latency: 5000, diary: d})
	}
	return systems, d
}

func testConfig(systems []System) Config {
	return Config{
		Methods: []Method{counting{}},
		Axes:    Axes{Sessions: []int{20, 1}, Frames: []string{"64"}, Directions: []report.Direction{report.Uplink}, Access: "uniform"},
		Systems: systems,
		Repeats: 2, Duration: time.Second,
		Host: report.Host{CPUs: 1, Kernel: "6.18", CommandLine: "plumb lab counting"},
	}
}

// TestTurns wants the bed and the systems to take turns, sessions to be added, and all
// to be closed.
func TestTurns(t *testing.T) {
	systems, d := bedAnd("a", "b")
	lab, err := Run(t.Context(), testConfig(systems))
	if err != nil {
		t.Fatal(err)
	}
	turns := []string{"bed: trial", "a: trial", "b: trial"}
	want := slices.Concat(
		[]string{"bed: start", "a: start", "b: start", "bed: establish 1", "a: establish 1", "b: establish 1"}, turns, turns,
		[]string{"bed: establish 20", "a: establish 20", "b: establish 20"}, turns, turns,
		[]string{"bed: close", "a: close", "b: close"})
	if diff := cmp.Diff(want, d.lines); diff != "" {
		t.Errorf("want-, got+:\n%s", diff)
	}
	if len(lab.Turns) != 2*2*3 || lab.Finished == nil {
		t.Errorf("got %d turns, finished %v, want 12 and a time", len(lab.Turns), lab.Finished)
	}
	for _, turn := range lab.Turns {
		if f := turn.Figure("received"); f == nil || f.Value != 1000 || len(turn.Trials) != 1 || turn.Trials[0].Repeat != turn.Repeat {
			t.Errorf("turn of %s: %+v", turn.System, turn)
		}
	}
	if err := lab.Validate(); err != nil {
		t.Error(err)
	}
}

// TestRules wants other rules to have the sessions established anew.
func TestRules(t *testing.T) {
	systems, d := bedAnd("a")
	c := testConfig(systems)
	c.Axes.Rules, c.Axes.Sessions, c.Repeats = []string{"", "URR"}, []int{1}, 1
	lab, err := Run(t.Context(), c)
	if err != nil || len(lab.Turns) != 4 {
		t.Fatalf("got %v, %d turns, want 4", err, len(lab.Turns))
	}
	want := []string{"bed: start", "a: start",
		"bed: establish 1", "a: establish 1", "bed: trial", "a: trial",
		"bed: establish 1URR", "a: establish 1URR", "bed: trial", "a: trial",
		"bed: close", "a: close"}
	if diff := cmp.Diff(want, d.lines); diff != "" {
		t.Errorf("want-, got+:\n%s", diff)
	}
}

// TestSystemLeaves wants who fails to be out, with the reason, and the others to go on.
func TestSystemLeaves(t *testing.T) {
	for _, where := range []string{"start", "establish 20", "trial"} {
		systems, d := bedAnd("a", "b")
		systems[1].(*fake).fails = map[string]error{where: errors.New("a is broken")}
		o := &listener{}
		c := testConfig(systems)
		c.Observer = o
		lab, err := Run(t.Context(), c)
		if err != nil {
			t.Errorf("%s: %v", where, err)
			continue
		}
		if got := lab.System("a").Missing; !strings.Contains(got, "a is broken") || len(o.left) != 1 {
			t.Errorf("%s: missing is %q, heard %v", where, got, o.left)
		}
		if lab.System("b").Missing != "" || countOf(lab, "b") != 4 || countOf(lab, report.SystemBed) != 4 {
			t.Errorf("%s: b has %d turns, bed %d, want 4 each", where, countOf(lab, "b"), countOf(lab, report.SystemBed))
		}
		if n := count(d.lines, "a: close"); n != 1 {
			t.Errorf("%s: a was closed %d times", where, n)
		}
		if err := lab.Validate(); err != nil {
			t.Errorf("%s: %v", where, err)
		}
	}
}

// TestReadmitted wants who cannot have some rules to be there again for others, and
// the reason to stay.
func TestReadmitted(t *testing.T) {
	systems, d := bedAnd("a", "b")
	systems[1].(*fake).fails = map[string]error{"establish 1URR": errors.New("no URR")}
	c := testConfig(systems)
	c.Axes.Rules, c.Axes.Sessions = []string{"URR", ""}, []int{1}
	lab, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if countOf(lab, "a") != 2 || countOf(lab, "b") != 4 || count(d.lines, "a: start") != 2 || count(d.lines, "a: close") != 2 {
		t.Errorf("got %d turns of a, %d of b: %v", countOf(lab, "a"), countOf(lab, "b"), d.lines)
	}
	if got := lab.System("a").Missing; got != "counting, uplink, 1 session, frames 64, URR: no URR" {
		t.Errorf("missing is %q", got)
	}
}

// TestReadmittedAll wants other rules to be measured when all have left for some, and what
// the last of them had found to be kept.
func TestReadmittedAll(t *testing.T) {
	for _, rules := range [][]string{{"URR", ""}, {"", "URR"}} {
		systems, d := bedAnd("a", "b")
		for _, s := range systems[1:] {
			s.(*fake).fails = map[string]error{"establish 1URR": errors.New("no URR")}
		}
		c := testConfig(systems)
		c.Axes.Rules, c.Axes.Sessions = rules, []int{1}
		lab, err := Run(t.Context(), c)
		if last := rules[1] != ""; errors.Is(err, errNoneLeft) != last || err != nil && !last {
			t.Errorf("%q: got %v", rules, err)
		}
		if countOf(lab, "a") != 2 || countOf(lab, "b") != 2 {
			t.Errorf("%q: got %d turns of a, %d of b: %v", rules, countOf(lab, "a"), countOf(lab, "b"), d.lines)
		}
	}
}

// TestLastTurnIsKept wants the turn in which the last system leaves to be in the result,
// and in the file why it did.
func TestLastTurnIsKept(t *testing.T) {
	broken := errors.New("broken")
	systems, _ := bedAnd("a")
	c := testConfig(systems)
	c.File = filepath.Join(t.TempDir(), "r.json")
	c.Methods = []Method{counting{trial: func(ctx context.Context, turn *Turn) error {
		if _, err := turn.Trial(ctx, report.Paced, system.Load{Rate: 1000, Duration: time.Second}); err != nil || turn.System.Name() == "bed" {
			return err
		}
		return broken
	}}}
	_, err := Run(t.Context(), c)
	if !errors.Is(err, broken) || !errors.Is(err, errNoneLeft) {
		t.Errorf("got %v, want that none is left because of %v", err, broken)
	}
	lab, err := report.ReadLabFile(c.File)
	if err != nil {
		t.Fatal(err)
	}
	last := lab.Turns[len(lab.Turns)-1]
	if last.System != "a" || last.Failed != "broken" || len(last.Trials) != 1 || lab.System("a").Missing != "broken" {
		t.Errorf("got %+v, missing %q, want the trial of a that broke", last, lab.System("a").Missing)
	}
}

// TestNothingToCompareWith wants an end when the bed fails, or all others have.
func TestNothingToCompareWith(t *testing.T) {
	broken := errors.New("broken")
	systems, d := bedAnd("a")
	systems[0].(*fake).fails = map[string]error{"trial": broken}
	if _, err := Run(t.Context(), testConfig(systems)); !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "bed: ") {
		t.Errorf("got %v, want that the bed is broken", err)
	}
	if count(d.lines, "a: close")+count(d.lines, "bed: close") != 2 {
		t.Errorf("not all closed: %v", d.lines)
	}
	systems, _ = bedAnd("a", "b")
	for _, s := range systems[1:] {
		s.(*fake).fails = map[string]error{"start": broken}
	}
	if _, err := Run(t.Context(), testConfig(systems)); !errors.Is(err, broken) || !strings.Contains(err.Error(), "no system is left") {
		t.Errorf("got %v, want that none is left", err)
	}
}

// TestResume interrupts a run after each number of turns, and wants it to go on to the
// same result, with no turn made twice.
func TestResume(t *testing.T) {
	for after := 1; after < 12; after++ {
		file := filepath.Join(t.TempDir(), "r.json")
		ctx, cancel := context.WithCancel(t.Context())
		systems, _ := bedAnd("a", "b")
		c := testConfig(systems)
		c.File = file
		c.Observer = &listener{onTurn: func(n int) {
			if n == after {
				cancel()
			}
		}}
		if _, err := Run(ctx, c); !errors.Is(err, context.Canceled) {
			t.Fatalf("after %d: got %v, want canceled", after, err)
		}
		systems, d := bedAnd("a", "b")
		c = testConfig(systems)
		c.File = file
		var err error
		if c.Resume, err = report.ReadLabFile(file); err != nil {
			t.Fatal(err)
		}
		if len(c.Resume.Turns) != after {
			t.Errorf("after %d: the file has %d turns", after, len(c.Resume.Turns))
		}
		lab, err := Run(t.Context(), c)
		if err != nil || len(lab.Turns) != 12 || countSuffix(d.lines, ": trial") != 12-after {
			t.Errorf("after %d: %v, %d turns, %d trials after the interruption", after, err, len(lab.Turns), countSuffix(d.lines, ": trial"))
		}
		if err := lab.Validate(); err != nil { // no turn twice
			t.Error(err)
		}
		stored, err := report.ReadLabFile(file)
		if err != nil || !reflect.DeepEqual(stored, lab) {
			t.Errorf("after %d: the file is not the result: %v\n%s", after, err, cmp.Diff(lab, stored))
		}
	}
}

// TestResumeTriesAgain wants a system that failed to have another chance.
func TestResumeTriesAgain(t *testing.T) {
	systems, _ := bedAnd("a", "b")
	systems[1].(*fake).fails = map[string]error{"trial": errors.New("broken")}
	lab, err := Run(t.Context(), testConfig(systems))
	if err != nil {
		t.Fatal(err)
	}
	systems, _ = bedAnd("a", "b")
	c := testConfig(systems)
	c.Resume = lab
	lab, err = Run(t.Context(), c)
	if err != nil || countOf(lab, "a") != 4 || lab.System("a").Missing != "" {
		t.Errorf("got %v, %d turns of a, missing %q, want 4 and nothing", err, countOf(lab, "a"), lab.System("a").Missing)
	}
}

// TestResumeOfSomethingElse wants results of other runs to be refused.
func TestResumeOfSomethingElse(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"sessions": func(c *Config) { c.Axes.Sessions = []int{1} },
		"repeats":  func(c *Config) { c.Repeats = 3 },
		"systems": func(c *Config) {
			systems, _ := bedAnd("a")
			c.Systems = systems
		},
		"kernel": func(c *Config) { c.Host.Kernel = "6.12" },
		"commit": func(c *Config) { c.Host.Commit = "0" },
		"loads":  func(c *Config) { c.Methods = []Method{counting{loads: []string{"50 %"}}} },
	} {
		systems, _ := bedAnd("a", "b")
		c := testConfig(systems)
		lab, err := Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		c.Resume = lab
		change(&c)
		if _, err := Run(t.Context(), c); !errors.Is(err, ErrPlan) || !strings.Contains(err.Error(), "plumb lab counting") {
			t.Errorf("other %s: got %v, want %v and the command", name, err, ErrPlan)
		}
	}
}

// TestNothingArrivesOnce wants a trial without frames to be made again.
func TestNothingArrivesOnce(t *testing.T) {
	systems, d := bedAnd("a")
	a := systems[1].(*fake)
	a.fails = map[string]error{"trial": system.ErrNothing}
	c := testConfig(systems)
	c.Axes.Sessions, c.Repeats = []int{1}, 1
	c.Methods = []Method{counting{trial: func(ctx context.Context, turn *Turn) error {
		_, err := turn.Trial(ctx, report.Paced, system.Load{Rate: 1000, Duration: time.Second})
		return err
	}}}
	_, err := Run(t.Context(), c)
	if !errors.Is(err, system.ErrNothing) || count(d.lines, "a: trial") != trialTries {
		t.Errorf("got %v after %d trials, want %d", err, count(d.lines, "a: trial"), trialTries)
	}
}

// TestEstimate wants the time left to fall to nothing, by what turns really take.
func TestEstimate(t *testing.T) {
	systems, _ := bedAnd("a", "b")
	c := testConfig(systems)
	o := &listener{}
	c.Observer = o
	if _, err := Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	first, last := o.steps[0], o.steps[len(o.steps)-1]
	if left := first.Total - first.Before; left < 12*time.Second || left > 20*time.Second {
		t.Errorf("at first %v are left, want about 12 turns of 1 s", left)
	}
	if left := last.Total - last.Before; left > time.Second {
		t.Errorf("at the last turn %v are left: turns take microseconds", left)
	}
	if want := "b: counting, uplink, 20 sessions, frames 64, 2/2"; last.Name != want {
		t.Errorf("got %q, want %q", last.Name, want)
	}
}

// listener remembers what it hears.
type listener struct {
	steps  []report.Step
	left   []string
	turns  int
	onTurn func(n int)
}

func (l *listener) Step(s report.Step)           { l.steps = append(l.steps, s) }
func (l *listener) Detail(string)                {}
func (l *listener) Sample(string, system.Sample) {}
func (l *listener) Left(name, _ string)          { l.left = append(l.left, name) }
func (l *listener) Turn(report.LabCell, report.Turn) {
	l.turns++
	if l.onTurn != nil {
		l.onTurn(l.turns)
	}
}

func countOf(lab *report.Lab, system string) int {
	n := 0
	for _, t := range lab.Turns {
		if t.System == system && t.Failed == "" {
			n++
		}
	}
	return n
}

func count(lines []string, line string) int {
	n := 0
	for _, l := range lines {
		if l == line {
			n++
		}
	}
	return n
}

func countSuffix(lines []string, suffix string) int {
	n := 0
	for _, l := range lines {
		if strings.HasSuffix(l, suffix) {
			n++
		}
	}
	return n
}
