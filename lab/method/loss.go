package method

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/search"
	"github.com/plumbline-upf/plumbline/lab/system"
)

// Loss measures the frame loss rate at parts of what the bed carries, from all of it
// down, until two loads in sequence lose nothing. Frames that the sender could not send
// because of what follows it count as lost.
//
// Steps are a tenth of the bed's rate. A system that loses frames at the last one as
// well goes on in steps of a tenth of that.
//
// Source: RFC 2544, 26.3.
type Loss struct {
	Duration time.Duration // of each trial
}

// NameLoss is the name of [Loss].
const NameLoss = "loss"

// figureAll is the rate that the steps are parts of.
const figureAll = "100 %"

const (
	lossStep    = 0.1
	lossDecades = 3 // of loads, at most
)

// Name is "loss".
func (Loss) Name() string { return NameLoss }

// Cells is the point itself.
func (m Loss) Cells(point report.LabCell) []report.LabCell {
	point.Method = m.Name()
	return []report.LabCell{point}
}

// Options say how long trials are.
func (m Loss) Options() map[string]string {
	return map[string]string{m.Name(): fmt.Sprintf("trials of %v, in steps of %g %%", m.Duration, 100*lossStep)}
}

// Expected is for ten steps.
func (m Loss) Expected(report.LabCell) time.Duration { return 10 * system.At(0, m.Duration).Time() }

// Measure goes down from the bed's rate.
func (m Loss) Measure(ctx context.Context, t *Turn) error {
	most, err := m.most(ctx, t)
	if err != nil {
		return err
	}
	t.Figure(report.Figure{Name: figureAll, Unit: "pps", Value: float64(t.directions()) * most})
	part := 1.0 // of the bed's rate
	for range lossDecades {
		steps := search.Steps{Max: uint64(part * most), Step: lossStep, Duration: m.Duration, Tolerated: search.Tolerated}
		if steps.Max < leastPPS {
			return nil
		}
		records, err := steps.Run(ctx, t.outcome)
		records = slices.DeleteFunc(records, func(r search.Record) bool { return r.Disturbed })
		for _, r := range records {
			name := fmt.Sprintf("loss at %.3g %%", 100*float64(r.Load)/most)
			t.Figure(report.Figure{Name: name, Unit: "ratio", Better: report.Lower, Value: r.Loss})
		}
		if err != nil || clean(records) {
			return err
		}
		part *= lossStep * (1 - lossStep) // the step below the last one
	}
	return nil
}

// clean reports whether the last two trials have lost nothing.
func clean(records []search.Record) bool {
	n := len(records)
	return n >= 2 && records[n-1].Loss == 0 && records[n-2].Loss == 0
}

// most is what the bed carries, in frames per second and direction: measured in its
// turn, and taken from there in those of others. Without a bed it is what can be
// offered.
func (m Loss) most(ctx context.Context, t *Turn) (float64, error) {
	switch t.System.Bed() {
	case t.System.Name():
		trials, err := t.most(ctx, m.Duration)
		if err != nil {
			return 0, err
		}
		return lowest(trials, receivedPPS), nil
	case "":
		trials, err := t.most(ctx, m.Duration)
		if err != nil {
			return 0, err
		}
		return lowest(trials, offeredPPS), nil
	}
	for _, turn := range t.run.lab.Turns {
		if turn.Cell != t.Result.Cell || turn.Repeat != t.Result.Repeat || turn.System != t.System.Bed() {
			continue
		}
		if f := turn.Figure(figureAll); f != nil {
			return f.Value / float64(t.directions()), nil
		}
	}
	return 0, errors.New("the bed's rate is not known")
}
