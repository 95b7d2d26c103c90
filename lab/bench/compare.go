package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/host"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/system"
	"github.com/plumbline-upf/plumbline/upf"
)

// CompareConfig says which datapaths to measure in turn, and with what. Of Config,
// Datapath, PayloadOctets, RatePPS, Threaded and Spread are not used.
type CompareConfig struct {
	Config
	Datapaths []string      // upf.DatapathXDP, ...
	Payloads  []string      // octets, or report.PayloadIMIX
	Loads     []int         // of latency trials, in percent of the throughput of each; 0: idle
	LossGoal  float64       // ratio: the throughput is the highest rate that loses no more
	TCP       time.Duration // of a TCP trial, in whole seconds; 0: none
}

// Bounds of what [CompareConfig] may say.
const (
	maxLossGoal = 0.5
	maxTCP      = 10 * time.Minute
)

const (
	// The search begins between these parts of what is received at the highest rate,
	// and ends with so much.
	searchLow, searchHigh, searchPrecision = 0.125, 1.5, 1.03

	searchTries   = 3    // of a rate that was not sent as it ought to have been
	searchOffered = 0.97 // of the rate, at least

	longSearch = 500 * time.Millisecond // of its trials, at most
	idlePPS    = 1000                   // frames so far apart that each finds the path asleep
)

// ParsePayload returns the payloads of successive frames that a name stands for, in
// octets.
func ParsePayload(name string) ([]int, error) {
	if name == report.PayloadIMIX {
		return generator.IMIX, nil
	}
	n, err := strconv.Atoi(name)
	if err != nil || n < generator.StampOctets || n > MaxPayloadOctets {
		return nil, fmt.Errorf("payload %q: want %d to %d octets, or %s", name, generator.StampOctets, MaxPayloadOctets, report.PayloadIMIX)
	}
	return []int{n}, nil
}

// Validate says which flag of a comparison is out of range, or given twice.
func (c *CompareConfig) Validate() error {
	for _, list := range [][]string{c.Datapaths, c.Payloads} {
		for i, name := range list {
			if slices.Contains(list[:i], name) {
				return fmt.Errorf("%s is given twice", name)
			}
		}
	}
	for _, load := range c.Loads {
		if load < 0 || load > 100 {
			return fmt.Errorf("load of %d %%: want 0 to 100", load)
		}
	}
	switch {
	case c.LossGoal < 0 || c.LossGoal > maxLossGoal || math.IsNaN(c.LossGoal):
		return fmt.Errorf("loss of %g %%: want 0 to %g", 100*c.LossGoal, 100*maxLossGoal)
	case c.TCP < 0 || c.TCP > maxTCP || c.TCP%time.Second != 0:
		return fmt.Errorf("TCP for %v: want whole seconds, %v at most", c.TCP, maxTCP)
	}
	return nil
}

// octets are the payloads by name; names are valid.
func (c *CompareConfig) octets() [][]int {
	var all [][]int
	for _, name := range c.Payloads {
		octets, _ := ParsePayload(name)
		all = append(all, octets)
	}
	return all
}

// comparison is what Compare works with.
type comparison struct {
	CompareConfig
	contestants []*contestant // the bed first; with tc, tun or tap, that of socket buffers behind it
	result      *report.Comparison
	started     time.Time
	left        work
}

// Compare measures datapaths in turn: each has a test bed and a UPF of its own, and
// whichever the frames do not go through is stopped. Within a number of sessions,
// a payload and a direction, all have their first turn at the highest rate, then
// all have their second; then each is measured for latency. A datapath that this
// machine cannot run, or that fails, is out, and the result says why.
//
//	bed ─ A ─ B ─ C ─ bed ─ A ─ B ─ C ─ …   highest rate, and the search where it is too high
//	bed ─ A ─ B ─ C ─ …                     latency at each load
//	A ─ B ─ C ─ A ─ B ─ C ─ …               TCP
//
// It leaves nothing behind. Errors: those of [Run].
func Compare(ctx context.Context, c CompareConfig) (result *report.Comparison, err error) {
	slices.Sort(c.Sessions)
	c.Sessions = slices.Compact(c.Sessions)
	r := &comparison{CompareConfig: c, started: time.Now(), result: &report.Comparison{
		Schema: report.ComparisonSchema, Started: time.Now().UTC().Truncate(time.Second),
		Host: host.Describe(c.Version, c.Commit, c.CommandLine), Setup: c.setup(),
	}}
	defer func() {
		if err = errors.Join(system.Explain(ctx, err), r.close()); err != nil && r.partial(err) {
			result = r.result
		}
	}()
	if err := r.start(ctx); err != nil {
		return nil, err
	}
	for _, n := range c.Sessions {
		if err := r.measureSessions(ctx, n); err != nil {
			return nil, err
		}
	}
	if err := r.measureTCP(ctx); err != nil {
		return nil, err
	}
	r.paths()
	return r.result, r.result.Validate()
}

