package probe

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sys/unix"
)

// Snapshot is what a probe has seen since it was opened.
type Snapshot struct {
	At          time.Time
	MonotonicNs uint64 // the same moment by CLOCK_MONOTONIC

	// Series are those that have packets, by UPF, slice and direction.
	Series []Series
	Points []PointCount // in the order in which they were first attached to

	// Held is how many packets the table has, counted one by one. When no packet moves,
	// it is the sum of Account.InFlight of all series.
	Held uint64

	SamplesLost uint64 // for which there was no room in the ring
}

// PointCount is what has passed a point. Of what left the UPF there,
//
//	Packets = matched ones + AmbiguousOut + Unmatched + UntimedOut
type PointCount struct {
	Point
	Attached bool

	Packets      uint64 // of the UPF's UEs
	AmbiguousOut uint64 // left: one of several that are alike
	Unmatched    uint64 // left: did not come in, or too long ago, or was changed by the UPF
	UntimedOut   uint64 // left: not chosen by Config.Timed
	Foreign      uint64 // of others: not in Packets
	Unparsed     uint64 // could not be read: not in Packets

	Cost Cost
}

// Read returns what was counted so far. While packets flow, those that came while it
// reads are in flight.
func (p *Probe) Read() (*Snapshot, error) {
	s, err := p.read()
	if err != nil {
		return nil, fmt.Errorf("probe: read: %w", err)
	}
	return s, nil
}

func (p *Probe) read() (*Snapshot, error) {
	held, err := p.sweep()
	if err != nil {
		return nil, err
	}
	s := &Snapshot{At: time.Now(), MonotonicNs: monotonic(), Held: held, SamplesLost: p.SamplesLost()}
	p.mu.Lock()
	pairs, upfs, points, alone := slices.Clone(p.pairs), slices.Clone(p.upfs), slices.Clone(p.points), p.alone
	p.mu.Unlock()
	for n, x := range pairs {
		for _, d := range []Direction{Uplink, Downlink} {
			series := Series{UPF: upfs[x.upf].Name, Slice: x.slice, Direction: d}
			if err := p.readSeries(uint32(2*n)+uint32(d), &series); err != nil {
				return nil, fmt.Errorf("slice %q of UPF %s: %w", x.slice, series.UPF, err)
			}
			if series.In > 0 {
				s.Series = append(s.Series, series)
			}
		}
	}
	slices.SortFunc(s.Series, func(a, b Series) int {
		return cmp.Or(cmp.Compare(a.UPF, b.UPF), cmp.Compare(a.Slice, b.Slice), cmp.Compare(a.Direction, b.Direction))
	})
	for _, x := range points {
		count, err := p.readPoint(x)
		if err != nil {
			return nil, fmt.Errorf("point %v: %w", x.point, err)
		}
		count.Cost.Alone = alone[x.point.Way%2][x.point.Side%3]
		s.Points = append(s.Points, count)
	}
	return s, nil
}

// readSeries reads what became of packets before it reads how many came in: so what
// came meanwhile is in flight, and never less than nothing.
func (p *Probe) readSeries(n uint32, s *Series) error {
	var swept uint64
	if err := p.base.Maps["swept_by_series"].Lookup(n, &swept); err != nil {
		return err
	}
	before, err := p.account(n)
	if err != nil || before.In == 0 {
		return err
	}
	octets, err := p.matched(n, s)
	if err != nil {
		return err
	}
	matched := uint64(s.Delay.TotalCount())
	if s.Parts, err = p.parts(n, matched); err != nil {
		return err
	}
	after, err := p.account(n)
	if err != nil {
		return err
	}
	s.Account = Account{
		In: after.In, Matched: matched, Lost: before.Lost + swept,
		Ambiguous: before.Ambiguous, Evicted: before.Evicted, Octets: octets,
		Untimed: after.Untimed, UntimedOctets: after.UntimedOctets,
	}
	s.InFlight = s.In - s.Matched - s.Lost - s.Ambiguous - s.Evicted - s.Untimed
	return nil
}

func (p *Probe) account(n uint32) (sum probeAccount, err error) {
	var perCPU []probeAccount
	if err := p.base.Maps["account_by_series"].Lookup(n, &perCPU); err != nil {
		return sum, err
	}
	for _, a := range perCPU {
		sum.In += a.In
		sum.Lost += a.Lost
		sum.Ambiguous += a.Ambiguous
		sum.Evicted += a.Evicted
		sum.Untimed += a.Untimed
		sum.UntimedOctets += a.UntimedOctets
	}
	return sum, nil
}

// The histograms' geometry: bpf/latency.h.
const (
	lowestNs           = 1
	highestNs          = 1<<36 - 1
	significantFigures = 2
)

// matched reads the delays of a series, and the octets of their packets.
func (p *Probe) matched(n uint32, s *Series) (octets uint64, err error) {
	var perCPU []probeMatched
	if err := p.base.Maps["matched_by_series"].Lookup(n, &perCPU); err != nil {
		return 0, err
	}
	total := counts{}
	for i := range perCPU {
		octets += perCPU[i].Octets
		total.add(&perCPU[i].Delay)
	}
	s.Delay = total.histogram()
	return octets, nil
}

// histogram reads a histogram of a series, unless nothing is in it.
func (p *Probe) histogram(table string, n uint32, matched uint64) (*hdrhistogram.Histogram, error) {
	total := counts{}
	if matched > 0 {
		var perCPU []probeLatency
		if err := p.base.Maps[table].Lookup(n, &perCPU); err != nil {
			return nil, err
		}
		for i := range perCPU {
			total.add(&perCPU[i])
		}
	}
	return total.histogram(), nil
}

// counts are those of a histogram on all CPUs.
type counts [len(probeLatency{}.Counts)]int64

func (c *counts) add(cpu *probeLatency) {
	for i, n := range cpu.Counts {
		c[i] += int64(n)
	}
}

func (c *counts) histogram() *hdrhistogram.Histogram {
	return hdrhistogram.Import(&hdrhistogram.Snapshot{
		LowestTrackableValue: lowestNs, HighestTrackableValue: highestNs, SignificantFigures: significantFigures,
		Counts: c[:],
	})
}

func (p *Probe) readPoint(s *pointState) (PointCount, error) {
	c := PointCount{Point: s.point}
	var perCPU []probeCount
	if err := p.base.Maps["count_by_point"].Lookup(s.number, &perCPU); err != nil {
		return c, err
	}
	for _, n := range perCPU {
		c.Packets += n.Packets
		c.AmbiguousOut += n.Ambiguous
		c.Unmatched += n.Unmatched
		c.UntimedOut += n.Untimed
		c.Foreign += n.Foreign
		c.Unparsed += n.Unparsed
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c.Attached = s.attached != nil
	c.Cost = s.total()
	return c, nil
}

// monotonic is the clock of the programs.
func monotonic() uint64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // never fails
	return uint64(now.Nano())
}
