package method

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/plumbline-upf/plumbline/internal/printable"
	"github.com/plumbline-upf/plumbline/lab/report"
)

// entrant is a system in a run.
type entrant struct {
	System
	started  bool
	sessions int    // that are established
	rules    string // of theirs
}

const (
	startTime    = 2 * time.Second // expected of a bed and its UPF
	sessionsRate = 15_000          // expected of session establishment, 1/s
)

func installTime(sessions int) time.Duration {
	return time.Duration(float64(sessions) / sessionsRate * float64(time.Second))
}

// attempt does something with a system that is not out. If it fails, the system is
// out; only what stops all is an error.
func (r *run) attempt(ctx context.Context, e *entrant, f func(context.Context) error) error {
	if r.out[e.Name()] {
		return nil
	}
	err := e.Turn(ctx, f)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil && e.Name() == report.SystemBed {
		return fmt.Errorf("bed: %w", err) // nothing can be compared without it
	}
	r.note(e)
	if err == nil {
		return nil
	}
	return r.leave(e, err)
}

// start starts a system.
func (r *run) start(ctx context.Context, e *entrant) error {
	r.step(e.Name()+": start", startTime)
	e.started = true
	return r.attempt(ctx, e, e.Start)
}

// readmit starts those that have left anew: they may bear other rules.
func (r *run) readmit(ctx context.Context) error {
	left := r.out
	r.out = map[string]bool{}
	for _, e := range r.entrants {
		if !left[e.Name()] {
			continue
		}
		e.sessions, e.rules = 0, ""
		if err := r.start(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// note brings what the result says of a system up to date.
func (r *run) note(e *entrant) {
	s := r.system(e.Name())
	missing := s.Missing
	*s = e.Describe()
	s.Missing = missing
}

// errNoneLeft ends what is measured with some rules. It is the error of the run if there
// are no others.
var errNoneLeft = errors.New("no system is left")

// leave takes a system out of the run, as long as the rules are these.
func (r *run) leave(e *entrant, why error) error {
	text := printable.Log(why.Error())
	if err := r.closeOne(e); err != nil {
		text += "\n" + err.Error()
	}
	r.out[e.Name()] = true
	if before := r.system(e.Name()).Missing; before != "" && before != text {
		text = before + "\n" + text
	}
	r.system(e.Name()).Missing = text
	r.observer.Left(e.Name(), text)
	if e.Name() != e.Bed() && !r.anyUPF() {
		return fmt.Errorf("%w: %s: %w", errNoneLeft, e.Name(), why)
	}
	return nil
}

// anyUPF reports whether anything but beds is left.
func (r *run) anyUPF() bool {
	return slices.ContainsFunc(r.entrants, func(e *entrant) bool { return e.Name() != e.Bed() && !r.out[e.Name()] })
}

func (r *run) closeOne(e *entrant) error {
	if !e.started {
		return nil
	}
	e.started = false
	return e.Close()
}

// close ends what still stands.
func (r *run) close() error {
	var errs []error
	for _, e := range r.entrants {
		errs = append(errs, r.closeOne(e))
	}
	return errors.Join(errs...)
}
