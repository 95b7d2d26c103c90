package probecmd

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/lab/host"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/probe"
	"github.com/plumbline-upf/plumbline/probe/export"
	"github.com/plumbline-upf/plumbline/probe/find"
	"github.com/plumbline-upf/plumbline/probe/slicemap"
	"github.com/plumbline-upf/plumbline/probe/watch"
)

// Run measures until its time is up or it is stopped, and prints what came of it.
func (c *runCommand) Run(ctx context.Context, stdout io.Writer) error {
	selector, err := c.selector()
	if err == nil {
		err = c.validate()
	}
	if err != nil {
		return err
	}
	if err := cli.NeedsRoot("probe"); err != nil {
		return err
	}
	if err := cli.CheckOutputs(c.CSV, c.Parquet, c.Published, c.Hlog); err != nil {
		return err
	}
	files, err := c.open()
	if err != nil {
		return err
	}
	result, err := c.measure(ctx, selector)
	if result == nil {
		return errors.Join(err, files.Discard())
	}
	return errors.Join(err, c.write(stdout, files, result), result.Usable())
}

// measure returns what was measured before an error as well, if there was anything.
func (c *runCommand) measure(ctx context.Context, selector find.Selector) (_ *report.Probe, err error) {
	view := newLiveView(os.Stderr, c)
	defer view.Close()
	config, err := c.config(selector, view)
	if err != nil {
		return nil, err
	}
	w, err := watch.Open(ctx, config)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	r := &probeRun{command: c, watch: w, log: config.Log, view: view}
	if err := r.start(ctx); err != nil {
		return nil, err
	}
	return r.run(ctx)
}

// config is what is watched.
func (c *runCommand) config(selector find.Selector, log io.Writer) (watch.Config, error) {
	config := watch.Config{
		Selector: selector, NoN4: c.NoN4, Wait: c.Metrics != "",
		Probe: probe.Config{InFlight: c.InFlight, Timeout: c.Timeout, NAT: c.NAT, Timed: uint32(c.timed()), Sample: c.sampling(), Stats: c.Stats, Parts: c.Parts},
		Log:   slog.New(slog.NewTextHandler(log, nil)),
	}
	if c.Slices == "" {
		return config, nil
	}
	slices, err := slicemap.Load(c.Slices)
	if err != nil {
		return config, cli.Usage(err)
	}
	config.Slices = slices
	return config, nil
}

// probeRun is a run of plumb probe.
type probeRun struct {
	command  *runCommand
	watch    *watch.Watch
	log      *slog.Logger
	first    *probe.Snapshot
	recorder *export.Recorder
	n4       *export.N4
	metrics  export.Metrics
	samples  *sampleFiles
	hlog     *hlogFile // nil: none
	view     *liveView
}

// start takes the first look, and opens what is written to while it runs.
func (r *probeRun) start(ctx context.Context) (err error) {
	if r.first, r.n4, err = r.watch.Read(); err != nil {
		return err
	}
	r.recorder = export.NewRecorder(r.first)
	clock := export.Clock{At: r.first.At, MonotonicNs: r.first.MonotonicNs}
	r.samples, err = r.command.create(clock, func(s *probe.Sample) string { return r.watch.Entry(s.UPF, s.Direction) })
	if err != nil {
		return err
	}
	if r.command.Hlog != "" {
		if r.hlog, err = createHlog(r.command.Hlog, r.recorder); err != nil {
			return err
		}
	}
	if r.command.Metrics != "" {
		if err := cli.ServeMetrics(ctx, r.command.Metrics, "probe", r.log, &r.metrics); err != nil {
			return err
		}
	}
	r.log.Info("probe: up", "upfs", len(r.watch.UPFs()))
	return nil
}

