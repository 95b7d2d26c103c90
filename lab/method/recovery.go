package method

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/system"
)

// Recovery measures how long a system takes until it loses nothing again: after an
// overload of 110 % of its throughput, when the load falls to half of it; and after a
// reset, when the UPF was killed under load and started again, and the CP function has
// set up its sessions again.
//
// Of a bed the overload says what these links do, and the reset, that is none, how
// long a busy machine lets frames wait.
//
// Source: RFC 2544, 26.5 and 26.6; RFC 6201 (outage by lost frames and by time).
type Recovery struct {
	Overload time.Duration // how long 110 % are sent
	After    time.Duration // how long is looked for losses afterwards
	ResetPPS uint64        // load of the reset, frames per second and direction
}

// NameRecovery is the name of [Recovery].
const NameRecovery = "recovery"

const (
	overload = "overload" // loads of cells
	reset    = "reset"

	overloadPart, afterPart = 1.1, 0.5
	resetAfter              = 500 * time.Millisecond // of load, at least, once the sessions are there again

	killAfter = 500 * time.Millisecond // from the beginning of the load

	recoverySlots, recoveryLeast = 100, 50 * time.Millisecond // of the series
)

// Name is "recovery".
func (Recovery) Name() string { return NameRecovery }

// Cells are the point after an overload, and after a reset.
func (m Recovery) Cells(point report.LabCell) []report.LabCell {
	var list []report.LabCell
	for _, load := range []string{overload, reset} {
		point.Method, point.Load = m.Name(), load
		list = append(list, point)
	}
	return list
}

// Options say how much is sent for how long.
func (m Recovery) Options() map[string]string {
	return map[string]string{
		"overload": fmt.Sprintf("%g %% of the throughput for %v, then %g %% for %v", 100*overloadPart, m.Overload, 100*afterPart, m.After),
		"reset":    fmt.Sprintf("SIGKILL and start under %s, looked at for %v at least", rateText(m.ResetPPS), m.After),
	}
}

// Expected is both parts of the trial.
func (m Recovery) Expected(c report.LabCell) time.Duration {
	if c.Load == overload {
		return m.Overload + m.After
	}
	return m.After
}

// Measure makes the trial.
func (m Recovery) Measure(ctx context.Context, t *Turn) error {
	if t.Cell.Load == overload {
		return m.overload(ctx, t)
	}
	return m.reset(ctx, t)
}

// losses are those of a direction.
type losses struct {
	frames uint64
	end    time.Duration // of the last one
}

// overload sends more than the system carries, and looks for the last loss afterwards.
func (m Recovery) overload(ctx context.Context, t *Turn) error {
	throughput := t.throughput(t.System.Name())
	if throughput == 0 {
		return t.noThroughput()
	}
	of := map[report.Direction]*losses{report.Uplink: {}, report.Downlink: {}}
	l := system.Load{
		Rate: max(1, roundRate(afterPart*throughput)), Duration: m.After, WarmUp: m.Overload, WarmUpRate: roundRate(overloadPart * throughput), Realtime: true,
	}
	l.SampleEvery = slots(l.Duration, recoverySlots, recoveryLeast)
	var mu sync.Mutex
	l.OnLoss = func(x system.Loss) {
		mu.Lock()
		defer mu.Unlock()
		of[x.Direction].add(x)
	}
	trials, err := t.Trial(ctx, report.Paced, l)
	if err != nil {
		return err
	}
	for i := range trials {
		d := trials[i].Direction
		note := ""
		switch lost := trials[i].OfferedFrames - trials[i].ReceivedFrames; {
		case lost > of[d].frames:
			note = fmt.Sprintf("of %d frames it is not known when they were lost: the machine is too busy", lost-of[d].frames)
		case of[d].end >= m.After*9/10:
			note = "it still lost frames at the end"
		}
		t.Figure(report.Figure{Name: t.prefix(d) + "recovery after overload", Unit: "ns", Better: report.Lower, Value: float64(of[d].end), Note: note})
		t.Figure(report.Figure{Name: t.prefix(d) + "lost after overload", Unit: "frames", Better: report.Lower, Value: float64(trials[i].OfferedFrames - trials[i].ReceivedFrames)})
	}
	return nil
}

func (l *losses) add(x system.Loss) {
	if x.Unknown {
		return // the trial says how many of them were lost
	}
	l.frames += x.Frames
	l.end = max(l.end, x.At+x.Span)
}

// Restarter is a [System] whose UPF can be killed and started again while a trial is
// made.
type Restarter interface {
	// Restart has it back with the same sessions.
	//
	// Errors: [errors.ErrUnsupported] of what the lab did not start.
	Restart(ctx context.Context) (system.Restart, error)
}

// reset kills the UPF under load. The trial is made again, longer, if it ended before
// frames flowed again.
func (m Recovery) reset(ctx context.Context, t *Turn) error {
	const tries = 3
	l := steady(m.ResetPPS, m.After)
	for range tries {
		l.SampleEvery = slots(l.Duration, recoverySlots, recoveryLeast)
		trials, r, err := m.killed(ctx, t, l)
		if errors.Is(err, errors.ErrUnsupported) {
			t.Result.Failed = err.Error() // all else can be measured
			return nil
		}
		if err != nil {
			return err
		}
		if end := trials[0].Started.Add(l.Duration); r.Restored.Add(resetAfter).Before(end) {
			m.outage(t, trials, r)
			return nil
		}
		l.Duration = 2*l.Duration + r.Restored.Sub(r.Killed)
	}
	return fmt.Errorf("frames did not flow again within %v", l.Duration)
}

// killed makes a trial and a restart in the midst of it. A bed goes on.
func (m Recovery) killed(ctx context.Context, t *Turn, l system.Load) (trials []report.Trial, r system.Restart, err error) {
	restarted := make(chan error, 1)
	var once sync.Once
	target, can := t.System.(Restarter)
	can = can && t.System.Name() != t.System.Bed()
	if can {
		l.OnSample = func(s system.Sample) {
			if s.Elapsed < killAfter {
				return
			}
			once.Do(func() {
				go func() {
					var err error
					r, err = target.Restart(ctx)
					restarted <- err
				}()
			})
		}
	}
	trials, err = t.Trial(ctx, report.Paced, l)
	begun := true
	once.Do(func() { begun = false })
	if can && begun {
		err = errors.Join(<-restarted, err)
	} else if can && err == nil {
		err = errors.New("the trial was too short for a restart")
	}
	return trials, r, err
}

// outage keeps the figures of a restart.
func (m Recovery) outage(t *Turn, trials []report.Trial, r system.Restart) {
	if !r.Killed.IsZero() {
		t.Figure(report.Figure{Name: "N4 ready after reset", Unit: "ns", Better: report.Lower, Value: float64(r.Ready.Sub(r.Killed))})
		t.Figure(report.Figure{Name: "sessions there after reset", Unit: "ns", Better: report.Lower, Value: float64(r.Restored.Sub(r.Killed))})
	}
	for i := range trials {
		x := &trials[i]
		lost := float64(x.OfferedFrames - x.ReceivedFrames)
		prefix := t.prefix(x.Direction)
		t.Figure(report.Figure{Name: prefix + "outage, longest time without a frame", Unit: "ns", Better: report.Lower, Value: float64(x.GapNS)})
		t.Figure(report.Figure{Name: prefix + "outage, by lost frames", Unit: "ns", Better: report.Lower, Value: lost * 1e9 / x.IntendedPPS})
	}
}
