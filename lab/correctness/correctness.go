package correctness

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/lab/dut"
	"github.com/plumbline-upf/plumbline/lab/n4load"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/system"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

// Part is a group of measurements.
type Part string

// The parts, in the order in which they are measured.
const (
	Rates    Part = "rate"
	TCP      Part = "tcp"
	Usage    Part = "usage"
	Effects  Part = "effect"
	Buffers  Part = "buffer"
	Restarts Part = "restart"
)

// Parts lists them.
var Parts = []Part{Rates, TCP, Usage, Effects, Buffers, Restarts}

// Config says what to measure.
type Config struct {
	Kind dut.Kind
	// External is where a Kind is that is there already; nil: the Kind is started in a
	// test bed.
	External *topology.External

	Parts      []Part
	Directions []report.Direction
	Kbps       []uint64      // MBRs of frames
	TCPKbps    []uint64      // MBRs of TCP
	Duration   time.Duration // of each measurement of a rate
	Repeats    int           // of each change of a rule
	Host       report.Host

	OnStep func(s report.Step) // is called at the start of each step; may be nil
}

// Defaults of [Config].
var (
	// DefaultKbps are 64 kbit/s, 1 Mbit/s, and the rates at which UPFs have been
	// found wrong: where a rate is not a divisor of 10^9, and above 2^32 bit/s.
	DefaultKbps = []uint64{
		64, 1_000, 10_000, 50_000, 100_000, 150_000, 300_000, 400_000, 510_000, 600_000, 700_000, 900_000,
		1_000_000, 1_500_000, 4_000_000, 4_300_000, 5_000_000, 10_000_000,
	}
	DefaultTCPKbps = []uint64{1_000, 10_000, 50_000, 100_000, 300_000, 600_000, 1_000_000, 1_500_000}
)

// Bounds of what [Config] may say.
const (
	MinDuration, MaxDuration = 100 * time.Millisecond, 10 * time.Minute
	MaxRepeats               = 10_000
	MaxKbps                  = 1_000_000_000
)

const runName = "plumb-corr" // of the namespaces

// bed is what the measurements work with.
type bed struct {
	Config
	system   *system.System // the UPF, where it is
	topology *topology.Topology
	template n4load.Template // how sessions are said to it
	smf      *smf
	sink     *net.UDPConn // GTP-U port of the gNB: nobody answers that it is closed
	result   *report.Correctness
	seid     uint64 // last one given
	run      uint32 // of the generators
	spent    time.Duration
}

// Run measures what c says. It leaves no namespace, process or program behind,
// whether it succeeds, fails, or ctx is done. What the UPF refuses, or accepts and does
// not do, is in the result ([report.Correctness.Unmeasured]), and no error. With an error
// once the UPF runs there is the result of the parts before.
//
// Errors: [errors.ErrUnsupported] for what this machine or kernel lacks, or for
// missing privilege.
func Run(ctx context.Context, c Config) (result *report.Correctness, err error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	b := &bed{Config: c, result: &report.Correctness{
		Schema: report.CorrectnessSchema, Started: time.Now().UTC().Truncate(time.Second), Host: c.Host, System: c.Kind.Title, NotEnforced: c.Kind.Ignores,
	}}
	if c.Kind.Own {
		b.result.Datapath = c.Kind.Name
	}
	defer func() { err = errors.Join(system.Explain(ctx, err), b.close()) }()
	if err := b.build(ctx); err != nil {
		return nil, err
	}
	return b.result, b.system.Watch(ctx, b.measureAll)
}

// measureAll measures the parts that are asked for.
func (b *bed) measureAll(ctx context.Context) error {
	for _, p := range Parts {
		if !slices.Contains(b.Parts, p) {
			continue
		}
		if b.External != nil && (p == TCP || p == Restarts) {
			b.unmeasured(p, "all", "the laboratory has not started this UPF")
			continue
		}
		if err := b.measure(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

func (b *bed) measure(ctx context.Context, p Part) error {
	switch p {
	case Rates:
		return b.rates(ctx)
	case TCP:
		return b.tcp(ctx)
	case Usage:
		return b.usage(ctx)
	case Effects:
		return b.effects(ctx)
	case Buffers:
		return b.buffers(ctx)
	case Restarts:
		return b.restarts(ctx)
	}
	return fmt.Errorf("correctness: part %q: %w", p, errors.ErrUnsupported)
}

// Validate says what is wrong with c.
func (c *Config) Validate() error {
	switch {
	case c.Duration < MinDuration || c.Duration > MaxDuration:
		return fmt.Errorf("correctness: duration %v: want %v to %v", c.Duration, MinDuration, MaxDuration)
	case c.Repeats < 1 || c.Repeats > MaxRepeats:
		return fmt.Errorf("correctness: %d repeats: want 1 to %d", c.Repeats, MaxRepeats)
	}
	for _, r := range append(slices.Clone(c.Kbps), c.TCPKbps...) {
		if r < 1 || r > MaxKbps {
			return fmt.Errorf("correctness: MBR of %d kbit/s: want 1 to %d", r, MaxKbps)
		}
	}
	for _, d := range c.Directions {
		if !slices.Contains(report.Directions, d) {
			return fmt.Errorf("correctness: direction %q: want uplink or downlink", d)
		}
	}
	for _, p := range c.Parts {
		if !slices.Contains(Parts, p) {
			return fmt.Errorf("correctness: part %q: want one of %v", p, Parts)
		}
	}
	return nil
}

func (b *bed) build(ctx context.Context) error {
	b.step("start", startTime)
	cpus, err := system.ShareCPUs(1)
	if err != nil {
		return err
	}
	b.system, err = system.New(ctx, system.Config{
		Run: runName, Name: b.Kind.Name, Kind: b.Kind, External: b.External, Offload: b.Kind.Offloads, Skbs: b.Kind.Packets, CPUs: cpus,
	})
	if err != nil {
		return err
	}
	about := b.system.Describe()
	b.result.Version, b.result.Configuration = about.Version, about.Configuration
	b.topology = b.system.Topology()
	place := dut.At(b.topology)
	if b.template, err = b.Kind.Template(&place); err != nil {
		return err
	}
	if b.sink, err = listenGTPU(b.topology); err != nil {
		return err
	}
	b.smf, err = newSMF(ctx, b.topology)
	return err
}

// listenGTPU holds the gNB's GTP-U port, so that nobody answers that it is
// closed.
func listenGTPU(t *topology.Topology) (conn *net.UDPConn, err error) {
	err = t.GNB.Do(func() (err error) {
		conn, err = net.ListenUDP("udp", &net.UDPAddr{IP: t.N3.Peer.Address.Addr().AsSlice(), Port: gtpu.Port})
		return err
	})
	return conn, err
}

// close undoes build, in reverse.
func (b *bed) close() error {
	var errs []error
	if b.smf != nil {
		errs = append(errs, b.smf.close())
	}
	if b.sink != nil {
		errs = append(errs, b.sink.Close())
	}
	if b.system != nil {
		errs = append(errs, b.system.Close())
	}
	return errors.Join(errs...)
}

// nextUE is the address of the next UE.
func (b *bed) nextUE() netip.Addr {
	first, n := b.template.UE.As4(), b.seid
	first[2], first[3] = first[2]+byte(n>>8), first[3]+byte(n)
	return netip.AddrFrom4(first)
}
