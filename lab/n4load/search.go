package n4load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/search"
)

// Search looks for the highest rate of an open loop at which a UP function accepts 99 of
// 100 requests within a time: p99 of the response times is below it. A request counts as
// lost to the search if it is refused, lost, not sent, or answered later.
//
// The rates that are tried are those of MLRsearch, so that one bad moment of the machine
// does not decide. A closed loop, which goes first, says where to look.
type Search struct {
	Load   Load          // Rate: the highest that is tried, 0 is twice that of the closed loop; Window: of the closed loop
	Within time.Duration // from the intended send time to the response
	Budget time.Duration // of all trials; 0: until it is done
}

const (
	lateRatio   = 0.01 // of the requests: p99
	searchWidth = 0.02 // between the bounds, as a part of the upper one
	slowest     = 100  // 1/s: a lower rate is not tried
)

func (s *Search) validate() error {
	if s.Within <= 0 || s.Budget < 0 {
		return fmt.Errorf("n4load: search for responses within %v, for %v: out of range", s.Within, s.Budget)
	}
	if s.Load.RateTo > 0 {
		return errors.New("n4load: search: the rate of a trial does not change")
	}
	if s.Load.Window < 1 || s.Load.Window > MaxWindow {
		return fmt.Errorf("n4load: a window of %d: want 1 to %d", s.Load.Window, MaxWindow)
	}
	return s.Load.validate()
}

// goal is that of MLRsearch.
func (s *Search) goal() search.Goal {
	g := search.NewGoal(lateRatio, s.Load.Duration)
	g.Width = searchWidth
	return g
}

// Expected is about how long it takes.
func (s *Search) Expected() time.Duration {
	const trials = 10
	expected := trials * (s.Load.WarmUp + s.Load.Duration)
	if s.Budget > 0 {
		expected = min(expected, s.Budget+s.Load.WarmUp+s.Load.Duration)
	}
	return expected
}

// String says what is looked for.
func (s *Search) String() string { return fmt.Sprintf("p99 ≤ %v", s.Within) }

// search makes a search, and keeps its figures.
func (c *Campaign) search(ctx context.Context, s *Search) error {
	closed := s.Load
	closed.Rate = 0
	first, err := c.load(ctx, closed, fmt.Sprintf("search %v: window %d", s, closed.Window), phaseLoad)
	if err != nil {
		return err
	}
	rate := first.Total.Rate()
	highest := s.Load.Rate
	if highest == 0 {
		highest = 2 * rate
	}
	m := search.MLR{
		Goals: []search.Goal{s.goal()}, Min: slowest, Max: max(slowest, uint64(highest)), Budget: s.Budget, Tolerated: search.Tolerated,
	}
	m.Start = min(max(m.Min, uint64(rate)), m.Max)
	worst := time.Duration(0) // p99 of what the generator was late by, in trials that passed
	result, err := m.Search(ctx, func(ctx context.Context, t search.Trial) (search.Outcome, error) {
		return c.trial(ctx, s, t, &worst)
	})
	if err != nil {
		return err
	}
	c.result.Figures = append(c.result.Figures, s.figures(result.Goals[0], worst)...)
	return nil
}

// trial is one rate of a search.
func (c *Campaign) trial(ctx context.Context, s *Search, t search.Trial, worst *time.Duration) (search.Outcome, error) {
	began := time.Now()
	l := s.Load
	l.Rate, l.Duration = float64(t.Load), t.Duration
	r, err := c.load(ctx, l, fmt.Sprintf("search %v: %d/s", s, t.Load), report.N4Search)
	if err != nil {
		return search.Outcome{}, err
	}
	o := search.Outcome{
		Intended: uint64(r.Total.Intended), Sent: uint64(r.Total.Intended), Received: uint64(r.Total.within(s.Within)), Took: time.Since(began),
	}
	if o.LossRatio(search.Tolerated) <= lateRatio {
		*worst = max(*worst, time.Duration(r.Total.SendDelay.ValueAtPercentile(99)))
	}
	return o, nil
}

// within is how many requests were accepted in a time. Refusals have response times, too:
// they count as if they had been the fastest.
func (r *Report) within(limit time.Duration) int {
	soon := int64(0)
	for _, b := range r.Latency.Distribution() {
		if b.To <= limit.Nanoseconds() {
			soon += b.Count
		}
	}
	return max(0, int(soon)-r.RefusedTotal()-r.Malformed)
}

// figures are what was found: of all requests, and of the sessions that they establish.
func (s *Search) figures(g search.GoalResult, worst time.Duration) []report.Figure {
	note := string(g.Irregular)
	if note == "" && worst > s.Within/2 {
		note = fmt.Sprintf("the generator itself was up to %v late", worst.Round(time.Microsecond))
	}
	one := func(what string, share float64) report.Figure {
		f := report.Figure{
			Name: fmt.Sprintf("%s/s at %v", what, s), Unit: "1/s", Better: report.Higher, Note: note,
			Value: share * float64(g.Lower), Low: share * float64(g.Lower), High: share * float64(g.Upper),
		}
		if g.Upper == 0 {
			f.Low, f.High = 0, 0
		}
		return f
	}
	sum := 0.0
	for _, share := range s.Load.Shares {
		sum += share
	}
	list := []report.Figure{one("requests", 1)}
	if share := s.Load.Shares[OpEstablish] / sum; share > 0 {
		list = append(list, one("sessions", share))
	}
	return list
}
