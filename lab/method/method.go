package method

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/system"
)

// Method is one way to measure systems.
type Method interface {
	// Name is that of [report.LabCell], and of the command: "throughput".
	Name() string
	// Cells are what the method measures at one point of the axes: the point itself,
	// or one for each load. Their method is set.
	Cells(point report.LabCell) []report.LabCell
	// Measure has the turn of a system in a cell. What it has found when it fails is
	// kept, but the system is out.
	Measure(ctx context.Context, t *Turn) error
	// Expected is about how long a turn takes, before any was made.
	Expected(cell report.LabCell) time.Duration
	// Options are those of the method that are not axes, for [report.LabPlan].
	Options() map[string]string
}

// Turn is one system's turn in a cell, as a method sees it.
type Turn struct {
	Cell   report.LabCell
	System System
	// Trials are those of this turn with their figures, in the order in which they
	// were made: what becomes the result.
	Result report.Turn

	run *run
}

// trialTries is how often a trial is made in which nothing arrives: a busy machine
// may hold up a process for as long as a short trial lasts.
const trialTries = 3

// Trial sends a load and keeps what became of it. There is a trial for each direction
// of the cell. If the load says how often samples are taken, they are kept with it.
//
// Errors: [system.ErrNothing] with the trials, if it comes several times.
func (t *Turn) Trial(ctx context.Context, kind report.Kind, l system.Load) ([]report.Trial, error) {
	var kept course
	also := l.OnSample
	l.OnSample = func(s system.Sample) {
		t.run.observer.Sample(t.System.Name(), s)
		if l.SampleEvery > 0 {
			kept.add(s)
		}
		if also != nil {
			also(s)
		}
	}
	trials, err := t.System.Trial(ctx, l)
	for try := 1; errors.Is(err, system.ErrNothing) && try < trialTries; try++ {
		kept = nil
		trials, err = t.System.Trial(ctx, l)
	}
	kept.give(trials)
	for i := range trials {
		trials[i].Kind, trials[i].Repeat = kind, t.Result.Repeat
		if kind == report.Search || kind == report.Saturated { // too many, and the sender's queue as much as the path
			trials[i].LatencyCurve, trials[i].LatencyHistogram = nil, ""
		}
	}
	t.Result.Trials = append(t.Result.Trials, trials...)
	if err != nil {
		return trials, fmt.Errorf("%s: %w", describe(t.Cell), err)
	}
	return trials, nil
}

// steady is a load whose sender no ordinary program can interrupt: on a machine that is
// not at rest a sender would measure what the scheduler leaves to it.
func steady(pps uint64, d time.Duration) system.Load {
	return system.Load{Rate: pps, Duration: d, Realtime: true}
}

// Figure keeps a quantity that the turn measured.
func (t *Turn) Figure(f report.Figure) { t.Result.Figures = append(t.Result.Figures, f) }

// Say tells who waits how far the turn is.
func (t *Turn) Say(format string, args ...any) {
	t.run.observer.Detail(fmt.Sprintf(format, args...))
}

// Earlier returns the turns that a system has had in this run at the same point of the
// axes by a method, all loads of it, without failed ones.
func (t *Turn) Earlier(method, system string) []report.Turn {
	var turns []report.Turn
	for _, turn := range t.run.lab.Turns {
		if turn.System == system && turn.Failed == "" && t.run.lab.Plan.Cells[turn.Cell].Method == method &&
			samePoint(t.run.lab.Plan.Cells[turn.Cell], t.Cell) {
			turns = append(turns, turn)
		}
	}
	return turns
}

// samePoint reports whether two cells differ in method and load only.
func samePoint(a, b report.LabCell) bool {
	a.Method, a.Load = b.Method, b.Load
	return a == b
}

// describe says which cell it is, in a few words.
func describe(c report.LabCell) string {
	text := c.Method
	ways := ""
	if c.Frames != "" {
		ways = direction(c.Direction)
	}
	for _, part := range []string{ways, sessions(c.Sessions), frames(c.Frames), c.Rules, c.Churn, c.Load} {
		if part != "" {
			text += ", " + part
		}
	}
	return text
}

func direction(d report.Direction) string {
	if d == "" {
		return "both directions"
	}
	return string(d)
}

func sessions(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "1 session"
	}
	return fmt.Sprintf("%d sessions", n)
}

func frames(name string) string {
	if name == "" {
		return ""
	}
	return "frames " + name
}
