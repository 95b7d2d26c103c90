package system

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/plumbline-upf/plumbline/lab/n4load"
)

// Churn is sessions that come, change and go while frames of others flow, in an open
// loop: how often each per second. The zero value is none.
type Churn struct {
	Establish, Modify, Delete float64
}

// MaxChurn is how many sessions may come, change or go per second.
const MaxChurn = 1e6

const (
	churnPool = 1000 // sessions to begin with, and room for more
)

// String says it in words; empty: none.
func (c Churn) String() string {
	if c == (Churn{}) {
		return ""
	}
	return fmt.Sprintf("%g established, %g modified, %g deleted per second", c.Establish, c.Modify, c.Delete)
}

func (c Churn) validate() error {
	for _, rate := range []float64{c.Establish, c.Modify, c.Delete} {
		if !(rate >= 0 && rate <= MaxChurn) {
			return fmt.Errorf("churn of %g per second: want 0 to %g", rate, MaxChurn)
		}
	}
	return nil
}

// Sessions is how many sessions a UPF must have room for, beside those with frames, for
// churn of such a duration.
func (c Churn) Sessions(d time.Duration) int {
	if c == (Churn{}) {
		return 0
	}
	held, room := c.pool(d)
	return held + room
}

// pool is how many sessions are held when it begins, and for how many more there is
// room.
func (c Churn) pool(d time.Duration) (held, room int) {
	change := int(math.Ceil((c.Establish - c.Delete) * d.Seconds()))
	return churnPool + max(0, -change), churnPool + max(0, change)
}

// churn is the sessions that come and go. They follow those with frames.
type churn struct {
	population *n4load.Population
	first      int // number of its first session
	rules      Rules
}

// prepareChurn brings the sessions of the load's churn to where it begins, and returns
// what makes it.
func (s *System) prepareChurn(ctx context.Context, l Load) (func(context.Context) (*n4load.LoadReport, error), error) {
	if l.Churn == (Churn{}) || s.dut == nil || s.bed != nil { // a bed has no sessions
		return func(context.Context) (*n4load.LoadReport, error) { return nil, nil }, nil
	}
	held, room := l.Churn.pool(l.Duration)
	if err := s.fillChurn(ctx, held, room); err != nil {
		return nil, fmt.Errorf("churn: %w", err)
	}
	load := n4load.Load{Rate: l.Churn.Establish + l.Churn.Modify + l.Churn.Delete, Duration: l.Duration, Seed: 1}
	load.Shares[n4load.OpEstablish], load.Shares[n4load.OpModify], load.Shares[n4load.OpDelete] = l.Churn.Establish, l.Churn.Modify, l.Churn.Delete
	return func(ctx context.Context) (*n4load.LoadReport, error) {
		report, err := s.churn.population.Run(ctx, load, nil)
		if err != nil {
			return nil, fmt.Errorf("churn: %w", err)
		}
		return report, nil
	}, nil
}

// fillChurn has a population with so many sessions held. One of before that does not
// fit is deleted.
func (s *System) fillChurn(ctx context.Context, held, room int) error {
	if s.churn != nil {
		p := s.churn.population
		if s.churn.first == len(s.sessions) && s.churn.rules == s.rules && p.Held() <= held && p.Len() == held+room {
			_, err := p.Fill(ctx, held, nil)
			return err
		}
		if err := s.endChurn(ctx); err != nil {
			return err
		}
	}
	t, err := s.template(s.rules)
	if err = errors.Join(err, s.room(len(s.sessions)+held+room)); err != nil {
		return err
	}
	sessions := t.Sessions(len(s.sessions), held+room)
	s.churn = &churn{population: n4load.NewPopulationOf(&t, sessions, s.window(), s.n4), first: len(s.sessions), rules: s.rules}
	_, err = s.churn.population.Fill(ctx, held, nil)
	return err
}

// endChurn deletes what churn has left.
func (s *System) endChurn(ctx context.Context) error {
	if s.churn == nil {
		return nil
	}
	_, err := s.churn.population.Drain(ctx, nil)
	s.churn = nil
	return err
}
