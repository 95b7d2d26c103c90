package method

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/plumbline-upf/plumbline/lab/report"
)

// ErrPlan is the error of a result to go on with that is of something else.
var ErrPlan = errors.New("the result is not of this run")

// resume goes on with a result: turns that are in it are not made again, but those
// that failed are.
func (r *run) resume(old *report.Lab) error {
	if err := sameRun(old, r.lab); err != nil {
		return fmt.Errorf("%w: it was made by: %s", err, old.Host.CommandLine)
	}
	old.Turns = slices.DeleteFunc(old.Turns, func(t report.Turn) bool { return t.Failed != "" })
	for i := range old.Systems {
		old.Systems[i].Missing = ""
	}
	old.Finished = nil
	r.lab = old
	return nil
}

// sameRun wants the same plan and systems, on the same machine, by the same program.
func sameRun(old, wanted *report.Lab) error {
	a, b := old.Host, wanted.Host
	a.CommandLine, b.CommandLine = "", ""
	a.MemoryOctets, b.MemoryOctets = 0, 0 // what the kernel takes of it varies
	switch {
	case !reflect.DeepEqual(a, b):
		return fmt.Errorf("%w: another machine, kernel or commit: %s, Linux %s, plumb %s", ErrPlan, a.CPUModel, a.Kernel, a.Commit)
	case !slices.EqualFunc(old.Systems, wanted.Systems, func(a, b report.System) bool { return a.Name == b.Name }):
		return fmt.Errorf("%w: other systems", ErrPlan)
	case !reflect.DeepEqual(old.Plan, wanted.Plan):
		return fmt.Errorf("%w: another plan", ErrPlan)
	}
	return nil
}

// pending reports whether a turn is still to be made.
func (r *run) pending(cell int, system string, repeat int) bool {
	return !slices.ContainsFunc(r.lab.Turns, func(t report.Turn) bool {
		return t.Cell == cell && t.System == system && t.Repeat == repeat
	})
}

func (r *run) pendingAny() bool {
	for i := range r.lab.Plan.Cells {
		if r.pendingCell(i) {
			return true
		}
	}
	return false
}

func (r *run) pendingCell(cell int) bool {
	for _, name := range r.names {
		for repeat := 1; repeat <= r.lab.Plan.Repeats; repeat++ {
			if !r.out[name] && r.pending(cell, name, repeat) {
				return true
			}
		}
	}
	return false
}

// save writes the result whole, or leaves the one before.
func (r *run) save() error {
	if r.File == "" {
		return nil
	}
	return report.WriteLabFile(r.File, r.lab)
}
