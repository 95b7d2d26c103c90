package slices

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/lab/report"
)

const (
	lookEvery   = time.Second            // at how it goes
	streamSpare = 2 * time.Second        // that iperf3 sends on, to be there until the probe is off
	settleTime  = 100 * time.Millisecond // after the time-out, until every packet is accounted for
)

// measure fills a cell. What could be measured is in it also if there is an error.
func (r *run) measure(ctx context.Context, s system, l Load, cell *report.SlicesCell) (err error) {
	bps, throughput, err := r.rate(ctx, s, l)
	if err != nil {
		return err
	}
	cell.StreamBPS, cell.ThroughputBPS = float64(bps), float64(throughput)
	w, err := openWatch(&r.Config, s, cell)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	p, err := s.start(ctx, &r.Config, l, bps, r.WarmUp+r.Duration+streamSpare)
	if err != nil {
		return err
	}
	defer p.kill()
	r.detail("warm-up")
	if err := pause(ctx, r.WarmUp); err != nil {
		return err
	}
	if err := r.during(ctx, s, w, p, cell); err != nil {
		return err
	}
	cell.Programs, err = p.stop(ctx)
	return errors.Join(err, w.settle(ctx), w.account(cell))
}

// during watches for the duration. What had come before is not counted, and at the end
// exits are watched for longer than entries, until nothing is in flight.
func (r *run) during(ctx context.Context, s system, w *watch, p *programs, cell *report.SlicesCell) error {
	if err := w.begin(); err != nil {
		return err
	}
	began := time.Now()
	cell.Started = began.UTC()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answered := s.modify(ctx, r.ModifyRate, r.Duration)
	var failed error
	for left := r.Duration; left > 0 && failed == nil; left = r.Duration - time.Since(began) {
		if failed = pause(ctx, min(left, lookEvery)); failed == nil {
			failed = errors.Join(s.alive(), p.exited())
		}
		if failed == nil && left > lookEvery {
			r.detail("%s", w.now())
		}
	}
	err := w.end()
	cell.DurationNS = time.Since(began).Nanoseconds()
	if failed != nil {
		cancel()
	}
	var n4Err error
	cell.N4, n4Err = answered()
	if failed != nil {
		n4Err = nil // it was cut short
	}
	return errors.Join(failed, err, n4Err)
}

// pause waits, or until ctx is done.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// words are p50 and p99 of the uplink of each slice, for the progress output.
func words(delays []report.SliceDelay) string {
	var list []string
	for i := range all {
		for _, d := range delays {
			if d.Slice != all[i].name || d.Direction != report.Uplink {
				continue
			}
			list = append(list, fmt.Sprintf("%s %.0f/%.0f", d.Slice, float64(d.DelayNS.P50)/1e3, float64(d.DelayNS.P99)/1e3))
		}
	}
	if len(list) == 0 {
		return ""
	}
	return "p50/p99 µs: " + strings.Join(list, ", ")
}
