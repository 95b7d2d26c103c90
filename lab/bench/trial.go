package bench

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/plumbline-upf/plumbline/internal/stats"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/system"
)

// repeat measures the bed limit in a direction, then the UPF.
func (r *run) repeat(ctx context.Context, d report.Direction, n int) error {
	bed, err := r.bedTrial(ctx, d, n)
	if err != nil {
		return fmt.Errorf("bed limit %s: %w", d, err)
	}
	name := fmt.Sprintf("%s, %s, %s %d/%d", d, sessionsText(len(r.system.Sessions())), r.Datapath, n, r.Repeats)
	r.step(name, r.trialTime())
	t, err := r.trial(ctx, report.Throughput, system.At(r.RatePPS, r.Duration).In(d))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	t.Repeat = n
	t.BedRatio = t.ReceivedPPS / bed.ReceivedPPS
	if r.RatePPS == 0 {
		cost := 1e9/t.ReceivedPPS - 1e9/bed.ReceivedPPS
		t.CostNS = &cost
	}
	r.result.Trials = append(r.result.Trials, t)
	return nil
}

// trial makes one, in one direction.
func (r *run) trial(ctx context.Context, kind report.Kind, l system.Load) (report.Trial, error) {
	t, err := measure(ctx, r.system, kind, l)
	if err != nil {
		return t, err
	}
	r.result.Setup.Realtime = r.result.Setup.Realtime || t.Realtime
	return t, nil
}

// trialTries is how often a trial is made in which nothing arrives.
const trialTries = 3

// measure makes a trial in one direction. A busy machine may hold up a process for as
// long as a short one lasts: then it is made again.
func measure(ctx context.Context, s *system.System, kind report.Kind, l system.Load) (report.Trial, error) {
	trials, err := s.Trial(ctx, l)
	for try := 1; errors.Is(err, system.ErrNothing) && try < trialTries; try++ {
		trials, err = s.Trial(ctx, l)
	}
	if err != nil {
		return report.Trial{}, err
	}
	t := trials[0]
	t.DUT, t.Kind, t.Repeat = "plumbline", kind, 1
	return t, nil
}

// bedTrial puts the bed's program in the UPF's place for one trial, always at
// the highest rate, and adds it to the result.
func (r *run) bedTrial(ctx context.Context, d report.Direction, n int) (*report.BedTrial, error) {
	sessions := len(r.system.Sessions())
	r.step(fmt.Sprintf("%s, %s, bed %d/%d", d, sessionsText(sessions), n, r.Repeats), r.trialTime())
	var t report.Trial
	err := r.system.InBed(func() (err error) {
		t, err = r.trial(ctx, report.Throughput, system.At(0, r.Duration).In(d))
		return err
	})
	if err != nil {
		return nil, err
	}
	bed := &report.BedTrial{
		Sessions: sessions, Repeat: n, OfferedPPS: t.OfferedPPS, ReceivedPPS: t.ReceivedPPS, ReceivedBPS: t.ReceivedBPS,
		LossRatio: t.LossRatio, LatencyNS: t.LatencyNS, CPU: t.CPU,
	}
	addBed(&r.result.Bed, d, t.FrameOctets, bed)
	return bed, nil
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
	return stats.Median(p), stats.Median(b)
}

// paced measures latency at a part of the throughput: at the highest rate a
// frame never waits, because the generator does. A run at a given rate is paced
// already.
func (r *run) paced(ctx context.Context, d report.Direction) error {
	if r.RatePPS > 0 {
		return nil
	}
	sessions := len(r.system.Sessions())
	var rates []float64
	for _, t := range r.result.Trials {
		if t.Direction == d && t.Kind == report.Throughput && t.Sessions == sessions {
			rates = append(rates, t.ReceivedPPS)
		}
	}
	rate := max(1, roundRate(pacedShare*stats.Median(rates)))
	r.step(fmt.Sprintf("%s, %s, %s latency", d, sessionsText(sessions), r.Datapath), r.trialTime())
	t, err := r.trial(ctx, report.Paced, system.At(rate, r.Duration).In(d))
	if err != nil {
		return fmt.Errorf("%s at %d frames per second: %w", d, rate, err)
	}
	bedPPS, _ := medians(r.result.Bed.Limit(d).Of(sessions))
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
