package bench

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"

	"plumbline/lab/generator"
	"plumbline/lab/report"
)

// repeat measures the bed limit of the lane, then the UPF.
func (r *run) repeat(ctx context.Context, l *lane, n int) error {
	bed, err := r.bedTrial(ctx, l, n)
	if err != nil {
		return fmt.Errorf("bed limit %s: %w", l.direction, err)
	}
	name := fmt.Sprintf("%s, %d sessions, %s %d/%d", l.direction, len(r.sessions), r.Datapath, n, r.Repeats)
	r.step(name, r.trialTime())
	m, err := r.measureLane(ctx, l, r.load(r.RatePPS), false)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	t := r.trial(l, &m, report.Throughput, n, r.RatePPS)
	t.BedRatio = t.ReceivedPPS / bed.ReceivedPPS
	if r.RatePPS == 0 {
		cost := 1e9/t.ReceivedPPS - 1e9/bed.ReceivedPPS
		t.CostNS = &cost
	}
	r.result.Trials = append(r.result.Trials, t)
	return nil
}

// bedTrial puts the bed's program in the UPF's place for one trial, always at
// the highest rate, and adds it to the result.
func (r *run) bedTrial(ctx context.Context, l *lane, n int) (t *report.BedTrial, err error) {
	r.step(fmt.Sprintf("%s, %d sessions, bed %d/%d", l.direction, len(r.sessions), n, r.Repeats), r.trialTime())
	bed, err := r.topology.AttachBed()
	if err != nil {
		return nil, err
	}
	m, err := r.measureLane(ctx, l, r.load(0), true)
	if err := errors.Join(err, bed.Close()); err != nil {
		return nil, err
	}
	t = &report.BedTrial{
		Sessions: len(r.sessions), Repeat: n, OfferedPPS: m.perSecond(m.sent.Sent), ReceivedPPS: m.perSecond(m.received.Received),
		ReceivedBPS: 8 * m.perSecond(m.received.ReceivedOctets), LossRatio: m.lossRatio(),
		LatencyNS: latency(m.received.FromIntended), CPU: m.cpu,
	}
	addBed(&r.result.Bed, l.direction, m.frameOctets, t)
	return t, nil
}

// addBed adds t and brings the medians up to date.
func addBed(bed *report.Bed, d report.Direction, frameOctets int, t *report.BedTrial) {
	limit := bed.Limit(d)
	if limit == nil {
		limit = &report.BedLimit{FrameOctets: frameOctets}
		if d == report.Uplink {
			bed.Uplink = limit
		} else {
			bed.Downlink = limit
		}
	}
	limit.Repeats = append(limit.Repeats, *t)
	limit.ReceivedPPS, limit.ReceivedBPS = medians(limit.Repeats)
}

func medians(trials []report.BedTrial) (pps, bps float64) {
	var p, b []float64
	for _, t := range trials {
		p, b = append(p, t.ReceivedPPS), append(b, t.ReceivedBPS)
	}
	return report.Median(p), report.Median(b)
}

// paced measures latency at a part of the throughput: at the highest rate a
// frame never waits, because the generator does. A run at a given rate is paced
// already.
func (r *run) paced(ctx context.Context, l *lane) error {
	if r.RatePPS > 0 {
		return nil
	}
	var rates []float64
	for _, t := range r.result.Trials {
		if t.Direction == l.direction && t.Kind == report.Throughput && t.Sessions == len(r.sessions) {
			rates = append(rates, t.ReceivedPPS)
		}
	}
	rate := max(1, roundRate(pacedShare*report.Median(rates)))
	r.step(fmt.Sprintf("%s, %d sessions, %s latency", l.direction, len(r.sessions), r.Datapath), r.trialTime())
	m, err := r.measureLane(ctx, l, r.load(rate), false)
	if err != nil {
		return fmt.Errorf("%s at %d frames per second: %w", l.direction, rate, err)
	}
	t := r.trial(l, &m, report.Paced, 1, rate)
	bedPPS, _ := medians(r.result.Bed.Limit(l.direction).Of(len(r.sessions)))
	t.BedRatio = t.ReceivedPPS / bedPPS
	r.result.Trials = append(r.result.Trials, t)
	return nil
}

// roundRate takes a rate to 1000 frames per second, if it is that high.
func roundRate(pps float64) uint64 {
	if pps < 10_000 {
		return uint64(pps)
	}
	return uint64(math.Round(pps/1000)) * 1000
}

// load is sent from a real-time thread unless it is paced: the kernel takes such
// a thread off its CPU for up to 50 ms of each second (deadline server, or
// real-time throttling), and that would be the latency. A rate loses 5 %, bed
// and UPF alike.
func (r *run) load(rate uint64) generator.Load {
	return generator.Load{Rate: rate, Duration: r.Duration, CPU: generator.LastCPU(), Realtime: rate == 0}
}

// trial puts a measurement into the form of the result. The shares of the bed
// limit are the caller's.
func (r *run) trial(l *lane, m *measurement, kind report.Kind, repeat int, rate uint64) report.Trial {
	return report.Trial{
		DUT: "plumbline", Datapath: r.Datapath, Direction: l.direction, Sessions: len(r.sessions), Access: r.Access.String(),
		FrameOctets: m.frameOctets, IntendedPPS: float64(rate),
		OfferedPPS: m.perSecond(m.sent.Sent), ReceivedPPS: m.perSecond(m.received.Received),
		ReceivedBPS: 8 * m.perSecond(m.received.ReceivedOctets), LossRatio: m.lossRatio(),
		Misdelivered: m.received.MisdeliveredTotal(), Duplicated: m.received.Duplicated, Reordered: m.received.Reordered + m.received.Stale,
		LatencyNS: latency(m.received.FromIntended), CPU: m.cpu,

		Kind: kind, Repeat: repeat, XDPMode: r.mode, DurationNS: m.sent.Elapsed.Nanoseconds(),
		OfferedFrames: m.sent.Sent, ReceivedFrames: m.received.Received,
		OfferedBPS: 8 * m.perSecond(m.sent.SentOctets), Drops: m.drops,
		LatencyCurve: report.Curve(m.received.FromIntended),
	}
}

func latency(h *hdrhistogram.Histogram) report.Latency {
	return report.Latency{
		Min: h.Min(), P50: h.ValueAtPercentile(50), P90: h.ValueAtPercentile(90), P99: h.ValueAtPercentile(99),
		P999: h.ValueAtPercentile(99.9), Max: h.Max(),
	}
}
