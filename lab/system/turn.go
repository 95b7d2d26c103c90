package system

import (
	"context"
	"errors"
)

// Turn lets the system go on while f measures it, and has it stand still again. If
// the UPF ends meanwhile, that is the error.
func (s *System) Turn(ctx context.Context, f func(ctx context.Context) error) error {
	if s.dut == nil {
		return f(ctx)
	}
	if err := s.dut.Resume(); err != nil {
		return err
	}
	err := s.Watch(ctx, f)
	if s.dut == nil || s.dut.Err() != nil {
		return err
	}
	return errors.Join(err, s.dut.Park())
}

// Watch is [System.Turn] without a stop before or after: for a system that is the only
// one.
func (s *System) Watch(ctx context.Context, f func(ctx context.Context) error) error {
	if s.dut == nil {
		return f(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watched := s.dut
	go func() { // a UPF that has ended must not be measured any longer
		select {
		case <-watched.Done():
			cancel(watched.Err())
		case <-ctx.Done():
		}
	}()
	err := f(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// Park stops the UPF's processes until the next turn.
func (s *System) Park() error {
	if s.dut == nil {
		return nil
	}
	return s.dut.Park()
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
