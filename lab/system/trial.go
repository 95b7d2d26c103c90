package system

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/host"
	"github.com/plumbline-upf/plumbline/lab/meter"
	"github.com/plumbline-upf/plumbline/lab/n4load"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/timestamp"
)

// ErrNothing says that there is nothing to measure: in some direction nothing was
// sent, or nothing arrived. A busy machine may hold up a process for as long as a
// short trial lasts; if it comes again, nothing is forwarded.
var ErrNothing = errors.New("nothing to measure")

// trial is what one trial has to do with.
type trial struct {
	system  *System
	load    Load
	passes  []*pass
	churned *n4load.LoadReport // nil: no churn
	started time.Time
	cpu     report.CPU
	drops   map[string]uint64
}

// pass is one direction of a trial.
type pass struct {
	*lane
	cpu      int      // of the sender; -1: any
	first    []uint64 // sequence number of the first frame that counts, by stream
	sent     generator.Result
	refused  refusal
	received meter.Stream         // of all streams together
	streams  []meter.Stream       // of each
	stamps   *timestamp.Collector // nil: none
}

// Trial offers the load in all directions that are open, at the same time, and returns
// what became of it, one trial for each direction. Kind, Repeat and shares of the bed
// limit are the caller's. The first frames, sent before the meters are set to zero,
// warm up what the path resolves and caches.
//
// Errors: [ErrNothing] with the trials, whose figures are those of a loss of all
// frames.
func (s *System) Trial(ctx context.Context, l Load) ([]report.Trial, error) {
	if err := l.validate(); err != nil {
		return nil, fmt.Errorf("trial: %w", err)
	}
	t := &trial{system: s, load: l}
	for _, lane := range s.lanes {
		if l.Direction == "" || l.Direction == lane.direction {
			t.passes = append(t.passes, &pass{lane: lane, cpu: s.config.CPUs.sender(len(t.passes))})
		}
	}
	if len(t.passes) == 0 {
		return nil, fmt.Errorf("trial: nothing is open %s", l.Direction)
	}
	if err := t.run(ctx); err != nil {
		return nil, err
	}
	return t.results()
}

func (t *trial) run(ctx context.Context) (err error) {
	if top := t.system.topology; t.system.config.Skbs && t.system.config.External == nil { // the meter counts packets, and not runs of them
		if err := top.LeaveUDPWhole(false); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, top.LeaveUDPWhole(true)) }()
	}
	for _, p := range t.passes {
		if err := t.system.attach(p.lane); err != nil {
			return err
		}
	}
	unstamp, err := t.stamp()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unstamp()) }()
	if err := t.warmUp(ctx); err != nil {
		return err
	}
	kept, err := t.system.carriers()
	if err != nil {
		return err
	}
	follow, err := t.follow(ctx)
	if err != nil {
		return err
	}
	if err = t.beginRefusals(); err == nil {
		err = t.measure(ctx)
	}
	if err == nil {
		err = t.endRefusals()
	}
	if err == nil {
		err = t.drain(ctx, func(p *pass, s *meter.Snapshot) error {
			p.received, p.streams = together(s.Streams), s.Streams
			return nil
		})
	}
	return errors.Join(err, follow(err == nil), kept())
}

// carriers returns what wants no link of the laboratory to have lost its carrier meanwhile.
// A UPF that is killed and started again may let go of its end.
func (s *System) carriers() (kept func() error, err error) {
	restarted := s.restarts.Load()
	c, err := s.topology.Carriers()
	return func() error {
		if s.restarts.Load() != restarted {
			return nil
		}
		return c.Kept()
	}, err
}

// warmUp sends frames that do not count.
func (t *trial) warmUp(ctx context.Context) error {
	err := t.each(ctx, func(ctx context.Context, p *pass) error {
		_, err := p.generator.Run(ctx, t.load.before(p))
		return err
	})
	if err != nil {
		return err
	}
	if t.load.WarmUpRate > 0 {
		for _, p := range t.passes {
			if err := p.begin(); err != nil {
				return err
			}
		}
		return nil
	}
	return t.drain(ctx, func(p *pass, _ *meter.Snapshot) error { return p.begin() })
}

