package search

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// MLR is a search for several goals at once.
//
// Source: RFC 9971, 4.6.8 (Controller Input).
type MLR struct {
	Goals []Goal
	// Min and Max are the lowest and highest load that is tried, frames per second and
	// direction. Max is a property of the test bed: its rate without a system in it.
	Min, Max uint64
	Start    uint64        // where to begin, if something is known already; 0: at Max
	Budget   time.Duration // of all trials with their waits; no trial begins after it. 0: none
	// Tolerated is the part of the intended frames that the sender may owe, and of the
	// duration that it may be held: see [Outcome]. A trial that lost frames while it was
	// held for longer is made again.
	Tolerated float64
}

// Result is what a search found.
type Result struct {
	Goals   []GoalResult // as in the search
	Records []Record     // all trials, in the order in which they were made
	Took    time.Duration
}

// GoalResult is what was found for a goal. If it is irregular, the bounds and the
// throughput are the best that is known.
//
// Source: RFC 9971, 4.8.4 (Goal Results).
type GoalResult struct {
	Goal
	Irregular Irregular
	Lower     uint64 // relevant lower bound, frames per second and direction; 0: none
	Upper     uint64 // relevant upper bound; 0: none
	// Throughput is the conditional throughput in frames per second and direction: what
	// came through at the lower bound.
	Throughput float64
}

// Irregular says why a result is not regular; empty: it is.
type Irregular string

// Why results are irregular.
const (
	AtMax     Irregular = "no load up to the highest one fails"
	AtMin     Irregular = "no load down to the lowest one passes"
	OutOfTime Irregular = "the time was up"
)

// Search looks for the goals. With an error it returns what is known so far.
func (m MLR) Search(ctx context.Context, measure Measure) (Result, error) {
	if err := m.validate(); err != nil {
		return Result{}, fmt.Errorf("search: %w", err)
	}
	l := &lab{measure: measure, tolerated: m.Tolerated}
	known := byLoad{}
	seekers := make([]*seeker, len(m.Goals))
	for i, g := range m.Goals {
		seekers[i] = newSeeker(g, m, known)
	}
	var failed error
	for m.Budget == 0 || l.took < m.Budget {
		t, ok := next(seekers)
		if !ok {
			break
		}
		r, err := l.try(ctx, t)
		if err != nil {
			failed = fmt.Errorf("search: %w", err)
			break
		}
		known[t.Load] = append(known[t.Load], r)
	}
	result := Result{Records: l.records, Took: l.took}
	for _, s := range seekers {
		result.Goals = append(result.Goals, s.result())
	}
	return result, failed
}

func (m MLR) validate() error {
	switch {
	case len(m.Goals) == 0:
		return errors.New("no goal")
	case m.Min == 0 || m.Max < m.Min:
		return fmt.Errorf("loads from %d to %d frames/s: want from 1 upwards", m.Min, m.Max)
	case m.Start != 0 && (m.Start < m.Min || m.Start > m.Max):
		return fmt.Errorf("start at %d frames/s: want %d to %d", m.Start, m.Min, m.Max)
	case m.Budget < 0 || m.Tolerated < 0:
		return fmt.Errorf("negative budget %v or tolerated part %g", m.Budget, m.Tolerated)
	}
	for _, g := range m.Goals {
		if err := g.validate(); err != nil {
			return fmt.Errorf("goal (%v): %w", g, err)
		}
		if frames := float64(m.Min) * g.initial().Seconds(); frames < 1 {
			return fmt.Errorf("goal (%v): no frame in a trial at %d frames/s", g, m.Min)
		}
	}
	return nil
}

// next is the trial of the goal that is the furthest behind, the lowest load first: upper
// bounds found early are then not made useless by lower ones found late.
func next(seekers []*seeker) (t Trial, ok bool) {
	stage := 0
	for _, s := range seekers {
		load, wants := s.next()
		if !wants {
			continue
		}
		if !ok || s.stage < stage || s.stage == stage && load < t.Load {
			t, stage, ok = Trial{Load: load, Duration: s.goal().FinalDuration}, s.stage, true
		}
	}
	return t, ok
}
