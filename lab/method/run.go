package method

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/plumbline-upf/plumbline/internal/printable"
	"github.com/plumbline-upf/plumbline/lab/report"
)

// Config says what to measure.
type Config struct {
	Methods []Method
	Axes    Axes
	Systems []System // the bed first, if there is one; none is started
	Repeats int

	Duration, WarmUp time.Duration     // of trials, for the result: methods have their own
	Arrangement      string            // for the result
	Options          map[string]string // for the result, beside those of the methods
	References       []report.Reference
	Host             report.Host

	// File is where the result is written after each turn; empty: nowhere.
	File string
	// Resume is a result to go on with; nil: begin anew. It is changed.
	Resume   *report.Lab
	Observer Observer // nil: nobody listens
}

// MaxRepeats is how many turns a system can have in a cell.
const MaxRepeats = 1000

// run is what Run works with.
type run struct {
	Config
	observer Observer
	methods  map[string]Method
	lab      *report.Lab
	names    []string // of all systems
	entrants []*entrant
	out      map[string]bool // those that have left
	estimate estimate
}

// Run measures what c says and returns the result, also what there is of it when it
// fails or ctx is done. It leaves no process, namespace or program behind.
//
// Errors: [ErrPlan] if the result to go on with is of something else; those of the
// bed; [context.Canceled].
func Run(ctx context.Context, c Config) (lab *report.Lab, err error) {
	r, err := newRun(c)
	if err != nil {
		return nil, err
	}
	if err := r.measure(ctx); err != nil {
		return r.lab, errors.Join(err, r.save()) // who left since the last turn is not in the file
	}
	now := time.Now().UTC().Truncate(time.Second)
	r.lab.Finished = &now
	return r.lab, r.save()
}

func newRun(c Config) (*run, error) {
	r := &run{Config: c, observer: c.Observer, methods: map[string]Method{}, out: map[string]bool{}}
	if r.observer == nil {
		r.observer = silent{}
	}
	for _, m := range c.Methods {
		r.methods[m.Name()] = m
	}
	plan, err := c.plan()
	if err != nil {
		return nil, err
	}
	r.lab = &report.Lab{
		Schema: report.LabSchema, Started: time.Now().UTC().Truncate(time.Second), Host: c.Host, Plan: plan, References: c.References,
	}
	for _, s := range c.Systems {
		r.entrants = append(r.entrants, &entrant{System: s})
		r.names = append(r.names, s.Name())
		r.lab.Systems = append(r.lab.Systems, report.System{Name: s.Name()})
	}
	if c.Resume != nil {
		if err := r.resume(c.Resume); err != nil {
			return nil, err
		}
	}
	r.estimate.begin(r)
	return r, r.save()
}

// measure starts the systems and measures all cells.
func (r *run) measure(ctx context.Context) (err error) {
	if !r.pendingAny() {
		return nil
	}
	defer func() { err = errors.Join(err, r.close()) }()
	for _, e := range r.entrants {
		if err := r.start(ctx, e); err != nil {
			return err
		}
	}
	cells := r.lab.Plan.Cells
	var none error // why no system is left for these rules
	for i := range cells {
		if i > 0 && cells[i].Rules != cells[i-1].Rules {
			none = r.readmit(ctx)
		}
		if none == nil && r.pendingCell(i) {
			none = r.cell(ctx, i)
		}
		if none != nil && !errors.Is(none, errNoneLeft) {
			return none
		}
	}
	return none
}

// cell lets all systems take turns in a cell.
func (r *run) cell(ctx context.Context, index int) error {
	cell := r.lab.Plan.Cells[index]
	id := rand.Uint32()
	for _, e := range r.entrants {
		err := r.attempt(ctx, e, func(ctx context.Context) error { return r.open(ctx, e, cell, id) })
		if err != nil {
			return err
		}
	}
	for repeat := 1; repeat <= r.lab.Plan.Repeats; repeat++ {
		for _, e := range r.entrants {
			if r.out[e.Name()] || !r.pending(index, e.Name(), repeat) {
				continue
			}
			if err := r.turn(ctx, e, index, repeat); err != nil {
				return err
			}
		}
	}
	return nil
}

// open establishes the sessions that are missing and prepares the frames.
func (r *run) open(ctx context.Context, e *entrant, cell report.LabCell, id uint32) error {
	if cell.Frames == "" && cell.Method != NameTCP {
		return nil // the method sends none, and has sessions of its own
	}
	if cell.Sessions != e.sessions || cell.Rules != e.rules {
		r.step(fmt.Sprintf("%s: establish %s over PFCP", e.Name(), sessions(cell.Sessions)), installTime(cell.Sessions))
		if err := e.Establish(ctx, cell); err != nil {
			return fmt.Errorf("%s: %w", describe(cell), err)
		}
		e.sessions, e.rules = cell.Sessions, cell.Rules
	}
	if cell.Frames == "" {
		return nil
	}
	return e.Open(cell, id)
}

// turn lets a system have its turn, and writes down what it leaves.
func (r *run) turn(ctx context.Context, e *entrant, index, repeat int) error {
	cell := r.lab.Plan.Cells[index]
	m := r.methods[cell.Method]
	r.step(fmt.Sprintf("%s: %s, %d/%d", e.Name(), describe(cell), repeat, r.lab.Plan.Repeats), r.estimate.turn(index, e.Name()))
	t := &Turn{Cell: cell, System: e.System, run: r, Result: report.Turn{
		Cell: index, System: e.Name(), Repeat: repeat, Started: time.Now().UTC().Truncate(time.Millisecond), Figures: []report.Figure{},
	}}
	began := time.Now()
	err := r.attempt(ctx, e, func(ctx context.Context) error {
		err := m.Measure(ctx, t)
		if err != nil && ctx.Err() == nil {
			t.Result.Failed = printable.Log(err.Error())
		}
		return err
	})
	if err != nil && !r.out[e.Name()] {
		return err // interrupted, or without the bed: half a turn is none
	}
	if r.out[e.Name()] && t.Result.Failed == "" {
		t.Result.Failed = r.system(e.Name()).Missing
	}
	r.estimate.took(index, e.Name(), time.Since(began))
	r.lab.Turns = append(r.lab.Turns, t.Result)
	r.observer.Turn(cell, t.Result)
	return errors.Join(err, r.save())
}

// step tells that a step begins.
func (r *run) step(name string, expected time.Duration) {
	before := time.Since(r.estimate.started)
	r.observer.Step(report.Step{Name: name, Expected: expected, Before: before, Total: before + max(expected, r.estimate.left())})
}

// system is what the result says of a system.
func (r *run) system(name string) *report.System {
	return &r.lab.Systems[slices.Index(r.names, name)]
}
