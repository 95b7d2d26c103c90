package correctness

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"plumbline/lab/dut"
	"plumbline/lab/report"
	"plumbline/lab/topology"
	"plumbline/upf"
)

// Part is a group of measurements.
type Part string

// The parts, in the order in which they are measured.
const (
	Rates   Part = "rate"
	TCP     Part = "tcp"
	Usage   Part = "usage"
	Effects Part = "effect"
	Buffers Part = "buffer"
)

// Parts lists them.
var Parts = []Part{Rates, TCP, Usage, Effects, Buffers}

// Config says what to measure. Only Binary may be empty.
type Config struct {
	Binary   string // plumb; empty: this program
	Datapath string // of the UPF: upf.DatapathXDP, ...

	Parts      []Part
	Directions []report.Direction
	Kbps       []uint64      // MBRs of frames
	TCPKbps    []uint64      // MBRs of TCP
	Duration   time.Duration // of each measurement of a rate
	Repeats    int           // of each change of a rule
	Host       report.Host

	Adjust func(*upf.Config)   // changes the UPF's configuration; may be nil
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

const runName = "plumb-correct" // of the namespaces

// bed is what the measurements work with.
type bed struct {
	Config
	topology *topology.Topology
	dut      *dut.Instance
	smf      *smf
	sink     *net.UDPConn // GTP-U port of the gNB: nobody answers that it is closed
	result   *report.Correctness
	seid     uint64 // last one given
	run      uint32 // of the generators
	spent    time.Duration
}

// Run measures what c says. It leaves no namespace, process or program behind,
// whether it succeeds, fails, or ctx is done.
//
// Errors: [errors.ErrUnsupported] for what this machine or kernel lacks, or for
// missing privilege.
func Run(ctx context.Context, c Config) (result *report.Correctness, err error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	b := &bed{Config: c, result: &report.Correctness{
		Schema: report.CorrectnessSchema, Started: time.Now().UTC().Truncate(time.Second), Host: c.Host, Datapath: c.Datapath,
	}}
	defer func() { err = errors.Join(explain(ctx, err), b.close()) }()
	if err := b.build(ctx); err != nil {
		return nil, err
	}
	for _, p := range Parts {
		if !slices.Contains(c.Parts, p) {
			continue
		}
		if err := b.measure(ctx, p); err != nil {
			return nil, err
		}
	}
	return b.result, nil
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
	if _, err := topology.Sweep(runName); err != nil {
		return err
	}
	var err error
	if b.topology, err = topology.New(topology.Config{Name: runName}); err != nil {
		return err
	}
	kind := dut.Plumbline(b.Datapath, b.Adjust)
	kind.Path = b.Binary
	if b.dut, err = dut.Start(ctx, kind, dut.At(b.topology)); err != nil {
		return err
	}
	b.result.Configuration = b.dut.File
	if b.sink, err = listenGTPU(b.topology); err != nil {
		return err
	}
	b.smf, err = newSMF(ctx, b.topology)
	return err
}

const gtpuPort = 2152

// listenGTPU holds the gNB's GTP-U port, so that nobody answers that it is
// closed.
func listenGTPU(t *topology.Topology) (conn *net.UDPConn, err error) {
	err = t.GNB.Do(func() (err error) {
		conn, err = net.ListenUDP("udp", &net.UDPAddr{IP: t.N3.Peer.Address.Addr().AsSlice(), Port: gtpuPort})
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
	if b.dut != nil {
		errs = append(errs, b.dut.Stop())
	}
	if b.topology != nil {
		errs = append(errs, b.topology.Close())
	}
	return errors.Join(errs...)
}

// nextUE is the address of the next UE.
func (b *bed) nextUE() netip.Addr {
	first := b.topology.Config.UEPools[0].Addr().As4()
	n := b.seid + 1
	first[2], first[3] = first[2]+byte(n>>8), first[3]+byte(n)
	return netip.AddrFrom4(first)
}

// explain says why ctx is done, if it is, and what an error for want of
// privilege means.
func explain(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return errors.New("interrupted")
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return fmt.Errorf("%w: the laboratory makes network namespaces and attaches XDP programs: run it as root: %w",
			errors.ErrUnsupported, err)
	}
	return err
}
