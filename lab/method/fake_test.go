package method

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/system"
	"github.com/plumbline-upf/plumbline/lab/traffic"
)

// fake is a system that forwards so many frames per second and loses the rest. It keeps
// a diary, and fails where it is told to.
type fake struct {
	name     string
	capacity float64
	latency  int64         // ns, of every frame
	buffer   uint64        // frames of a burst that it takes
	recovers time.Duration // how long it loses half of the frames after an overload
	restarts int
	leak     uint64 // octets, of each look at its memory; 0: it has no processes
	memory   uint64
	profile  *traffic.Profile // that is open
	hinders  float64          // part of the sender's limit that is left at the highest rate; 0: all
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
	directions := []report.Direction{f.cell.Direction}
	if f.cell.Direction == "" {
		directions = report.Directions
	}
	var trials []report.Trial
	for _, d := range directions {
		trials = append(trials, f.trial(d, l))
		if l.OnSample != nil {
			l.OnSample(f.sample(d, l))
		}
	}
	return trials, nil
}

// sample is one of a trial, taken at its end.
func (f *fake) sample(d report.Direction, l system.Load) system.Sample {
	s := system.Sample{Direction: d, Elapsed: l.Duration, ReceivedPPS: 1}
	if f.profile != nil && l.AsProfile && l.SampleEvery > 0 {
		for range f.profile.Streams {
			s.Streams = append(s.Streams, report.Slot{AtNS: l.Duration.Nanoseconds()})
		}
	}
	return s
}

func (f *fake) Memory() (*report.Memory, error) {
	if f.leak == 0 {
		return nil, nil
	}
	f.memory += f.leak
	return &report.Memory{ResidentOctets: f.memory}, nil
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
	if l.Frames > 0 {
		sent, received = l.Frames, min(l.Frames, f.buffer)
	}
	if lost := uint64(f.recovers.Seconds() * offered); float64(l.WarmUpRate) > f.capacity && l.OnLoss != nil && lost > 0 {
		received -= lost
		l.OnLoss(system.Loss{Direction: d, Span: f.recovers, Frames: lost})
	}
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
		Started:    time.Now().UTC().Round(0), GapNS: int64(f.restarts) * 1e9, Streams: f.streams(d, l),
		LatencyNS: report.Latency{Min: ns, Mean: ns, P50: ns, P90: ns, P99: ns, P999: ns, P9999: ns, Max: ns},
	}
}

// streams are those of a profile, which share what there is.
func (f *fake) streams(d report.Direction, l system.Load) []report.StreamTrial {
	if f.profile == nil || !l.AsProfile {
		return nil
	}
	total := 0.0
	for _, s := range f.profile.Streams {
		total += s.Rate.PPS
	}
	part := min(1, f.capacity/total)
	var list []report.StreamTrial
	for _, s := range f.profile.Streams {
		list = append(list, report.StreamTrial{
			Name: s.Name, OfferedPPS: s.Rate.PPS, ReceivedPPS: part * s.Rate.PPS, LossRatio: 1 - part, LatencyNS: report.Latency{P50: 7, P90: 8, P99: 9, P999: 9, P9999: 9, Max: 9},
		})
	}
	return list
}

func (f *fake) OpenProfile(p *traffic.Profile, _ uint32) error {
	f.profile = p
	return nil
}

func (f *fake) Restart(context.Context) (system.Restart, error) {
	f.restarts++
	now := time.Now()
	return system.Restart{Killed: now, Ready: now.Add(time.Millisecond), Restored: now.Add(2 * time.Millisecond)}, f.do("restart")
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
