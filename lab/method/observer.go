package method

import (
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/system"
)

// Observer hears of a run while it goes on. Its methods return soon and may be called
// from any goroutine, though never two at once.
type Observer interface {
	// Step says that a step begins: a start, the establishment of sessions, a turn.
	Step(report.Step)
	// Detail says how far the step is, in a few words: "trial 7, 812 kpps".
	Detail(text string)
	// Sample is what the trial under way of a system is like, twice a second or more often
	// for each direction.
	Sample(name string, s system.Sample)
	// Turn is the end of a turn.
	Turn(cell report.LabCell, turn report.Turn)
	// Left says that a system is out of the run, and why.
	Left(system, why string)
}

// silent hears nothing.
type silent struct{}

func (silent) Step(report.Step)                 {}
func (silent) Detail(string)                    {}
func (silent) Sample(string, system.Sample)     {}
func (silent) Turn(report.LabCell, report.Turn) {}
func (silent) Left(string, string)              {}
