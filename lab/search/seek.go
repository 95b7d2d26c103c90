package search

import "math"

// seeker chooses the loads to try for one goal, stage by stage.
type seeker struct {
	stages []Goal
	stage  int // index of the current one
	known  byLoad
	limit  bounds // loads that may be tried
	start  uint64 // the first load to try
	hint   bounds // what the stage before has found
	load   uint64 // that is tried until it is classified; 0: none
	found  bounds // at the last look
	runs   int    // how often in sequence the same one of the bounds has moved
	up     bool   // and which: the lower one
}

func newSeeker(g Goal, m MLR, known byLoad) *seeker {
	start := m.Start
	if start == 0 {
		start = m.Max
	}
	return &seeker{stages: g.stages(), known: known, limit: bounds{m.Min, m.Max}, start: start}
}

func (s *seeker) goal() Goal { return s.stages[s.stage] }

// next returns the load to try; false: the goal is reached, or cannot be, by what is
// known now. Trials for other goals may change that.
func (s *seeker) next() (uint64, bool) {
	for {
		now := s.known.bounds(s.goal())
		s.follow(now)
		if !s.done(now) {
			if s.load == 0 {
				s.load = s.choose(now)
			}
			return s.load, true
		}
		if s.stage == len(s.stages)-1 {
			return 0, false
		}
		s.hint, s.found, s.load, s.runs = now, bounds{}, 0, 0
		s.stage++
	}
}

// done reports whether the bounds are close enough, or at the end of what may be tried.
func (s *seeker) done(now bounds) bool {
	return now.within(s.goal().Width) || now.upper == s.limit.lower || now.upper == 0 && now.lower == s.limit.upper
}

// follow notes how the bounds have moved, and whether the load that was chosen is still of
// interest: one that was not tried before they moved would be chosen otherwise now.
func (s *seeker) follow(now bounds) {
	if now == s.found {
		return
	}
	up := now.lower > s.found.lower
	if s.runs > 0 && up != s.up {
		s.runs = 0
	}
	s.runs, s.up = s.runs+1, up
	s.found = now
	if len(s.known[s.load]) == 0 || s.load <= now.lower || now.upper != 0 && s.load >= now.upper {
		s.load = 0
	}
}

// choose returns a load strictly between the bounds, or that of a missing bound. One that
// is near a bound would say nothing new.
func (s *seeker) choose(now bounds) uint64 {
	low, high := max(now.lower+1, s.limit.lower), s.limit.upper
	load := uint64(s.guess(now))
	if now.upper != 0 {
		high = now.upper - 1
	}
	if now.upper != 0 && now.lower != 0 {
		margin := min(uint64(s.goal().Width/2*float64(now.upper)), (now.upper-now.lower)/2)
		load = min(max(load, now.lower+margin), now.upper-margin)
	}
	return min(max(load, low), high)
}

// guess is where the bound that is missing, or the end of the way, is looked for: at what
// the stage before has found, at what came through an overload, then in steps that double
// as long as the same bound moves, then in the middle.
func (s *seeker) guess(now bounds) float64 {
	width := s.goal().Width
	step := 1 - min(width*math.Exp2(float64(max(0, s.runs-1))), 0.5)
	switch {
	case now == bounds{} && s.hint == bounds{}:
		return float64(s.start)
	case now.lower == 0 && s.inside(s.hint.lower, now):
		return float64(s.hint.lower)
	case now.upper == 0 && s.inside(s.hint.upper, now):
		return float64(s.hint.upper)
	case now.upper == 0:
		return math.Ceil(float64(now.lower) / step)
	}
	lowest := max(now.lower, s.limit.lower)
	middle := math.Sqrt(float64(lowest) * float64(now.upper))
	carried := s.carried(now.upper) * (1 - width/2)
	switch {
	case now.lower == 0:
		return max(min(carried, float64(now.upper)*step), middle)
	case carried > float64(now.lower)/(1-width/2) && carried < middle:
		return carried
	case s.up:
		return math.Ceil(min(float64(now.lower)/step, middle))
	default:
		return middle
	}
}

// inside reports whether a load of an earlier stage can still become a bound.
func (s *seeker) inside(load uint64, now bounds) bool {
	return load > now.lower && (now.upper == 0 || load < now.upper)
}

// carried is the load that would lose as much as the goal allows if the system let
// through no more than it did in the best trial at this one that lost more.
func (s *seeker) carried(load uint64) float64 {
	best := 0.0
	for _, r := range s.known[load] {
		if r.Loss > s.goal().LossRatio {
			best = max(best, r.forwardingRate())
		}
	}
	return best / (1 - s.goal().LossRatio)
}

// result is what the trials show: of the final goal or, if the time was up before any
// load passed for it, of the last stage in which one did.
func (s *seeker) result() GoalResult {
	final := s.stages[len(s.stages)-1]
	now := s.known.bounds(final)
	r := GoalResult{Goal: final, Lower: now.lower, Upper: now.upper}
	switch {
	case now.within(final.Width):
	case now.upper == 0 && now.lower == s.limit.upper:
		r.Irregular = AtMax
	case now.upper == s.limit.lower:
		r.Irregular = AtMin
	default:
		r.Irregular = OutOfTime
	}
	by := final
	for i := len(s.stages) - 2; i >= 0 && r.Lower == 0 && r.Irregular == OutOfTime; i-- {
		by = s.stages[i]
		now = s.known.bounds(by)
		r.Lower, r.Upper = now.lower, now.upper
	}
	if r.Lower != 0 {
		r.Throughput = by.throughput(r.Lower, s.known[r.Lower])
	}
	return r
}
