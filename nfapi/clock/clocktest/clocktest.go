// Package clocktest is time that a test makes pass.
package clocktest

import (
	"context"
	"sync"
	"time"
)

// Source is a [plumbline/nfapi/clock.Source] that is advanced by the test. It is for one clock at a
// time.
type Source struct {
	mu     sync.Mutex
	change *sync.Cond
	now    time.Time
	asleep bool
	until  time.Time // what the clock waits for, if asleep
	over   bool      // the last clock has ended
}

// New makes one.
func New() *Source {
	s := &Source{now: time.Unix(1_000_000, 0)}
	s.change = sync.NewCond(&s.mu)
	return s
}

// Now is the time.
func (s *Source) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// Sleep is for the clock.
func (s *Source) Sleep(ctx context.Context, t time.Time) {
	ended := false
	stop := context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		ended = true
		s.change.Broadcast()
	})
	defer stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asleep, s.over, s.until = true, false, t
	s.change.Broadcast()
	for s.now.Before(t) && !ended {
		s.change.Wait()
	}
	s.asleep, s.over = false, ended
	s.change.Broadcast()
}

// Await waits until a clock sleeps, as it does between two slots.
func (s *Source) Await() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.asleep {
		s.change.Wait()
	}
}

// Jump lets d pass at once, as a stall of the machine does: it may be called by a tick.
func (s *Source) Jump(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
	s.change.Broadcast()
}

// Advance lets d pass, tick by tick: when it returns, the clock sleeps again, or has
// ended.
func (s *Source) Advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	end := s.now.Add(d)
	for s.settle(); !s.over; s.settle() {
		if s.until.After(end) {
			break
		}
		s.now = s.until
		s.change.Broadcast()
	}
	if s.now.Before(end) { // a tick may have jumped beyond
		s.now = end
	}
}

// settle waits until the clock sleeps for what has not come.
func (s *Source) settle() {
	for !s.over && (!s.asleep || !s.now.Before(s.until)) {
		s.change.Wait()
	}
}
