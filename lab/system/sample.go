package system

import (
	"context"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"plumbline/lab/host"
	"plumbline/lab/report"
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
}

const sampleEvery = 500 * time.Millisecond // if a load does not say

// sampler is what the next sample is compared with.
type sampler struct {
	trial    *trial
	started  time.Time
	at       time.Time
	cpu      host.Times        // when those of sampled were read
	began    map[string]uint64 // drops when the trial began
	sampled  Sample            // what is dear to read, and read twice a second at most
	sent     []uint64
	received []uint64
	latency  []*hdrhistogram.Histogram
}

// sample begins to call OnSample, if there is one. stop ends that.
func (t *trial) sample(ctx context.Context, cpu host.Times, drops map[string]uint64) (stop func() error) {
	if t.load.OnSample == nil {
		return func() error { return nil }
	}
	now := time.Now()
	s := &sampler{
		trial: t, started: now, at: now, cpu: cpu, began: drops,
		sent: make([]uint64, len(t.passes)), received: make([]uint64, len(t.passes)), latency: make([]*hdrhistogram.Histogram, len(t.passes)),
	}
	for i, p := range t.passes {
		s.sent[i] = sum(p.first)
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

// fill adds what generator and meter of a pass have counted in a span of time.
func (s *sampler) fill(sample *Sample, i int, span time.Duration) error {
	p := s.trial.passes[i]
	next, err := p.generator.Sequences()
	if err != nil {
		return err
	}
	sent := sum(next)
	snapshot, err := p.at.Read()
	if err != nil {
		return err
	}
	stream := together(snapshot.Streams)
	offered, received := sent-s.sent[i], stream.Received-s.received[i]
	sample.OfferedPPS, sample.ReceivedPPS = float64(offered)/span.Seconds(), float64(received)/span.Seconds()
	if offered > received {
		sample.LossRatio = float64(offered-received) / float64(offered)
	}
	if h := since(stream.FromIntended, s.latency[i]); h.TotalCount() > 0 {
		sample.P50NS, sample.P99NS = h.ValueAtPercentile(50), h.ValueAtPercentile(99)
	}
	s.sent[i], s.received[i], s.latency[i] = sent, stream.Received, stream.FromIntended
	return nil
}

func sum(numbers []uint64) uint64 {
	total := uint64(0)
	for _, n := range numbers {
		total += n
	}
	return total
}

// since returns what a histogram has more than an earlier one of the same form, which
// may be nil.
func since(now, before *hdrhistogram.Histogram) *hdrhistogram.Histogram {
	if before == nil {
		return now
	}
	counts := now.Export()
	for i, n := range before.Export().Counts {
		counts.Counts[i] -= n
	}
	return hdrhistogram.Import(counts)
}
