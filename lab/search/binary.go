package search

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
)

// Binary is the search of RFC 2544: one trial at a load is believed, and every lower or
// higher load with it.
//
// Source: RFC 2544, 26.1 (Throughput), 24 (Trial duration).
type Binary struct {
	Min, Max  uint64        // loads that may be tried, frames per second and direction
	LossRatio float64       // a trial with more fails; the RFC has 0
	Width     float64       // of what is left between the bounds, as a part of the upper one
	Duration  time.Duration // of each trial; the RFC has 60 s
	Tolerated float64       // as in [MLR]
}

// Search looks for the highest load that passes, beginning with the highest. It returns
// one goal. With an error it returns what is known so far.
func (b Binary) Search(ctx context.Context, measure Measure) (Result, error) {
	g := Goal{LossRatio: b.LossRatio, Width: b.Width, FinalDuration: b.Duration, DurationSum: b.Duration}
	m := MLR{Goals: []Goal{g}, Min: b.Min, Max: b.Max, Tolerated: b.Tolerated}
	if err := m.validate(); err != nil {
		return Result{}, fmt.Errorf("search: %w", err)
	}
	l := &lab{measure: measure, tolerated: b.Tolerated}
	found := GoalResult{Goal: g, Irregular: OutOfTime}
	var failed error
	for load := b.Max; load != 0; load = b.middle(bounds{found.Lower, found.Upper}) {
		r, err := l.try(ctx, Trial{Load: load, Duration: b.Duration})
		if err != nil {
			failed = fmt.Errorf("search: %w", err)
			break
		}
		if r.Loss > b.LossRatio {
			found.Upper = load
		} else {
			found.Lower, found.Throughput = load, r.forwardingRate()
		}
	}
	switch {
	case failed != nil:
	case found.Upper == 0:
		found.Irregular = AtMax
	case found.Lower == 0:
		found.Irregular = AtMin
	default:
		found.Irregular = ""
	}
	return Result{Goals: []GoalResult{found}, Records: l.records, Took: l.took}, failed
}

// middle is the load to try next, 0 if there is none. Steps are equal in ratio, because
// rates of systems differ by factors.
func (b Binary) middle(now bounds) uint64 {
	low := bounds{max(now.lower, b.Min), now.upper}
	switch {
	case now.upper == 0 || now.upper == b.Min || now.within(b.Width):
		return 0
	case now.lower == 0 && low.within(b.Width):
		return b.Min
	}
	middle := uint64(math.Sqrt(float64(low.lower) * float64(low.upper)))
	return min(max(middle, now.lower+1, b.Min), now.upper-1)
}

// Steps measures the loss at loads from the highest down.
//
// Source: RFC 2544, 26.3 (Frame loss rate).
type Steps struct {
	Max       uint64        // the first load, frames per second and direction
	Step      float64       // from one load to the next, as a part of Max; the RFC wants 0.1 or less
	Duration  time.Duration // of each trial
	Tolerated float64       // as in [MLR]
}

// Run goes down until two trials in sequence have lost nothing, or no load is left. With
// an error it returns the trials so far.
func (s Steps) Run(ctx context.Context, measure Measure) ([]Record, error) {
	if s.Max == 0 || !(s.Step > 0 && s.Step <= 1) || s.Duration <= 0 {
		return nil, errors.New("search: loss steps need a load, a step of up to 1, and a duration")
	}
	l := &lab{measure: measure, tolerated: s.Tolerated}
	clean := 0
	for i := 0; clean < 2; i++ {
		load := uint64(math.Round(float64(s.Max) * (1 - float64(i)*s.Step)))
		if part := 1 - float64(i)*s.Step; part < s.Step/2 || load == 0 {
			break
		}
		r, err := l.try(ctx, Trial{Load: load, Duration: s.Duration})
		if err != nil {
			return l.records, fmt.Errorf("search: %w", err)
		}
		if clean++; r.Loss > 0 {
			clean = 0
		}
	}
	return l.records, nil
}
