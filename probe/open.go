package probe

import (
	"crypto/rand"
	"errors"
	"fmt"
	"math/bits"
	"sync"
	"time"

	"github.com/cilium/ebpf"

	"github.com/plumbline-upf/plumbline/internal/verifier"
)

//go:generate go tool bpf2go -cc clang-19 -target bpfel -go-package probe -no-global-types -type point -type count -type account -type latency -type matched -type reader -type parts -type prefix_key -type kind -type side -type way probe ../bpf/probe/probe.bpf.c -- -O2 -g -Wall -Wextra -Werror -Wshadow -mcpu=v3 -I../bpf/include -I/usr/include/x86_64-linux-gnu

// MaxUPFs is how many one Probe can measure.
const MaxUPFs = 64

// Bounds.
const (
	fewUPFs    = 16      // for which there is room, however few are expected
	maxPoints  = 1024    // bpf/probe/maps.h, count_by_point
	morePairs  = 48      // of a UPF and a slice: room for those learnt later
	maxPairs   = 1 << 13 // bpf/probe/slice.h
	qfis       = 64
	ways       = 4       // of a set, bpf/probe/maps.h
	maxFlights = 1 << 24 // 256 Mbyte
	ringOctets = 8 << 20 // of samples: some 200,000
)

// Defaults of Config.
const (
	DefaultInFlight = 65536
	DefaultTimeout  = time.Second
)

// epochTime is how long programs rely on what they have found of a slice.
const epochTime = time.Second

// Probe measures. Its methods may be called by several goroutines at once.
type Probe struct {
	cfg  Config
	spec *ebpf.CollectionSpec // with the probe's constants, but not those of points
	base *ebpf.Collection     // the tables, which all points share, and the sweep

	mu       sync.Mutex
	upfs     []UPF
	pairs    []pair
	numbers  map[pair]uint32 // index in pairs
	points   []*pointState
	epoch    uint32
	begun    time.Time           // of the epoch
	alone    [2][3]time.Duration // cost of a packet by way and side
	renewing bool                // the next one begins soon
	closed   bool
	stats    closer                 // of the kernel's accounting of programs
	reads    closer                 // of the program that sees reads return
	readers  map[probeReader]uint32 // that are followed: direction + 1

	host     host
	sweeping sync.Mutex
	stop     chan struct{}
	stopped  sync.WaitGroup
}

// pair is a slice through a UPF: bpf/probe.h.
type pair struct {
	upf   int
	slice string
}

type closer interface{ Close() error }

// Open makes a probe that is at no point yet. It needs CAP_BPF, CAP_NET_ADMIN and
// CAP_PERFMON.
func Open(c Config) (*Probe, error) {
	if err := c.complete(); err != nil {
		return nil, fmt.Errorf("probe: %w", err)
	}
	p := &Probe{cfg: c, numbers: map[pair]uint32{}, stop: make(chan struct{}), begun: time.Now()}
	if err := p.load(); err != nil {
		return nil, fmt.Errorf("probe: %w", err)
	}
	for _, u := range c.UPFs {
		if _, err := p.AddUPF(u); err != nil {
			return nil, errors.Join(err, p.Close())
		}
	}
	if c.Stats {
		stats, err := ebpf.EnableStats(uint32(statsRunTime))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("probe: cost in place: %w", err), p.Close())
		}
		p.stats = stats
	}
	p.stopped.Go(p.sweepOften)
	return p, nil
}

// statsRunTime is BPF_STATS_RUN_TIME.
const statsRunTime = 0

