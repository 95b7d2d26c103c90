package method

import (
	"context"
	"time"

	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/system"
)

// Share offers as much as possible, or a given rate, and keeps what is received: of a UPF
// beside what the bed receives of the same frames. It looks for nothing, so it takes no longer
// than its trials.
type Share struct {
	Load     Level // as much as possible, or a rate
	Duration time.Duration
	// Programs has a short trial follow in which the kernel adds up the run time of the
	// UPF's BPF program, if it has one.
	Programs bool
}

// NameShare is the name of [Share].
const NameShare = "share"

// accounting is how long a trial is in which the kernel adds up the run time of programs, at most.
const accounting = time.Second

// ProgramSystem is a system whose BPF programs can be accounted for.
type ProgramSystem interface {
	System
	// Program sends frames in a direction while the kernel adds up the run time of the XDP
	// program that takes them, which slows it a little. Its name is empty if there is none, or
	// if the kernel does not account.
	Program(ctx context.Context, d report.Direction, l system.Load) (name string, nsPerRun float64, err error)
}

// Name is "share".
func (Share) Name() string { return NameShare }

// Cells are the point at the load.
func (m Share) Cells(point report.LabCell) []report.LabCell {
	return cells(point, m.Name(), []Level{m.Load})
}

// Options say how long trials are.
func (m Share) Options() map[string]string {
	return map[string]string{m.Name(): "trials of " + m.Duration.String()}
}

// Expected is the trial, and that for programs.
func (m Share) Expected(report.LabCell) time.Duration {
	expected := system.At(0, m.Duration).Time()
	if m.Programs {
		expected += system.At(0, min(accounting, m.Duration)).Time()
	}
	return expected
}

// Measure makes the trials.
func (m Share) Measure(ctx context.Context, t *Turn) error {
	trials, err := m.trials(ctx, t)
	if err != nil {
		return err
	}
	received := sum(trials, receivedPPS)
	t.Figure(report.Figure{Name: report.FigureReceived, Unit: "pps", Better: report.Higher, Value: received})
	t.Figure(report.Figure{Name: report.FigureLoss, Unit: "ratio", Better: report.Lower, Value: lossOf(trials)})
	if bed := t.bedReceived(); m.Load.Max && bed > 0 && received > 0 && t.System.Bed() != t.System.Name() {
		t.Figure(report.Figure{Name: report.FigureAdded, Unit: "ns", Better: report.Lower, Value: 1e9/received - 1e9/bed})
	}
	t.cost(trials)
	if !m.Load.Max {
		for i := range trials {
			t.latency(&trials[i])
		}
	}
	return m.programs(ctx, t)
}

func (m Share) trials(ctx context.Context, t *Turn) ([]report.Trial, error) {
	if m.Load.Max {
		return t.most(ctx, m.Duration)
	}
	return t.Trial(ctx, report.Paced, m.Load.paced(m.Load.PPS, m.Duration))
}

// bedReceived is what the bed received in the same cell and repeat; 0: there is none.
func (t *Turn) bedReceived() float64 {
	for _, turn := range t.run.lab.Turns {
		if turn.System == t.System.Bed() && turn.Cell == t.Result.Cell && turn.Repeat == t.Result.Repeat {
			if f := turn.Figure(report.FigureReceived); f != nil {
				return f.Value
			}
		}
	}
	return 0
}

// programs keeps what a run of the UPF's program takes.
func (m Share) programs(ctx context.Context, t *Turn) error {
	s, ok := t.System.(ProgramSystem)
	if !m.Programs || !ok || t.System.Bed() == t.System.Name() || t.Cell.Direction == "" {
		return nil
	}
	name, ns, err := s.Program(ctx, t.Cell.Direction, m.Load.load(m.Load.PPS, min(accounting, m.Duration)))
	if err != nil || name == "" {
		return err
	}
	t.Figure(report.Figure{Name: "BPF program, a run", Unit: "ns", Better: report.Lower, Value: ns, Note: name + ", of which some is the kernel's accounting"})
	return nil
}
