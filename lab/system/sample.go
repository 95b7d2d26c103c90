package system

import (
	"context"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/plumbline-upf/plumbline/internal/histogram"
	"github.com/plumbline-upf/plumbline/lab/host"
	"github.com/plumbline-upf/plumbline/lab/report"
)

// Sample is what happened in one direction since the sample before, for whoever looks
// on. Frames that were sent and have not arrived yet are in its loss.
type Sample struct {
	Direction   report.Direction
	Elapsed     time.Duration // since the first frame that counts was due
	OfferedPPS  float64
	ReceivedPPS float64
	LossRatio   float64
	P50NS       int64 // latency; 0 if nothing arrived
	P99NS       int64
	// CPU and Drops are half a second old at most; Drops are those of the UPF since the
	// trial began, by reason.
	CPU   report.CPU
	Drops map[string]uint64
	// Streams are those of the traffic profile, if there are several, and the load says how
	// often samples are taken.
	Streams []report.Slot
}

// Slot is the sample as a result keeps it.
func (s *Sample) Slot() report.Slot {
	return report.Slot{
		AtNS: s.Elapsed.Nanoseconds(), OfferedPPS: s.OfferedPPS, ReceivedPPS: s.ReceivedPPS, LossRatio: s.LossRatio, P50NS: s.P50NS, P99NS: s.P99NS,
	}
}

const sampleEvery = 500 * time.Millisecond // if a load does not say

// sampler is what the next sample is compared with.
type sampler struct {
	trial   *trial
	started time.Time
	at      time.Time
	cpu     host.Times        // when those of sampled were read
	began   map[string]uint64 // drops when the trial began
	sampled Sample            // what is dear to read, and read twice a second at most
	all     []counts          // of each pass, all streams together
	streams [][]counts        // of each pass; empty: they are not asked for
}

// counts is what something had come to at the sample before.
type counts struct {
	sent, received uint64
	latency        *hdrhistogram.Histogram
}

// sample begins to call OnSample, if there is one. stop ends that.
func (t *trial) sample(ctx context.Context, cpu host.Times, drops map[string]uint64) (stop func() error) {
	if t.load.OnSample == nil {
		return func() error { return nil }
	}
	now := time.Now()
	s := &sampler{
		trial: t, started: now, at: now, cpu: cpu, began: drops,
	}
	for _, p := range t.passes {
		s.all = append(s.all, counts{sent: sum(p.first)})
		s.streams = append(s.streams, t.streamCounts(p))
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- s.run(ctx) }()
	return func() error {
		cancel()
		return <-done
	}
}

func (s *sampler) run(ctx context.Context) error {
	every := s.trial.load.SampleEvery
	if every <= 0 {
		every = sampleEvery
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if err := s.take(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// take makes a sample of each direction.
func (s *sampler) take(ctx context.Context) error {
	now := time.Now()
	span := now.Sub(s.at)
	if now.Sub(s.cpu.At) >= sampleEvery {
		if err := s.takeSystem(ctx); err != nil {
			return err
		}
	}
	for i, p := range s.trial.passes {
		sample := s.sampled
		sample.Direction, sample.Elapsed = p.direction, now.Sub(s.started)
		if err := s.fill(&sample, i, span); err != nil {
			return err
		}
		s.trial.load.OnSample(sample)
	}
	s.at = now
	return nil
}

// takeSystem reads what CPUs and UPF did.
func (s *sampler) takeSystem(ctx context.Context) error {
	cpu, err := s.trial.system.times()
	if err != nil {
		return err
	}
	drops, err := s.trial.system.drops(ctx)
	if err != nil {
		return err
	}
	s.sampled = Sample{CPU: cpu.Since(s.cpu), Drops: less(drops, s.began)}
	s.cpu = cpu
	return nil
}

// streamCounts are those of the streams of a pass before its first frame; nil: nobody
// asks for them.
func (t *trial) streamCounts(p *pass) []counts {
	if t.load.SampleEvery <= 0 || len(p.first) < 2 {
		return nil
	}
	list := make([]counts, len(p.first))
	for i, sent := range p.first {
		list[i].sent = sent
	}
	return list
}

// fill adds what generator and meter of a pass have counted in a span of time.
func (s *sampler) fill(sample *Sample, i int, span time.Duration) error {
	p := s.trial.passes[i]
	next, err := p.generator.Sequences()
	if err != nil {
		return err
	}
	snapshot, err := p.at.Read()
	if err != nil {
		return err
	}
	stream := together(snapshot.Streams)
	slot := s.all[i].add(counts{sum(next), stream.Received, stream.FromIntended}, span)
	sample.OfferedPPS, sample.ReceivedPPS, sample.LossRatio = slot.OfferedPPS, slot.ReceivedPPS, slot.LossRatio
	sample.P50NS, sample.P99NS = slot.P50NS, slot.P99NS
	for j := range s.streams[i] {
		x := &snapshot.Streams[j]
		slot := s.streams[i][j].add(counts{next[j], x.Received, x.FromIntended}, span)
		slot.AtNS = sample.Elapsed.Nanoseconds()
		sample.Streams = append(sample.Streams, slot)
	}
	return nil
}

// add takes the counts of now, and returns what they are more in a span of time.
func (c *counts) add(now counts, span time.Duration) report.Slot {
	offered, received := now.sent-c.sent, now.received-c.received
	slot := report.Slot{OfferedPPS: float64(offered) / span.Seconds(), ReceivedPPS: float64(received) / span.Seconds()}
	if offered > received {
		slot.LossRatio = float64(offered-received) / float64(offered)
	}
	if h := histogram.Since(now.latency, c.latency); h.TotalCount() > 0 {
		slot.P50NS, slot.P99NS = h.ValueAtPercentile(50), h.ValueAtPercentile(99)
	}
	*c = now
	return slot
}

func sum(numbers []uint64) uint64 {
	total := uint64(0)
	for _, n := range numbers {
		total += n
	}
	return total
}
