// Package bench measures how fast a UPF forwards, beside the limit of the test
// bed.
//
//	topology ─► UPF as a child process
//	for each number of sessions: establish over PFCP what is missing, then
//	  repeat:  uplink: bed, UPF   downlink: bed, UPF      at the highest rate
//	  then:    uplink: UPF        downlink: UPF           paced, for latency
//	  then:    the same with the kernel's accounting of BPF programs
//
// The bed limit is measured with the same frames on the same devices, where a
// program that only redirects stands in for the UPF. Bed and UPF take turns, so
// that whatever else changes on the machine changes for both.
//
// The package needs root: it makes namespaces and attaches XDP programs.
package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"plumbline/lab/dut"
	"plumbline/lab/generator"
	"plumbline/lab/n4load"
	"plumbline/lab/report"
	"plumbline/lab/topology"
	"plumbline/upf"
)

// Config says what to measure. Only Binary may be empty, and the texts.
type Config struct {
	Binary   string // plumb; empty: this program
	Datapath string // of the UPF: upf.DatapathXDP, ...
	XDPMode  string // upf.ModeAuto, ...

	Directions    []report.Direction
	Sessions      []int // numbers of sessions to measure with
	Access        generator.Access
	PayloadOctets int           // UDP payload of the user packets
	Mix           []int         // in its place, as [generator.Config.Mix]
	OuterChecksum bool          // uplink frames have an outer UDP checksum
	RatePPS       uint64        // 0: as fast as possible
	Duration      time.Duration // of a trial
	Repeats       int
	Threaded      bool  // the UPF's devices receive in threads of their own
	Spread        []int // CPUs over which the UPF spreads packets; empty: none
	Rules         Rules

	CommandLine, Version, Commit string // for the result

	// OnStep is called at the start of each step. It may be nil.
	OnStep func(report.Step)
}

// Bounds of what [Config] may say.
const (
	MaxSessions      = 1 << 22 // addresses in the UE pool
	MaxPayloadOctets = 3200    // what BPF_PROG_RUN takes as a live frame, with its headers
	MaxRepeats       = 1000
	MinDuration      = 100 * time.Millisecond
	MaxDuration      = time.Hour
)

const (
	runName = "plumb-bench" // of the namespaces

	longWarmUp = 200 * time.Millisecond // of each trial, at most: next hops, caches, clock speed
	settle     = 50 * time.Millisecond  // after the last frame was sent
	accounting = time.Second            // of the trial with BPF statistics, at most

	startTime    = 2 * time.Second // expected of topology and UPF
	sessionsRate = 15_000          // expected of session establishment, 1/s

	pacedShare = 0.5 // of the throughput, for latency
)

// run is what Run works with: one UPF in a test bed.
type run struct {
	Config
	place
	topology *topology.Topology
	dut      *dut.DUT
	n4       *n4load.Client
	sessions []n4load.Session // established so far
	lanes    []*lane          // of the present number of sessions
	result   *report.Result
	mode     string        // of XDP, as the UPF says
	spent    time.Duration // expected of the steps so far
}

// Run measures what c says. It leaves no namespace, process or program behind,
// whether it succeeds, fails, or ctx is done.
//
// Errors: [errors.ErrUnsupported] for what this machine or kernel lacks, or for
// missing privilege.
func Run(ctx context.Context, c Config) (result *report.Result, err error) {
	r := &run{Config: c, place: place{name: runName}, result: &report.Result{
		Schema:  report.Schema,
		Started: time.Now().UTC().Truncate(time.Second),
		Host:    DescribeHost(c.Version, c.Commit, c.CommandLine),
	}}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer func() { err = errors.Join(explain(ctx, err), r.close()) }()

	if err := r.build(ctx); err != nil {
		return nil, err
	}
	go func() { // a UPF that has ended must not be measured any longer
		select {
		case <-r.dut.Done():
			cancel(r.dut.Err())
		case <-ctx.Done():
		}
	}()
	slices.Sort(r.Sessions)
	for _, n := range slices.Compact(r.Sessions) {
		if err := r.prepare(ctx, n); err != nil {
			return nil, err
		}
		if err := r.measure(ctx); err != nil {
			return nil, err
		}
	}
	return r.result, r.result.Validate()
}

// build makes the bed and starts the UPF.
func (r *run) build(ctx context.Context) error {
	r.step("start", startTime)
	if err := r.buildTopology(); err != nil {
		return err
	}
	if r.Threaded {
		if err := r.topology.SetThreaded(true); err != nil {
			return err
		}
	}
	if err := r.startUPF(ctx); err != nil {
		return err
	}
	r.result.Setup = report.Setup{
		Arrangement: arrangement(r.Threaded) + spreading(r.Spread), Threaded: r.Threaded, Configuration: r.dut.File,
		DurationNS: r.Duration.Nanoseconds(), Repeats: r.Repeats, PayloadOctets: r.PayloadOctets, Rules: r.Rules.String(),
	}
	return nil
}

// place is where a run stands.
type place struct {
	name     string // of its namespaces
	offloads bool   // of the outer ends of its links
	packets  bool   // the meter takes socket buffers, and not frames
	cpus     []int  // that the UPF's process may run on; empty: any
}

