package search

import (
	"cmp"
	"slices"
	"time"
)

// class is what the trials at a load say of it for a goal.
type class int

const (
	undecided class = iota
	lowerBound
	upperBound
)

// sums are the durations of trials at a load, in seconds, by length and loss.
type sums struct {
	fullHigh, fullLow, shortHigh, shortLow float64
}

func (g Goal) sums(records []Record) sums {
	var s sums
	for _, r := range records {
		seconds := r.Duration.Seconds()
		switch full, high := r.Duration >= g.FinalDuration, r.Loss > g.LossRatio; {
		case full && high:
			s.fullHigh += seconds
		case full:
			s.fullLow += seconds
		case high:
			s.shortHigh += seconds
		default:
			s.shortLow += seconds
		}
	}
	return s
}

// classify reports whether the load of these trials is a bound for the goal, regardless of the
// results of further trials within the duration sum. Short trials with little loss prove nothing,
// but compensate short ones with much loss up to the tolerated ratio.
//
// Source: RFC 9971, 6.1 and appendix A (Load Classification).
func (g Goal) classify(records []Record) class {
	s := g.sums(records)
	balance := s.shortLow * g.ExceedRatio / (1 - g.ExceedRatio)
	high := s.fullHigh + max(0, s.shortHigh-balance)
	whole := max(high+s.fullLow, g.DurationSum.Seconds())
	tolerated := whole*g.ExceedRatio + rounding
	switch {
	case high > tolerated:
		return upperBound
	case whole-s.fullLow <= tolerated:
		return lowerBound
	default:
		return undecided
	}
}

// rounding is what sums of seconds may be off, in seconds.
const rounding = 1e-9

// throughput is the conditional throughput at a load: the forwarding rate of the worst
// trial that the goal does not tolerate to be left out. What is missing to the duration
// sum counts as lost whole, unless the goal tolerates even that.
//
// Source: RFC 9971, 6.2 and appendix B (Conditional Throughput).
func (g Goal) throughput(load uint64, records []Record) float64 {
	var full []Record
	var total time.Duration
	for _, r := range records {
		if r.Duration >= g.FinalDuration {
			full, total = append(full, r), total+r.Duration
		}
	}
	slices.SortFunc(full, func(a, b Record) int { return cmp.Compare(a.Loss, b.Loss) })
	remaining := max(total, g.DurationSum).Seconds() * (1 - g.ExceedRatio)
	loss := 1.0
	for i, r := range full {
		if i > 0 && remaining <= rounding {
			break
		}
		loss = r.Loss
		remaining -= r.Duration.Seconds()
	}
	if remaining > rounding {
		loss = 1
	}
	return float64(load) * (1 - loss)
}

// bounds are the relevant bounds of a goal, 0 where there is none.
type bounds struct {
	lower, upper uint64
}

// byLoad is all trials, by their load.
type byLoad map[uint64][]Record

// bounds are the smallest upper bound, and the largest lower bound below it; without an
// upper one, the largest of all.
//
// Source: RFC 9971, 4.8.1 (Relevant Upper Bound) and 4.8.2 (Relevant Lower Bound).
func (b byLoad) bounds(g Goal) bounds {
	var found bounds
	var lower []uint64
	for load, records := range b {
		switch g.classify(records) {
		case upperBound:
			if found.upper == 0 || load < found.upper {
				found.upper = load
			}
		case lowerBound:
			lower = append(lower, load)
		}
	}
	for _, load := range lower {
		if found.upper == 0 || load < found.upper {
			found.lower = max(found.lower, load)
		}
	}
	return found
}

// within reports whether both bounds exist and are as close as the goal wants, or as
// whole numbers can be.
func (b bounds) within(width float64) bool {
	if b.lower == 0 || b.upper == 0 {
		return false
	}
	gap := b.upper - b.lower
	return gap <= 1 || float64(gap) <= width*float64(b.upper)*(1+rounding)
}