// paths adds what the contestants are.
func (r *comparison) paths() {
	r.result.Paths = nil
	for _, k := range r.contestants {
		r.result.Paths = append(r.result.Paths, k.path)
	}
}

// partial makes a result of what there is before an error, and reports whether there is any.
func (r *comparison) partial(why error) bool {
	r.paths()
	if len(r.result.TCP) == 0 && r.result.TCPMissing == "" {
		r.result.TCPMissing = "it ended before"
	}
	return r.result.End(why)
}

func (c *CompareConfig) setup() report.ComparisonSetup {
	return report.ComparisonSetup{
		Payloads: c.Payloads, Sessions: c.Sessions, Access: c.Access.String(), LoadsPercent: c.Loads, IdlePPS: idlePPS,
		LossGoalRatio: c.LossGoal, DurationNS: c.Duration.Nanoseconds(), SearchNS: min(c.Duration, longSearch).Nanoseconds(),
		TCPNS: c.TCP.Nanoseconds(), Repeats: c.Repeats, OuterChecksum: c.OuterChecksum, Rules: c.Rules.String(),
	}
}

// start builds all test beds, one by one.
func (r *comparison) start(ctx context.Context) error {
	cpus, err := system.ShareCPUs(1)
	if err != nil {
		return err
	}
	r.result.Setup.Arrangement = cpus.String()
	beds := []string{report.PathBed}
	onSkbs := func(name string) bool {
		return name == upf.DatapathTC || name == upf.DatapathTUN || name == upf.DatapathTAP
	}
	if slices.ContainsFunc(r.Datapaths, onSkbs) {
		beds = append(beds, report.PathBedTC)
	}
	for _, name := range append(beds, r.Datapaths...) {
		k := newContestant(&r.CompareConfig, name, cpus)
		r.contestants = append(r.contestants, k)
		r.left.starts++
	}
	r.left.plan(r)
	for _, k := range r.contestants {
		r.step(k.path.Name+": start", startTime)
		r.left.starts--
		if err := r.attempt(ctx, k, func(ctx context.Context) error { return k.start(ctx) }); err != nil {
			return err
		}
	}
	return nil
}

// attempt does something with a contestant that is not out yet. If it fails, the
// contestant is out; only what stops all is an error.
func (r *comparison) attempt(ctx context.Context, k *contestant, f func(ctx context.Context) error) error {
	if k.out {
		return nil
	}
	err := k.turn(ctx, f)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil && k.path.Name == report.PathBed {
		return fmt.Errorf("bed: %w", err) // nothing can be compared without it
	}
	if err != nil {
		k.leave(err)
		r.left.plan(r)
	}
	return nil
}

// each makes the attempt with every contestant.
func (r *comparison) each(ctx context.Context, f func(ctx context.Context, k *contestant) error) error {
	for _, k := range r.contestants {
		if err := r.attempt(ctx, k, func(ctx context.Context) error { return f(ctx, k) }); err != nil {
			return err
		}
	}
	return nil
}

// measureSessions measures all payloads and directions with n sessions.
func (r *comparison) measureSessions(ctx context.Context, n int) error {
	err := r.each(ctx, func(ctx context.Context, k *contestant) error {
		more := n - len(k.system.Sessions())
		r.step(fmt.Sprintf("%s: establish %s over PFCP", k.path.Name, sessionsText(more)), installTime(more))
		return k.establish(ctx, n)
	})
	if err != nil {
		return err
	}
	r.left.established = n
	octets := r.octets()
	for i, payload := range r.Payloads {
		for _, d := range r.Directions {
			if err := r.measureCell(ctx, report.Cell{Payload: payload, Sessions: n, Direction: d}, octets[i]); err != nil {
				return err
			}
			r.left.cells--
		}
	}
	return nil
}

