package meter

import (
	"errors"
	"fmt"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/cilium/ebpf"
)

// Snapshot is what a meter has seen since it was attached or reset.
type Snapshot struct {
	Streams []Stream
}

// Stream is what arrived of one generator.
type Stream struct {
	Received       uint64 // distinct frames, misdelivered and unenforced ones included
	ReceivedOctets uint64 // of these, Ethernet header included, FCS not
	Duplicated     uint64 // further arrivals of a frame that was already received
	Reordered      uint64 // of Received: came after one that was sent later (RFC 4737, 3.3)
	Stale          uint64 // came more than 65,000 numbers after a later one: late or duplicated, who knows

	// Misdelivered counts frames of Received that are wrong, each once, under
	// the first wrong thing found.
	Misdelivered [Kinds]uint64

	// Unenforced counts the same way frames of Received that are wrong only in what the
	// UPF is known not to enforce: see [Config]. They are not misdelivered.
	Unenforced [Kinds]uint64

	FirstNs, LastNs uint64 // first and last arrival, CLOCK_MONOTONIC; 0 if none

	// GapNs is the longest time without an arrival between two, GapEndNs when it ended,
	// by CLOCK_MONOTONIC. Both are 0 if fewer than two frames arrived.
	GapNs, GapEndNs uint64

	Followed       uint64 // of Received: came after another one on the same CPU
	VariationSumNs uint64 // sum of the absolute differences between their latencies

	// LeastNs and MostNs are the ends of FromIntended, exactly; 0 if there are no frames.
	LeastNs, MostNs uint64

	FromIntended *hdrhistogram.Histogram // latency in ns since the intended send time
	FromSent     *hdrhistogram.Histogram // latency in ns since the real send time; of frames with a short stamp none
}

// MisdeliveredTotal returns how many frames of Received are wrong.
func (s *Stream) MisdeliveredTotal() uint64 {
	total := uint64(0)
	for _, n := range s.Misdelivered {
		total += n
	}
	return total
}

// MisdeliveredBy returns how many frames of Received are wrong, by the names of their
// kinds; nil if none is.
func (s *Stream) MisdeliveredBy() map[string]uint64 { return byName(&s.Misdelivered) }

// UnenforcedBy returns Unenforced by the names of the kinds; nil if there are none.
func (s *Stream) UnenforcedBy() map[string]uint64 { return byName(&s.Unenforced) }

func byName(frames *[Kinds]uint64) map[string]uint64 {
	var by map[string]uint64
	for kind, n := range frames {
		if n > 0 {
			if by == nil {
				by = map[string]uint64{}
			}
			by[Kind(kind).String()] = n
		}
	}
	return by
}

// VariationNs is the mean of the absolute differences between the latencies, from the
// intended send time, of frames that arrived one after the other on the same CPU, in
// ns; 0 if there is none. Source: RFC 5481, 4.1 (IPDV), and RFC 8219, 7.3.
func (s *Stream) VariationNs() int64 {
	if s.Followed == 0 {
		return 0
	}
	return int64(s.VariationSumNs / s.Followed)
}

// Read returns what was counted so far. While frames arrive, its figures may be
// of moments a little apart.
//
// Errors: [ErrDetached].
func (m *Meter) Read() (*Snapshot, error) {
	if err := m.attached(); err != nil {
		return nil, fmt.Errorf("meter: %w", err)
	}
	s := &Snapshot{Streams: make([]Stream, m.config.Streams)}
	for i := range s.Streams {
		if err := m.readStream(uint32(i), &s.Streams[i]); err != nil {
			return nil, fmt.Errorf("meter: stream %d: %w", i, err)
		}
	}
	return s, nil
}

func (m *Meter) readStream(stream uint32, s *Stream) (err error) {
	var counts []meterStreamCount
	if err := m.objects.CountByStream.Lookup(stream, &counts); err != nil {
		return err
	}
	for _, c := range counts {
		s.add(c)
	}
	for _, k := range m.config.Unenforced { // a frame has come under one of these for nothing else
		s.Unenforced[k], s.Misdelivered[k] = s.Misdelivered[k], 0
	}
	var w meterWindow
	if err := m.objects.WindowByStream.Lookup(stream, &w); err != nil {
		return err
	}
	s.GapNs, s.GapEndNs = w.GapNs, w.GapEndNs
	if s.FromIntended, err = m.readLatency(2 * stream); err != nil {
		return err
	}
	s.FromSent, err = m.readLatency(2*stream + 1)
	return err
}

// add adds what one CPU counted.
func (s *Stream) add(c meterStreamCount) {
	if c.Received > 0 {
		if s.Received == 0 || c.LeastNs < s.LeastNs {
			s.LeastNs = c.LeastNs
		}
		s.MostNs = max(s.MostNs, c.MostNs)
	}
	s.Received += c.Received
	s.Followed += c.Received - min(c.Received, 1)
	s.VariationSumNs += c.VariationNs
	s.ReceivedOctets += c.ReceivedOctets
	s.Duplicated += c.Duplicated
	s.Reordered += c.Reordered
	s.Stale += c.Stale
	for i, n := range c.Misdelivered {
		s.Misdelivered[i] += n
	}
	if c.FirstNs != 0 && (s.FirstNs == 0 || c.FirstNs < s.FirstNs) {
		s.FirstNs = c.FirstNs
	}
	s.LastNs = max(s.LastNs, c.LastNs)
}

// The histograms' geometry: bpf/lab/meter.h, LATENCY_SUB_BITS and LATENCY_BITS.
const (
	lowestNs           = 1
	highestNs          = 1<<36 - 1
	significantFigures = 2
)

func (m *Meter) readLatency(key uint32) (*hdrhistogram.Histogram, error) {
	var perCPU []meterLatency
	if err := m.objects.LatencyByStream.Lookup(key, &perCPU); err != nil {
		return nil, err
	}
	total := make([]int64, len(meterLatency{}.Counts))
	for _, cpu := range perCPU {
		for i, n := range cpu.Counts {
			total[i] += int64(n)
		}
	}
	return hdrhistogram.Import(&hdrhistogram.Snapshot{
		LowestTrackableValue:  lowestNs,
		HighestTrackableValue: highestNs,
		SignificantFigures:    significantFigures,
		Counts:                total,
	}), nil
}

// ResetFrom is [Meter.Reset] while frames may be on their way: those of each stream
// before its sequence number are not counted any more. Streams without one begin with 0.
func (m *Meter) ResetFrom(sequences ...uint64) error {
	var from [maxStreams]uint64
	if copied := copy(from[:m.config.Streams], sequences); copied < len(sequences) {
		return fmt.Errorf("meter: reset: sequence numbers of %d streams: there are %d", len(sequences), m.config.Streams)
	}
	if err := m.objects.CountedFrom.Set(from); err != nil {
		return fmt.Errorf("meter: reset: %w", err)
	}
	return m.Reset()
}

// Reset sets every count to zero. No frame may be on its way.
func (m *Meter) Reset() error {
	cpus, err := ebpf.PossibleCPU()
	if err != nil {
		return fmt.Errorf("meter: reset: %w", err)
	}
	for i := range uint32(m.config.Streams) {
		err := errors.Join(
			m.objects.WindowByStream.Put(i, meterWindow{}),
			m.objects.CountByStream.Put(i, make([]meterStreamCount, cpus)),
			m.objects.LatencyByStream.Put(2*i, make([]meterLatency, cpus)),
			m.objects.LatencyByStream.Put(2*i+1, make([]meterLatency, cpus)))
		if err != nil {
			return fmt.Errorf("meter: reset stream %d: %w", i, err)
		}
	}
	return nil
}
