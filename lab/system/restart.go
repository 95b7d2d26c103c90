package system

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Restart is when what happened of a [System.Restart].
type Restart struct {
	Killed   time.Time // the processes were about to be
	Ready    time.Time // N4 answers again
	Restored time.Time // all sessions are there again
}

// Restart kills the UPF as a power cut would, starts it anew at once, and establishes
// the same sessions with the F-TEIDs that they had, as a CP function does that learns
// of it. It may be called by another goroutine while a trial is made; what that says
// of the UPF's CPU time and drops is then of what was read while it ran. There must be
// no churn meanwhile.
//
// Errors: [errors.ErrUnsupported] of a bed, or an external UPF.
func (s *System) Restart(ctx context.Context) (Restart, error) {
	var r Restart
	if s.dut == nil || s.config.Kind.External {
		return r, fmt.Errorf("%s cannot be restarted: %w", s.config.Name, errors.ErrUnsupported)
	}
	over := make(chan struct{})
	s.restarts.Add(1)
	s.mu.Lock()
	old := s.dut
	s.again = over
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.again = nil
		close(over)
	}()
	r.Killed = time.Now()
	if err := old.Kill(); err != nil {
		return r, err
	}
	if err := s.startInstance(ctx); err != nil {
		return r, err
	}
	r.Ready = time.Now()
	err := s.restore(ctx)
	r.Restored = time.Now()
	return r, err
}

// restore establishes the sessions in a UPF that has none.
func (s *System) restore(ctx context.Context) error {
	s.churn = nil
	if s.n4 == nil || len(s.sessions) == 0 {
		return nil
	}
	if _, err := s.n4.Clients()[0].Associate(ctx); err != nil {
		return err
	}
	t, err := s.template(s.rules)
	if err != nil {
		return err
	}
	t.ULTEID, t.N3 = s.sessions[0].ULTEID, s.sessions[0].N3 // the CP function says the F-TEIDs
	for i := range s.sessions {
		s.sessions[i].RemoteSEID = 0
	}
	_, err = s.bySlice(ctx, t, 0)
	return err
}