// measureCell lets all contestants take turns over frames of one sort.
func (r *comparison) measureCell(ctx context.Context, cell report.Cell, octets []int) error {
	r.left.cellSince = time.Now()
	defer func() { r.left.cellSince = time.Time{} }()
	run := system.NewRun()
	err := r.each(ctx, func(_ context.Context, k *contestant) error { return k.open(cell, octets, run) })
	if err != nil {
		return err
	}
	for repeat := 1; repeat <= r.Repeats; repeat++ {
		err := r.each(ctx, func(ctx context.Context, k *contestant) error { return r.throughput(ctx, k, cell, repeat) })
		if err != nil {
			return err
		}
	}
	for _, load := range r.Loads {
		err := r.each(ctx, func(ctx context.Context, k *contestant) error { return r.latency(ctx, k, cell, load) })
		if err != nil {
			return err
		}
	}
	return r.each(ctx, func(_ context.Context, k *contestant) error { return k.system.Shut() })
}

// close ends what still stands.
func (r *comparison) close() error {
	var errs []error
	for _, k := range r.contestants {
		if !k.out {
			errs = append(errs, k.close())
		}
	}
	return errors.Join(errs...)
}

// throughput offers as much as possible, and if that was too much, searches for the
// highest rate that is not.
func (r *comparison) throughput(ctx context.Context, k *contestant, cell report.Cell, repeat int) error {
	r.step(fmt.Sprintf("%s: %s, %d/%d", k.path.Name, describe(cell), repeat, r.Repeats), r.turnTime(k))
	saturated, err := r.trial(ctx, k, cell, report.Saturated, repeat, system.At(0, r.Duration))
	if err != nil {
		return err
	}
	if k.lossy = saturated.LossRatio > r.LossGoal; !k.lossy {
		return nil
	}
	_, err = searchFor(&saturated.Trial).highest(func(rate float64) (bool, error) {
		return r.passes(ctx, k, cell, repeat, rate)
	})
	return err
}

// searchFor is where the throughput is looked for, given what a trial at the highest
// rate was like.
func searchFor(saturated *report.Trial) bracket {
	return bracket{
		low: searchLow * saturated.ReceivedPPS, high: min(searchHigh*saturated.ReceivedPPS, saturated.OfferedPPS),
		limit: saturated.OfferedPPS, precision: searchPrecision,
	}
}

// passes reports whether a rate loses no more than the goal. If other programs kept
// the sender from sending it, it is tried again; a rate that cannot be sent does not
// pass.
func (r *comparison) passes(ctx context.Context, k *contestant, cell report.Cell, repeat int, rate float64) (bool, error) {
	load := system.At(max(1, roundRate(rate)), min(r.Duration, longSearch))
	for range searchTries {
		t, err := r.trial(ctx, k, cell, report.Search, repeat, load)
		if err != nil || t.LossRatio > r.LossGoal {
			return false, err
		}
		if t.OfferedPPS >= searchOffered*t.IntendedPPS {
			return true, nil
		}
	}
	return false, nil
}

// latency offers a part of the contestant's throughput, or next to nothing.
func (r *comparison) latency(ctx context.Context, k *contestant, cell report.Cell, percent int) error {
	r.step(fmt.Sprintf("%s: %s, latency at %d %%", k.path.Name, describe(cell), percent), r.trialTime())
	rate := uint64(idlePPS)
	if percent > 0 {
		_, pps := r.result.Row(cell, k.path.Name).ThroughputPPS()
		if rate = roundRate(pps * float64(percent) / 100); rate == 0 {
			return nil // it has no throughput
		}
	}
	t, err := r.trial(ctx, k, cell, report.Paced, 1, system.At(rate, r.Duration))
	t.LoadPercent = percent
	return err
}

// trial adds a trial to the result and returns it.
func (r *comparison) trial(ctx context.Context, k *contestant, cell report.Cell, kind report.Kind, repeat int, load system.Load) (*report.PathTrial, error) {
	t, err := k.trial(ctx, cell, kind, load)
	if err != nil {
		return &t, err
	}
	t.Repeat = repeat
	r.result.Setup.Realtime = r.result.Setup.Realtime || t.Realtime
	r.result.Trials = append(r.result.Trials, t)
	return &r.result.Trials[len(r.result.Trials)-1], nil
}

func describe(c report.Cell) string {
	return fmt.Sprintf("payload %s, %s, %s", c.Payload, sessionsText(c.Sessions), c.Direction)
}