func (c *Config) complete() error {
	if c.InFlight == 0 {
		c.InFlight = DefaultInFlight
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	switch {
	case c.InFlight < 0 || c.InFlight > maxFlights:
		return fmt.Errorf("%d packets in flight: want 1 to %d", c.InFlight, maxFlights)
	case c.Timeout < time.Millisecond || c.Timeout > time.Hour:
		return fmt.Errorf("timeout of %v: want 1ms to 1h", c.Timeout)
	case len(c.UPFs) > MaxUPFs:
		return fmt.Errorf("%d UPFs: want at most %d", len(c.UPFs), MaxUPFs)
	case c.Expected < 0 || c.Expected > MaxUPFs:
		return fmt.Errorf("%d UPFs expected: want at most %d", c.Expected, MaxUPFs)
	case c.pairs() > maxPairs:
		return fmt.Errorf("%d slices of %d UPFs: want at most %d together", len(c.Slices), len(c.UPFs), maxPairs)
	case c.Parts && c.Timed > 1:
		return fmt.Errorf("parts of the delays of 1/%d of the packets: want all of them, since others share their reads", c.Timed)
	case c.Sample.Above < 0:
		return fmt.Errorf("samples above %v: want a time", c.Sample.Above)
	}
	return nil
}

// pairs is how many there is room for: histograms of each take 60 KB of memory for each
// CPU, so it is not what the most UPFs would need.
func (c *Config) pairs() int {
	upfs := max(len(c.UPFs), c.Expected)
	return morePairs + max(fewUPFs, upfs*(1+len(c.Slices)))
}

// sets is how many the table of packets in flight has, a power of two.
func (c *Config) sets() uint32 {
	return 1 << bits.Len32(uint32((c.InFlight+ways-1)/ways-1))
}

// timedBelow is the constant of bpf/probe/maps.h: what the upper half of a fingerprint is
// below if its packet is timed; 0: any.
func (c *Config) timedBelow() uint32 {
	if c.Timed <= 1 {
		return 0
	}
	return uint32((1<<32 + uint64(c.Timed) - 1) / uint64(c.Timed))
}

func (c *Config) sampling() bool { return c.Sample.Every > 0 || c.Sample.Above > 0 }

func (p *Probe) load() error {
	spec, err := loadProbe()
	if err != nil {
		return err
	}
	series := uint32(2 * p.cfg.pairs())
	for _, name := range []string{"account_by_series", "matched_by_series", "swept_by_series"} {
		spec.Maps[name].MaxEntries = series
	}
	if p.cfg.Parts {
		for _, name := range partMaps {
			spec.Maps[name].MaxEntries = series
		}
	}
	spec.Maps["flight_by_print"].MaxEntries = p.cfg.sets()
	spec.Maps["pair_by_qfi"].MaxEntries = MaxUPFs * qfis
	if p.cfg.sampling() {
		spec.Maps["tunnel_by_way"].MaxEntries = ways * p.cfg.sets()
		spec.Maps["samples"].MaxEntries = ringOctets
	}
	if err := p.setConstants(spec); err != nil {
		return err
	}
	p.spec = spec
	base := spec.Copy()
	delete(base.Programs, "probe")
	if !p.cfg.Parts {
		delete(base.Programs, "read_returned")
	}
	if p.base, err = ebpf.NewCollection(base); err != nil {
		return err
	}
	if err := p.watchReads(); err != nil {
		p.base.Close()
		return err
	}
	return nil
}

func (p *Probe) setConstants(spec *ebpf.CollectionSpec) error {
	var masks [probeKindPRINT_MAX]mask
	for kind := range masks {
		masks[kind] = printMask(probeKind(kind), p.cfg.NAT)
	}
	var seed [64]byte
	_, _ = rand.Read(seed[:])           // never fails
	for i := 0; i < len(seed); i += 8 { // factors are odd
		seed[i] |= 1
	}
	constants := map[string]any{
		"flight_mask":       p.cfg.sets() - 1,
		"timeout_ns":        uint64(p.cfg.Timeout),
		"nat":               flag(p.cfg.NAT),
		"timed_below":       p.cfg.timedBelow(),
		"sampling":          flag(p.cfg.sampling()),
		"sample_every":      p.cfg.Sample.Every,
		"sample_above_ns":   uint64(p.cfg.Sample.Above),
		"total_store_order": flag(!verifier.WeakOrder()),
		"print_mask":        masks,
		"print_seed":        seed,
	}
	p.cfg.partConstants(constants)
	for name, value := range constants {
		if err := spec.Variables[name].Set(value); err != nil {
			return fmt.Errorf("constant %s: %w", name, err)
		}
	}
	return nil
}

func flag(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// Close takes the probe off everywhere.
func (p *Probe) Close() error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	points := p.points
	p.mu.Unlock()
	close(p.stop)
	p.stopped.Wait()
	var errs []error
	for _, s := range points {
		errs = append(errs, s.detach())
	}
	for _, c := range []closer{p.stats, p.reads} {
		if c != nil {
			errs = append(errs, c.Close())
		}
	}
	p.host.close()
	p.base.Close()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("probe: %w", err)
	}
	return nil
}
