package search

import (
	"context"
	"fmt"
	"math"
	"time"
)

// Soak is a long search for the load at which a system loses a given part of the frames on
// average. It believes no trial: each makes some loads likelier and others less so. The
// longer it takes, the more certain it is.
//
// Source: draft-vpolak-bmwg-plrsearch-03 (PLRsearch).
type Soak struct {
	Min, Max  uint64        // loads that may be tried, frames per second and direction
	LossRatio float64       // on average; above 0. CSIT has 1e-7
	First     time.Duration // duration of the first trial
	Longer    time.Duration // by which each trial is longer than the one before: their evaluation takes longer, too
	Budget    time.Duration // of all trials with their waits; no trial begins after it
	Tolerated float64       // as in [MLR]
}

// SoakResult is what is known after the last trial.
type SoakResult struct {
	// Load is the critical load: its mean over both shapes that the loss may have, and its
	// deviation with that between them.
	Load    Estimate
	Fits    [2]Estimate // of each shape: stretch, erf
	Records []Record
	Took    time.Duration
}

// Search makes trials at loads near the estimate until the time is up. With an error it
// returns what is known so far.
func (s Soak) Search(ctx context.Context, measure Measure) (SoakResult, error) {
	if err := s.validate(); err != nil {
		return SoakResult{}, fmt.Errorf("search: %w", err)
	}
	l := &lab{measure: measure, tolerated: s.Tolerated}
	var r SoakResult
	var failed error
	var evidence []Record
	for duration := s.First; l.took < s.Budget; duration += s.Longer {
		record, err := l.try(ctx, Trial{Load: s.next(r, evidence), Duration: duration})
		if err != nil {
			failed = fmt.Errorf("search: %w", err)
			break
		}
		evidence = append(evidence, record)
		r.learn(evidence, float64(s.Max), s.LossRatio)
	}
	r.Records, r.Took = l.records, l.took
	return r, failed
}

func (s Soak) validate() error {
	switch {
	case s.Min == 0 || s.Max < s.Min:
		return fmt.Errorf("loads from %d to %d frames/s: want from 1 upwards", s.Min, s.Max)
	case !(s.LossRatio > 0 && s.LossRatio < 1):
		return fmt.Errorf("loss ratio %g: want above 0 and below 1", s.LossRatio)
	case s.First <= 0 || s.Longer < 0 || s.Budget <= 0:
		return fmt.Errorf("trials of %v, each %v longer, for %v: want a duration and an end", s.First, s.Longer, s.Budget)
	}
	return nil
}

// learn brings the estimates up to date.
func (r *SoakResult) learn(evidence []Record, highest, lossRatio float64) {
	for i, f := range fits {
		p := posterior{fit: f, records: evidence, highest: highest}
		r.Fits[i] = p.estimate(lossRatio)
	}
	a, b := r.Fits[0], r.Fits[1]
	half := (a.Mean - b.Mean) / 2
	r.Load = Estimate{
		Mean:      (a.Mean + b.Mean) / 2,
		Deviation: math.Sqrt((a.Deviation*a.Deviation+b.Deviation*b.Deviation)/2 + half*half),
	}
}

// next is the load of the next trial: the highest and the middle one, then what came
// through at the lowest load so far that lost more than it may, then the estimates of the
// two shapes in turn. Trials without any loss in sequence say little: the load goes up
// towards the lowest one that lost frames, the nearer the more of them there were.
func (s Soak) next(r SoakResult, evidence []Record) uint64 {
	n := len(evidence)
	load := float64(s.Max)
	switch {
	case n == 1:
		load = float64(s.Min+s.Max) / 2
	case n == 2 || n == 3:
		load = lowestCarried(evidence)
	case n > 3:
		load = r.Fits[n%2].Mean
		if lossy, clean := lossyAbove(evidence, load), cleanRun(evidence); lossy > 0 && clean > 0 {
			weight := math.Exp2(-float64(clean))
			load = weight*load + (1-weight)*lossy
		}
	}
	return uint64(min(max(load, float64(s.Min)), float64(s.Max)))
}

// lowestCarried is what came through at the lowest load that lost frames, or else the
// highest load.
func lowestCarried(evidence []Record) float64 {
	lowest := Record{}
	for _, r := range evidence {
		switch {
		case r.Loss > 0 && (lowest.Loss == 0 || r.Load < lowest.Load), lowest.Loss == 0 && r.Load > lowest.Load:
			lowest = r
		}
	}
	return lowest.forwardingRate()
}

// lossyAbove is the lowest load above another one that lost frames; 0: there is none.
func lossyAbove(evidence []Record, load float64) float64 {
	found := 0.0
	for _, r := range evidence {
		if at := float64(r.Load); r.Loss > 0 && at > load && (found == 0 || at < found) {
			found = at
		}
	}
	return found
}

// cleanRun is how many of the last trials have lost nothing.
func cleanRun(evidence []Record) int {
	n := 0
	for n < len(evidence) && evidence[len(evidence)-1-n].Loss == 0 {
		n++
	}
	return n
}
