package system

import (
	"errors"
	"fmt"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/plumbline-upf/plumbline/internal/histogram"
	"github.com/plumbline-upf/plumbline/lab/meter"
	"github.com/plumbline-upf/plumbline/lab/report"
)

// results puts what was measured into the form of the result.
func (t *trial) results() ([]report.Trial, error) {
	var trials []report.Trial
	var nothing error
	for _, p := range t.passes {
		if err := p.sound(t.drops); err != nil && !errors.Is(err, ErrNothing) {
			return nil, err
		} else if nothing == nil {
			nothing = err
		}
		r, err := t.result(p)
		if err != nil {
			return nil, err
		}
		trials = append(trials, r)
	}
	return trials, nothing
}

// sound refuses what would be a figure without a meaning.
func (p *pass) sound(drops map[string]uint64) error {
	switch {
	case p.sent.Sent == 0 || p.sent.Elapsed <= 0:
		return fmt.Errorf("%s: %w: the generator sent no frame", p.direction, ErrNothing)
	case p.received.Received == 0:
		return fmt.Errorf("%s: %w: none of %d frames arrived; the UPF dropped %v", p.direction, ErrNothing, p.sent.Sent, drops)
	case p.received.Received > p.sent.Sent:
		return fmt.Errorf("%s: %d frames arrived of %d that were sent", p.direction, p.received.Received, p.sent.Sent)
	}
	return nil
}

func (t *trial) result(p *pass) (report.Trial, error) {
	latencies, err := histogram.Encode(p.received.FromIntended)
	if err != nil {
		return report.Trial{}, err
	}
	s := t.system
	r := report.Trial{
		DUT: s.config.Name, Datapath: s.config.Name, Direction: p.direction, Sessions: len(s.sessions), Access: p.access(),
		XDPMode: s.about.Mode, Started: t.started, Realtime: p.sent.Realtime, HeldNS: p.sent.Held.Nanoseconds(),

		IntendedPPS: p.intendedPPS(&t.load), DurationNS: p.sent.Elapsed.Nanoseconds(),
		IntendedFrames: p.sent.Intended, OfferedFrames: p.sent.Sent, ReceivedFrames: p.received.Received,
		OfferedPPS: p.perSecond(p.sent.Sent), OfferedBPS: 8 * p.perSecond(p.sent.SentOctets),
		ReceivedPPS: p.perSecond(p.received.Received), ReceivedBPS: 8 * p.perSecond(p.received.ReceivedOctets),

		Misdelivered: p.received.MisdeliveredTotal(), Duplicated: p.received.Duplicated, Reordered: p.received.Reordered + p.received.Stale,
		MisdeliveredBy: p.received.MisdeliveredBy(), UnenforcedBy: p.received.UnenforcedBy(),
		LatencyNS: latencyOf(&p.received), LatencyCurve: curveOf(&p.received), LatencyHistogram: latencies,
		CPU: t.cpu, Drops: t.drops,
	}
	if r.IntendedPPS == 0 {
		r.IntendedFrames = 0
	}
	if p.refused.told {
		r.SentFrames = r.OfferedFrames - p.refused.frames
	}
	r.GapNS = int64(p.received.GapNs)
	r.LatencyNS.Variation = p.received.VariationNs()
	if r.Stamped, err = p.stamped(); err != nil {
		return report.Trial{}, err
	}
	if r.Streams, err = p.ofStreams(); err != nil {
		return report.Trial{}, err
	}
	if p.sent.Sent > 0 {
		r.FrameOctets = int(p.sent.SentOctets / p.sent.Sent)
		r.LossRatio = float64(p.sent.Sent-p.received.Received) / float64(p.sent.Sent)
	}
	if t.churned != nil {
		phase := t.churned.Phase("churn")
		r.Churn = &phase
	}
	return r, nil
}

// intendedPPS is the rate that was asked for; 0: as much as possible. It is the mean of
// a ramp.
func (p *pass) intendedPPS(l *Load) float64 {
	asked := l.counted(p)
	if asked.RampTo > 0 {
		return float64(asked.Rate+asked.RampTo) / 2
	}
	if asked.Speed > 0 { // as the times of a file say
		return p.perSecond(p.sent.Intended)
	}
	return float64(asked.Rate)
}

// perSecond is a count as a rate over the time in which the generator sent.
func (p *pass) perSecond(n uint64) float64 {
	if p.sent.Elapsed <= 0 {
		return 0
	}
	return float64(n) / p.sent.Elapsed.Seconds()
}

// latencyOf is what a table has of a stream, with the least and the most as they were and not
// as the ends of the ranges of a histogram.
func latencyOf(s *meter.Stream) report.Latency {
	l := latency(s.FromIntended)
	if s.Received > 0 {
		l.Min, l.Max = int64(s.LeastNs), int64(s.MostNs)
		for _, p := range []*int64{&l.P50, &l.P90, &l.P99, &l.P999, &l.P9999, &l.Mean} {
			*p = min(max(*p, l.Min), l.Max) // which are within their range as well
		}
		l.PDV = l.P999 - l.Min
	}
	return l
}

// curveOf is the percentiles of a stream, between the same ends.
func curveOf(s *meter.Stream) []report.Percentile {
	curve := report.Curve(s.FromIntended)
	for i := range curve {
		curve[i].NS = min(max(curve[i].NS, int64(s.LeastNs)), int64(s.MostNs))
	}
	if n := len(curve); n > 0 {
		curve[0].NS, curve[n-1].NS = int64(s.LeastNs), int64(s.MostNs)
	}
	return curve
}

// latency returns what a table has of a histogram of nanoseconds.
func latency(h *hdrhistogram.Histogram) report.Latency {
	if h.TotalCount() == 0 {
		return report.Latency{}
	}
	l := report.Latency{
		Min: h.Min(), P50: h.ValueAtPercentile(50), P90: h.ValueAtPercentile(90), P99: h.ValueAtPercentile(99),
		P999: h.ValueAtPercentile(99.9), P9999: h.ValueAtPercentile(99.99), Max: h.Max(), Mean: int64(h.Mean()),
	}
	l.PDV = l.P999 - l.Min
	return l
}
