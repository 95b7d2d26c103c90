package system

import (
	"context"
	"errors"
	"sync"

	"github.com/plumbline-upf/plumbline/lab/dut"
)

// Turn lets the system go on while f measures it, and has it stand still again. If
// the UPF ends meanwhile, or a device of the laboratory fails, that is the error.
func (s *System) Turn(ctx context.Context, f func(ctx context.Context) error) error {
	if s.dut == nil {
		return s.Watch(ctx, f)
	}
	if err := s.dut.Resume(); err != nil {
		return err
	}
	s.parked = false
	err := s.Watch(ctx, f)
	if s.dut == nil || s.dut.Err() != nil {
		return err
	}
	return errors.Join(err, s.Park())
}

// Watch is [System.Turn] without a stop before or after: for a system that is the only
// one.
func (s *System) Watch(ctx context.Context, f func(ctx context.Context) error) error {
	guard, err := s.topology.Guard()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	if s.dut != nil {
		watching.Go(func() { cancel(s.ended(ctx)) }) // a UPF that has ended must not be measured any longer
	}
	var broken error
	watching.Go(func() {
		broken = guard.Wait(ctx)
		cancel(broken)
	})
	err = f(ctx)
	cause := context.Cause(ctx)
	cancel(nil)
	watching.Wait() // lest they look at what is closed next
	if broken != nil && cause == nil {
		cause = broken
	}
	return because(errors.Join(err, guard.Close()), cause)
}

// because is err with what was the cause of it.
func because(err, cause error) error {
	switch {
	case cause == nil || errors.Is(err, cause):
		return err
	case err == nil || errors.Is(err, context.Canceled):
		return cause
	}
	return errors.Join(err, cause) // a restart that failed says more than that the UPF has ended
}

// ended waits until the UPF has ended other than by a restart, and says how; or until
// ctx is done.
func (s *System) ended(ctx context.Context) error {
	for {
		s.mu.Lock()
		d := s.dut
		s.mu.Unlock()
		select {
		case <-d.Done():
		case <-ctx.Done():
			return nil
		}
		s.mu.Lock()
		again, replaced := s.again, s.dut != d
		s.mu.Unlock()
		switch {
		case replaced:
		case again == nil:
			return d.Err()
		default:
			select {
			case <-again:
			case <-ctx.Done():
				return nil
			}
		}
	}
}

// running returns the UPF, nil if there is none, or it has ended, or is about to.
func (s *System) running() *dut.Instance {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dut == nil || s.again != nil || s.dut.Err() != nil {
		return nil
	}
	return s.dut
}

// Park stops the UPF's processes until the next turn.
func (s *System) Park() error {
	if s.dut == nil {
		return nil
	}
	err := s.dut.Park()
	s.parked = err == nil
	return err
}

// InBed runs f while a program that only redirects has the UPF's place on its devices:
// what f measures is the bed limit. It is for a UPF that links XDP programs, or a
// bed.
func (s *System) InBed(f func() error) error {
	if s.bed != nil {
		return f()
	}
	var err error
	if s.bed, err = s.topology.AttachBed(); err != nil {
		return err
	}
	err = f()
	err = errors.Join(err, s.bed.Close())
	s.bed = nil
	return err
}
