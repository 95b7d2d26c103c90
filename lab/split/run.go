package split

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/scratch"
)

// Run measures all cases, and returns what it has measured also if there is an error. A
// case that fails is in the result with the reason.
func Run(ctx context.Context, c Config) (_ *Result, err error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("split: %w", err)
	}
	b, err := newBed(ctx, &c)
	if err != nil {
		return nil, fmt.Errorf("split: %w", err)
	}
	defer func() { err = errors.Join(err, b.close()) }()
	r := &Result{Schema: Schema, Started: time.Now().UTC().Truncate(time.Second), Host: c.Host}
	var before, total time.Duration
	for i := range c.Cases {
		total += c.expected(&c.Cases[i])
	}
	failed := 0
	for i := range c.Cases {
		one := &c.Cases[i]
		if c.OnStep != nil {
			c.OnStep(report.Step{Name: one.Title(), Expected: c.expected(one), Before: before, Total: total})
		}
		before += c.expected(one)
		out, err := b.outcome(ctx, &c, one)
		if err != nil {
			return r, fmt.Errorf("split: %s: %w", one.Title(), err)
		}
		r.Outcomes = append(r.Outcomes, *out)
		if c.OnCase != nil {
			c.OnCase(out)
		}
		if out.Failed != "" {
			failed++
		}
	}
	now := time.Now().UTC().Truncate(time.Second)
	r.Finished = &now
	if failed > 0 {
		return r, fmt.Errorf("split: %d of %d cases failed; the first: %w", failed, len(r.Outcomes), r.firstFailure())
	}
	return r, nil
}

func (r *Result) firstFailure() error {
	for i := range r.Outcomes {
		if o := &r.Outcomes[i]; o.Failed != "" {
			return fmt.Errorf("%s: %s", o.title(), o.Failed)
		}
	}
	return nil
}

// outcome measures a case. An error is one of the run, not of the case.
func (b *bed) outcome(ctx context.Context, c *Config, one *Case) (*Outcome, error) {
	out, err := newOutcome(one)
	if err != nil {
		return nil, err
	}
	dir, err := scratch.Directory("split")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // the next run sweeps
	g, err := b.startGNB(c, one, dir)
	if err != nil {
		return nil, err
	}
	defer g.kill()
	t := &trial{Config: c, one: one, bed: b, gnb: g, out: out}
	if err = t.measure(ctx); err == nil {
		c.detail("ends")
		out.Processes, err = g.end(ctx)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err == nil {
		err = b.upf.Err()
	}
	if err != nil {
		out.Failed = err.Error()
	}
	return out, nil
}

// Title is the name of a case with how it is run.
func (c *Case) Title() string { return title(c.Name, c.OnePiece) }

func (o *Outcome) title() string { return title(o.Name, o.OnePiece) }

func (o *Outcome) form() string { return form(o.OnePiece) }

func title(name string, onePiece bool) string { return name + ", " + form(onePiece) }

func form(onePiece bool) string {
	if onePiece {
		return "in one"
	}
	return "split"
}
