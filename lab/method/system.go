package method

import (
	"context"

	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/system"
)

// System is what takes turns: a UPF in a test bed of its own, or the bed alone. Its
// methods are for one goroutine. Between turns it uses no CPU.
type System interface {
	// Name is what it is called in the result, before it is started as well.
	Name() string
	// Bed is the name of the bed that it is compared with, of a bed its own: one in
	// which frames come to the meter as they do here. Empty: there is none.
	Bed() string
	// Start builds the bed and starts the UPF. It is followed by Close whether it
	// succeeds or not.
	Start(ctx context.Context) error
	// Describe says what is known of it so far.
	Describe() report.System
	// Turn lets it run while f measures it. If the UPF ends meanwhile, that is the
	// error. The turn in which it is started begins without it.
	Turn(ctx context.Context, f func(context.Context) error) error
	// Establish has the sessions of a cell established, with its rules.
	Establish(ctx context.Context, cell report.LabCell) error
	// Open prepares the frames of a cell, and its churn. What was open before is closed.
	// run tells its frames from any others.
	Open(cell report.LabCell, run uint32) error
	// Trial sends a load and returns what became of it, for each direction of the cell.
	//
	// Errors: [system.ErrNothing] with the trials, whose figures are those of a loss of
	// all frames.
	Trial(ctx context.Context, l system.Load) ([]report.Trial, error)
	// Close undoes what there is of Start.
	Close() error
}
