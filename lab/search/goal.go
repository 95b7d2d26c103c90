package search

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Goal is one thing that a search looks for.
//
// Source: RFC 9971, 4.6.7 (Search Goal).
type Goal struct {
	LossRatio   float64 // a trial with more loss speaks against its load; 0 to below 1
	ExceedRatio float64 // ratio of the duration sum whose trials may exceed the loss; 0 to below 1
	// Width is how close the relevant bounds have to be to each other, as a part of the
	// upper one. Not below the loss ratio, so that more loss never gives less throughput.
	Width float64
	// InitialDuration is that of the shortest trials; 0: FinalDuration.
	InitialDuration time.Duration
	FinalDuration   time.Duration // of the trials without which no load is a lower bound
	DurationSum     time.Duration // of trials of the final duration, at most, until a load is classified
}

// NewGoal returns a goal that takes the better half of three trials of the duration: two
// of them decide where they agree. Trials begin at a quarter of it.
func NewGoal(lossRatio float64, duration time.Duration) Goal {
	return Goal{
		LossRatio: lossRatio, ExceedRatio: 0.5, Width: max(0.005, lossRatio),
		InitialDuration: duration / 4, FinalDuration: duration, DurationSum: 3 * duration,
	}
}

// String says all that the goal asks, as a report has to.
func (g Goal) String() string {
	return fmt.Sprintf("loss ratio %g, exceed ratio %g, trials of %v to %v, sum %v, width %g",
		g.LossRatio, g.ExceedRatio, g.initial(), g.FinalDuration, g.DurationSum, g.Width)
}

func (g Goal) initial() time.Duration {
	if g.InitialDuration == 0 {
		return g.FinalDuration
	}
	return g.InitialDuration
}

func (g Goal) validate() error {
	switch {
	case !(g.LossRatio >= 0 && g.LossRatio < 1):
		return fmt.Errorf("loss ratio %g: want 0 to below 1", g.LossRatio)
	case !(g.ExceedRatio >= 0 && g.ExceedRatio < 1):
		return fmt.Errorf("exceed ratio %g: want 0 to below 1", g.ExceedRatio)
	case !(g.Width > 0 && g.Width < 1):
		return fmt.Errorf("width %g: want above 0 and below 1", g.Width)
	case g.FinalDuration <= 0:
		return errors.New("no final trial duration")
	case g.DurationSum < g.FinalDuration:
		return fmt.Errorf("duration sum %v: want that of one trial, %v, or more", g.DurationSum, g.FinalDuration)
	case g.InitialDuration < 0 || g.InitialDuration > g.FinalDuration:
		return fmt.Errorf("initial trial duration %v: want up to the final one, %v", g.InitialDuration, g.FinalDuration)
	}
	return nil
}

// stages are the goals on the way to g, and g itself. One trial decides in the first
// two.
func (g Goal) stages() []Goal {
	between := time.Duration(math.Sqrt(float64(g.initial()) * float64(g.FinalDuration)))
	return []Goal{g.coarse(g.initial(), 4), g.coarse(between, 2), g}
}

func (g Goal) coarse(duration time.Duration, widths float64) Goal {
	g.FinalDuration, g.DurationSum = duration, duration
	g.Width = min(widths*g.Width, max(g.Width, 0.5))
	return g
}
