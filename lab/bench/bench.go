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
	"slices"
	"time"

	"github.com/plumbline-upf/plumbline/internal/inet"
	"github.com/plumbline-upf/plumbline/lab/dut"
	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/host"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/system"
	"github.com/plumbline-upf/plumbline/lab/traffic"
	"github.com/plumbline-upf/plumbline/upf"
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
	OuterChecksum bool          // uplink frames have an outer UDP checksum
	RatePPS       uint64        // 0: as fast as possible
	Duration      time.Duration // of a trial
	Repeats       int
	Threaded      bool  // the UPF's devices receive in threads of their own
	Spread        []int // CPUs over which the UPF spreads packets; empty: none
	Rules         system.Rules

	CommandLine, Version, Commit string // for the result

	// OnStep is called at the start of each step. It may be nil.
	OnStep func(report.Step)
}

// Bounds of what [Config] may say.
const (
	MaxSessions      = 1<<22 - 1 // addresses in the UE pool, but for its own
	MaxPayloadOctets = 3200      // what BPF_PROG_RUN takes as a live frame, with its headers
	MaxRepeats       = 1000
	MinDuration      = 100 * time.Millisecond
	MaxDuration      = time.Hour
)

const (
	runName = "plumb-bench" // of the namespaces

	accounting = time.Second // of the trial with BPF statistics, at most

	startTime    = 2 * time.Second // expected of topology and UPF
	sessionsRate = 15_000          // expected of session establishment, 1/s

	pacedShare = 0.5 // of the throughput, for latency
)

// run is what Run works with: one UPF in a test bed.
type run struct {
	Config
	system *system.System
	result *report.Result
	spent  time.Duration // expected of the steps so far
}

// Run measures what c says. It leaves no namespace, process or program behind,
// whether it succeeds, fails, or ctx is done. With an error comes what was measured before,
// nil if that is nothing.
//
// Errors: [errors.ErrUnsupported] for what this machine or kernel lacks, or for
// missing privilege.
func Run(ctx context.Context, c Config) (result *report.Result, err error) {
	r := &run{Config: c, result: &report.Result{
		Schema:  report.Schema,
		Started: time.Now().UTC().Truncate(time.Second),
		Host:    host.Describe(c.Version, c.Commit, c.CommandLine),
	}}
	defer func() {
		if err = errors.Join(system.Explain(ctx, err), r.close()); err != nil && r.result.End(err) {
			result = r.result
		}
	}()
	if err := r.start(ctx); err != nil {
		return nil, err
	}
	slices.Sort(r.Sessions)
	err = r.system.Watch(ctx, func(ctx context.Context) error {
		for _, n := range slices.Compact(r.Sessions) {
			if err := r.prepare(ctx, n); err != nil {
				return err
			}
			r.result.Install = r.system.Installed()
			if err := r.measure(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r.result, r.result.Validate()
}

// start makes the bed and starts the UPF.
func (r *run) start(ctx context.Context) (err error) {
	r.step("start", startTime)
	if r.system, err = system.New(ctx, r.systemConfig()); err != nil {
		return err
	}
	r.result.Setup = report.Setup{
		Arrangement: arrangement(r.Threaded) + spreading(r.Spread), Threaded: r.Threaded,
		Configuration: r.system.Describe().Configuration,
		DurationNS:    r.Duration.Nanoseconds(), Repeats: r.Repeats, PayloadOctets: r.PayloadOctets, Rules: r.Rules.String(),
	}
	return nil
}

// systemConfig is the UPF's test bed.
func (c *Config) systemConfig() system.Config {
	return system.Config{
		Run: runName, Name: c.Datapath, MTU: c.mtu(), Threaded: c.Threaded, MaxSessions: slices.Max(c.Sessions),
		OuterChecksum: c.OuterChecksum, CPUs: system.CPUs{Senders: []int{generator.LastCPU()}},
		Kind: c.kind(nil),
	}
}

// kind is the UPF: everything that the measurement does not ask for is as it has it by
// default. adjust, which may be nil, has the last word.
func (c *Config) kind(adjust func(*upf.Config)) dut.Kind {
	k := dut.Plumbline(c.Datapath, func(u *upf.Config) {
		u.XDP.Mode, u.XDP.Spread = c.XDPMode, c.Spread
		u.TC.SuperPackets = c.Datapath == upf.DatapathTC // package gnb takes them
		if adjust != nil {
			adjust(u)
		}
	})
	k.Path = c.Binary
	return k
}

// mtu is what the frames need.
func (c *Config) mtu() int {
	return system.MTU(c.PayloadOctets + inet.LenIPv4 + inet.LenUDP)
}

// profile is frames with these UDP payloads in turn, in each of the directions.
func (c *Config) profile(payloads []int, directions ...report.Direction) *traffic.Profile {
	p := &traffic.Profile{Seed: 1}
	for _, d := range directions {
		s := traffic.Stream{Name: string(d), Direction: generator.Uplink, Access: c.Access}
		if d == report.Downlink {
			s.Direction = generator.Downlink
		}
		for _, n := range payloads {
			s.Octets = append(s.Octets, traffic.FrameOctets(n, false))
		}
		p.Streams = append(p.Streams, s)
	}
	return p
}

// sessionsText is a number of sessions in words.
func sessionsText(n int) string {
	if n == 1 {
		return "1 session"
	}
	return fmt.Sprintf("%d sessions", n)
}

// prepare establishes sessions up to n.
func (r *run) prepare(ctx context.Context, n int) error {
	more := n - len(r.system.Sessions())
	r.step(fmt.Sprintf("establish %s over PFCP", sessionsText(more)), installTime(more))
	return r.system.Establish(ctx, n, r.Rules)
}

// measure makes all trials.
func (r *run) measure(ctx context.Context) error {
	profile := r.profile([]int{r.PayloadOctets}, r.Directions...)
	if err := r.system.Open(profile, system.NewRun()); err != nil {
		return err
	}
	for repeat := 1; repeat <= r.Repeats; repeat++ {
		for _, d := range r.Directions {
			if err := r.repeat(ctx, d, repeat); err != nil {
				return err
			}
		}
	}
	for _, d := range r.Directions {
		if err := r.paced(ctx, d); err != nil {
			return err
		}
	}
	for _, d := range r.Directions {
		if err := r.account(ctx, d); err != nil {
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

func (r *run) trialTime() time.Duration { return system.At(0, r.Duration).Time() }

func (r *run) accountTime() time.Duration {
	return system.At(0, min(accounting, r.Duration)).Time()
}

func installTime(sessions int) time.Duration {
	return time.Duration(float64(sessions) / sessionsRate * float64(time.Second))
}

// close undoes start.
func (r *run) close() error {
	if r.system == nil {
		return nil
	}
	return r.system.Close()
}

// arrangement says how the parts share the CPUs.
func arrangement(threaded bool) string {
	if threaded {
		return "Generator on one CPU, the UPF's devices receive in kernel threads of their own (threaded NAPI): the UPF can be " +
			"overloaded and loses what it cannot take."
	}
	return "Generator, UPF (or bed) and meter take turns on one CPU: the generator is slowed by what follows it, so little or " +
		"nothing is lost, and the time per frame is the sum of all three."
}

// spreading says what the UPF does with packets before it treats them.
func spreading(cpus []int) string {
	if len(cpus) == 0 {
		return ""
	}
	return fmt.Sprintf(" The UPF hands each packet to the CPU of its UE, one of %v, where it is treated and where the meter runs; what finds "+
		"no room in the queue of a CPU is lost.", cpus)
}
