package method

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"plumbline/lab/report"
	"plumbline/lab/system"
)

// fake is a system that forwards so many frames per second and loses the rest. It keeps
// a diary, and fails where it is told to.
type fake struct {
	name     string
	capacity float64
	latency  int64   // ns, of every frame
	hinders  float64 // part of the sender's limit that is left at the highest rate; 0: all
	diary    *diary
	fails    map[string]error // by what is done: "start", "establish 20", "trial"

	running, started bool
	sessions         int
	rules            string
	cell             report.LabCell
}

// diary is what fakes did, in order.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) add(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (f *fake) Name() string { return f.name }

func (f *fake) Bed() string { return report.SystemBed }

func (f *fake) do(what string) error {
	f.diary.add("%s: %s", f.name, what)
	return f.fails[what]
}

func (f *fake) Start(context.Context) error {
	f.started = true
	return f.do("start")
}

func (f *fake) Describe() report.System { return report.System{Name: f.name, Version: "1"} }

func (f *fake) Turn(ctx context.Context, g func(context.Context) error) error {
	if f.running {
		return errors.New("turn within a turn")
	}
	f.running = true
	defer func() { f.running = false }()
	return g(ctx)
}

func (f *fake) Establish(_ context.Context, cell report.LabCell) error {
	f.sessions, f.rules = cell.Sessions, cell.Rules
	return f.do(fmt.Sprintf("establish %d%s", cell.Sessions, cell.Rules))
}

func (f *fake) Open(cell report.LabCell, _ uint32) error {
	if cell.Sessions != f.sessions || cell.Rules != f.rules {
		return fmt.Errorf("%d sessions of %d, rules %q of %q", cell.Sessions, f.sessions, cell.Rules, f.rules)
	}
	f.cell = cell
	return nil
}

func (f *fake) Trial(ctx context.Context, l system.Load) ([]report.Trial, error) {
	if err := errors.Join(ctx.Err(), f.do("trial")); err != nil {
		return nil, err
	}
	if !f.running {
		return nil, errors.New("trial out of turn")
	}
	if l.OnSample != nil {
		l.OnSample(system.Sample{Direction: f.cell.Direction})
	}
	directions := []report.Direction{f.cell.Direction}
	if f.cell.Direction == "" {
		directions = report.Directions
	}
	var trials []report.Trial
	for _, d := range directions {
		trials = append(trials, f.trial(d, l))
	}
	return trials, nil
}

// senderPPS is what the fake sender can do at most.
const senderPPS = 2e6

func (f *fake) trial(d report.Direction, l system.Load) report.Trial {
	seconds := l.Duration.Seconds()
	offered := float64(l.Rate)
	if l.Rate == 0 || offered > senderPPS {
		offered = senderPPS
	}
	if l.Rate == 0 && f.hinders > 0 {
		offered *= f.hinders
	}
	sent := uint64(offered * seconds)
	received := min(sent, uint64(f.capacity*seconds))
	intended := sent
	if l.Rate > 0 {
		intended = uint64(float64(l.Rate) * seconds)
	}
	ns := f.latency
	return report.Trial{
		DUT: f.name, Datapath: f.name, Direction: d, Sessions: f.cell.Sessions, Access: "uniform", FrameOctets: 60,
		IntendedPPS: float64(l.Rate), IntendedFrames: intended,
		OfferedPPS: offered, OfferedFrames: sent, SentFrames: sent,
		ReceivedPPS: float64(received) / seconds, ReceivedBPS: float64(received) / seconds * 480, ReceivedFrames: received,
		LossRatio:  float64(sent-received) / float64(sent),
		DurationNS: l.Duration.Nanoseconds(),
		CPU:        report.CPU{DUTPercent: 50},
		LatencyNS:  report.Latency{Min: ns, Mean: ns, P50: ns, P90: ns, P99: ns, P999: ns, P9999: ns, Max: ns},
	}
}

func (f *fake) Close() error {
	f.diary.add("%s: close", f.name)
	if !f.started {
		return errors.New("closed, but not started")
	}
	f.started = false
	return nil
}

// counting is a method that makes one trial, with a figure that says which.
type counting struct {
	loads []string
	trial func(ctx context.Context, t *Turn) error // nil: one of 1000 frames per second
}

func (counting) Name() string { return "counting" }

func (c counting) Cells(point report.LabCell) []report.LabCell {
	var cells []report.LabCell
	for _, load := range orNone(c.loads) {
		point.Method, point.Load = c.Name(), load
		cells = append(cells, point)
	}
	return cells
}

func (c counting) Measure(ctx context.Context, t *Turn) error {
	if c.trial != nil {
		return c.trial(ctx, t)
	}
	trials, err := t.Trial(ctx, report.Paced, system.Load{Rate: 1000, Duration: time.Second})
	if err != nil {
		return err
	}
	t.Figure(report.Figure{Name: "received", Unit: "pps", Better: report.Higher, Value: trials[0].ReceivedPPS})
	return nil
}

func (counting) Expected(report.LabCell) time.Duration { return time.Second }

func (counting) Options() map[string]string { return nil }