// begin has frames counted from the next one on.
func (p *pass) begin() (err error) {
	if p.first, err = p.generator.Sequences(); err != nil {
		return err
	}
	if p.stamps != nil {
		if err := p.at.Stamp(true, p.stamps.Shift()); err != nil {
			return err
		}
	}
	return p.at.ResetFrom(p.first...)
}

// measure runs the load and notes what CPUs and UPF did meanwhile.
func (t *trial) measure(ctx context.Context) error {
	churn, err := t.system.prepareChurn(ctx, t.load)
	if err != nil {
		return err
	}
	dropsBefore, err := t.system.drops(ctx)
	if err != nil {
		return err
	}
	before, err := t.system.times()
	if err != nil {
		return err
	}
	t.started = time.Now().UTC()
	stop := t.sample(ctx, before, dropsBefore)
	err = t.each(ctx, func(ctx context.Context, p *pass) (err error) {
		p.sent, err = p.generator.Run(ctx, t.load.counted(p))
		return err
	}, func(ctx context.Context) (err error) {
		t.churned, err = churn(ctx)
		return err
	})
	if err := errors.Join(err, stop()); err != nil {
		return err
	}
	after, err := t.system.times()
	if err != nil {
		return err
	}
	t.cpu = after.Since(before)
	drops, err := t.system.drops(ctx)
	t.drops = less(drops, dropsBefore)
	return err
}

// each does f with all passes at the same time, and others besides. The first error
// ends all.
func (t *trial) each(ctx context.Context, f func(context.Context, *pass) error, others ...func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	do := func(f func() error) {
		running.Go(func() {
			if err := f(); err != nil {
				cancel(err)
			}
		})
	}
	for _, p := range t.passes {
		do(func() error { return f(ctx, p) })
	}
	for _, other := range others {
		do(func() error { return other(ctx) })
	}
	running.Wait()
	return context.Cause(ctx)
}

// drain waits until nothing arrives any more, and hands on what has.
func (t *trial) drain(ctx context.Context, f func(*pass, *meter.Snapshot) error) error {
	for _, p := range t.passes {
		s, err := drained(ctx, p.at)
		if err == nil {
			err = f(p, s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// drained returns what the meter has seen once nothing more has arrived for a while:
// a UPF may hold many frames in its queues.
func drained(ctx context.Context, m *meter.Meter) (*meter.Snapshot, error) {
	const often, polls, most = settle / 5, 5, 200
	last, quiet := uint64(0), 0
	for range most {
		time.Sleep(often)
		s, err := m.Read()
		if err != nil || ctx.Err() != nil {
			return s, errors.Join(err, ctx.Err())
		}
		received := uint64(0)
		for i := range s.Streams {
			received += s.Streams[i].Received
		}
		if quiet++; received != last {
			last, quiet = received, 0
		}
		if quiet == polls {
			return s, nil
		}
	}
	return nil, fmt.Errorf("frames still arrive %v after the last was sent", most*often)
}

// times are those of the CPUs, and of the UPF where there is one that runs.
func (s *System) times() (host.Times, error) {
	d := s.running()
	if d == nil {
		return host.ReadTimes(nil)
	}
	t, err := host.ReadTimes(d)
	if err != nil && s.running() != d { // it has ended meanwhile
		return host.ReadTimes(nil)
	}
	return t, err
}

// drops are what the UPF says that it dropped so far, by reason; nil if it does not.
func (s *System) drops(ctx context.Context) (map[string]uint64, error) {
	d := s.running()
	if d == nil || !d.Kind.Own {
		return nil, nil
	}
	drops, err := d.Drops(ctx)
	if err != nil && s.running() != d {
		return nil, nil
	}
	return drops, err
}

// less returns by how much counts have grown.
func less(now, before map[string]uint64) map[string]uint64 {
	grown := map[string]uint64{}
	for name, n := range now {
		if n > before[name] {
			grown[name] = n - before[name]
		}
	}
	return grown
}