// buildTopology makes the bed, and sweeps away what a dead process left of one.
func (r *run) buildTopology() error {
	if _, err := topology.Sweep(r.name); err != nil {
		return err
	}
	var err error
	r.topology, err = topology.New(topology.Config{Name: r.name, MTU: r.mtu(), Offload: r.offloads})
	return err
}

func (r *run) startUPF(ctx context.Context) error {
	var err error
	r.dut, err = dut.Start(ctx, dut.Config{Binary: r.Binary, Namespace: r.topology.UPF, CPUs: r.cpus, UPF: r.upfConfig()})
	if err != nil {
		return err
	}
	answer, err := r.dut.Datapath(ctx)
	if err != nil {
		return err
	}
	r.mode = xdpMode(answer)
	return nil
}

// xdpMode returns the mode of the UPF's devices, empty for a datapath that is not
// XDP.
func xdpMode(d *upf.Datapath) string {
	var modes []string
	for _, device := range d.Devices {
		if device.Mode != "" && !slices.Contains(modes, device.Mode) {
			modes = append(modes, device.Mode)
		}
	}
	return strings.Join(modes, " and ")
}

// prepare establishes sessions up to n and makes a lane for each direction.
func (r *run) prepare(ctx context.Context, n int) error {
	if err := r.closeLanes(); err != nil {
		return err
	}
	r.step(fmt.Sprintf("establish %d sessions over PFCP", n-len(r.sessions)), installTime(n-len(r.sessions)))
	if err := r.establish(ctx, n); err != nil {
		return err
	}
	id := rand.Uint32()
	for _, d := range r.Directions {
		l, err := r.newLane(d, id)
		if err != nil {
			return err
		}
		r.lanes = append(r.lanes, l)
	}
	return nil
}

// measure makes all trials.
func (r *run) measure(ctx context.Context) error {
	for repeat := 1; repeat <= r.Repeats; repeat++ {
		for _, l := range r.lanes {
			if err := r.repeat(ctx, l, repeat); err != nil {
				return err
			}
		}
	}
	for _, l := range r.lanes {
		if err := r.paced(ctx, l); err != nil {
			return err
		}
	}
	for _, l := range r.lanes {
		if err := r.account(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

// step tells that a step begins.
func (r *run) step(name string, expected time.Duration) {
	if r.OnStep != nil {
		r.OnStep(report.Step{Name: name, Expected: expected, Before: r.spent, Total: r.expected()})
	}
	r.spent += expected
}

// expected is the sum over all steps.
func (r *run) expected() time.Duration {
	lane := time.Duration(r.Repeats)*2*r.trialTime() + r.accountTime()
	if r.RatePPS == 0 {
		lane += r.trialTime()
	}
	lanes := len(r.Sessions) * len(r.Directions)
	return startTime + installTime(slices.Max(r.Sessions)) + time.Duration(lanes)*lane
}

func (r *run) warmUp() time.Duration { return min(longWarmUp, r.Duration) }

func (r *run) trialTime() time.Duration { return r.warmUp() + r.Duration + 2*settle }

func (r *run) accountTime() time.Duration { return r.warmUp() + 2*settle + min(accounting, r.Duration) }

func installTime(sessions int) time.Duration {
	return time.Duration(float64(sessions) / sessionsRate * float64(time.Second))
}

// close undoes build and prepare, in reverse.
func (r *run) close() error {
	errs := []error{r.closeLanes()}
	if r.n4 != nil {
		errs = append(errs, r.n4.Close())
	}
	if r.dut != nil {
		errs = append(errs, r.dut.Stop())
	}
	if r.topology != nil {
		errs = append(errs, r.topology.Close())
	}
	return errors.Join(errs...)
}

func (r *run) closeLanes() error {
	var errs []error
	for _, l := range r.lanes {
		errs = append(errs, l.generator.Close())
	}
	r.lanes = nil
	return errors.Join(errs...)
}

// explain says why ctx is done, if it is, and what an error for want of
// privilege means.
func explain(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(context.Cause(ctx), context.Canceled):
		return errors.New("interrupted")
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return fmt.Errorf("%w: bench makes network namespaces and attaches XDP programs: run it as root: %w",
			errors.ErrUnsupported, err)
	default:
		return err
	}
}

// arrangement says how the parts share the CPUs.
func arrangement(threaded bool) string {
	if threaded {
		return "Generator on one CPU, the UPF's devices receive in kernel threads of their own (threaded NAPI): the UPF can be " +
			"overloaded and loses what it cannot take."
	}
	return "Generator, UPF (or bed) and meter take turns on one CPU: the generator is slowed by what follows it, so nothing is " +
		"lost, and the time per frame is the sum of all three."
}

// spreading says what the UPF does with packets before it treats them.
func spreading(cpus []int) string {
	if len(cpus) == 0 {
		return ""
	}
	return fmt.Sprintf(" The UPF hands each packet to the CPU of its UE, one of %v, where it is treated and where the meter runs; what finds "+
		"no room in the queue of a CPU is lost.", cpus)
}