// run looks once in an interval, until the time is up or the context ends.
func (r *probeRun) run(ctx context.Context) (*report.Probe, error) {
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	group, background := errgroup.WithContext(background)
	group.Go(func() error { return unlessDone(background, r.watch.Run(background)) })
	if r.command.sampled() {
		group.Go(func() error { return unlessDone(background, r.watch.Samples(background, r.samples.write)) })
	}
	err := r.follow(ctx, background)
	var result *report.Probe
	if err == nil {
		result, err = r.settle()
	}
	stop()
	err = errors.Join(err, group.Wait(), r.samples.close())
	if r.hlog != nil {
		err = errors.Join(err, r.hlog.close())
	}
	return result, err
}

// unlessDone is what went wrong, but for the end that was asked for.
func unlessDone(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// follow ends with the first context or the time that was given; what runs in the
// background ends it as well.
func (r *probeRun) follow(ctx, background context.Context) error {
	var end <-chan time.Time
	if r.command.Duration > 0 {
		end = time.After(r.command.Duration)
	}
	ticker := time.NewTicker(r.command.Interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return r.look()
		case <-background.Done():
			return nil
		case <-end:
			return r.look()
		case <-ticker.C:
			if err := r.look(); err != nil {
				return err
			}
		}
	}
}

// look takes a snapshot to all who want one.
func (r *probeRun) look() error {
	s, n4, err := r.watch.Read()
	if err != nil {
		return err
	}
	r.recorder.Add(s)
	r.n4 = n4
	if r.hlog != nil {
		if err := r.hlog.Add(r.recorder); err != nil {
			return err
		}
	}
	r.metrics.Set(r.first, s, r.watch.Names(), n4, r.counted())
	r.view.show(r)
	return nil
}

// counted is what became of samples so far.
func (r *probeRun) counted() export.Samples {
	return export.Samples{Written: r.samples.written.Load(), Lost: r.watch.SamplesLost()}
}

// settle lets no further packets in, waits until those that are inside have left or are
// lost, and returns what was measured.
func (r *probeRun) settle() (*report.Probe, error) {
	const every = 20 * time.Millisecond
	if err := r.watch.Leave(); err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(r.command.Timeout + time.Second); ; time.Sleep(every) {
		s, n4, err := r.watch.Read()
		if err != nil {
			return nil, err
		}
		r.recorder.Settle(s)
		r.n4 = n4
		if r.recorder.Total().InFlight == 0 || time.Now().After(deadline) {
			return r.result()
		}
	}
}

// result is all of it.
func (r *probeRun) result() (*report.Probe, error) {
	result, err := r.recorder.Result(r.command.Ambig / 100)
	if err != nil {
		return nil, err
	}
	c := r.command
	version, commit := cli.Built()
	result.Host = export.Host(host.Describe(version, commit, "plumb "+strings.Join(os.Args[1:], " ")))
	result.Settings = export.Settings{
		InFlight: c.InFlight, TimeoutNS: int64(c.Timeout), NAT: c.NAT, IntervalNS: int64(c.Interval),
		SampleEvery: c.sampling().Every, SampleAbove: int64(c.Tail), MaxAmbiguous: c.Ambig / 100,
		Timed: uint32(c.timed()),
	}
	result.UPFs = r.watch.UPFs()
	result.Points = export.NewPoints(r.recorder.Points(), r.watch.Names())
	if result.Beyond, err = r.beyond(); err != nil {
		return nil, err
	}
	if result.N4 = r.n4; result.N4 != nil {
		if err := result.N4.Encode(); err != nil {
			return nil, err
		}
	}
	result.JudgePlaces()
	if c.sampled() {
		counted := r.counted()
		result.Samples = &counted
	}
	return &report.Probe{Result: *result}, nil
}

// beyond is what the kernel did beside UPFs, if delays are taken apart.
func (r *probeRun) beyond() ([]export.Series, error) {
	stages, err := r.watch.Beyond()
	if err != nil {
		return nil, err
	}
	var all []export.Series
	for i := range stages {
		s, err := export.NewSeries((*probe.Series)(&stages[i]), r.command.Ambig/100)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}
