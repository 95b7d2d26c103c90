package bench

import (
	"slices"
	"time"

	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/system"
)

// work is what a comparison still has to do.
type work struct {
	starts      int // of contestants
	established int // sessions of each so far
	cells       int
	cellSince   time.Time
	tcp         int // trials
}

// plan counts the work that follows the start, or what is left of it for those who
// are still there.
func (w *work) plan(r *comparison) {
	if w.cells == 0 && w.established == 0 {
		w.cells = len(r.Sessions) * len(r.Payloads) * len(r.Directions)
	}
	if r.TCP > 0 {
		w.tcp = (r.alive() - 1) * len(r.Directions) * r.Repeats
	}
}

// alive is how many contestants have not left.
func (r *comparison) alive() int {
	n := 0
	for _, k := range r.contestants {
		if !k.out {
			n++
		}
	}
	return n
}

// step tells that a step begins. What is left is estimated anew each time, since
// nobody knows before how many rates a search will try.
func (r *comparison) step(name string, expected time.Duration) {
	if r.OnStep == nil {
		return
	}
	before := time.Since(r.started)
	r.OnStep(report.Step{Name: name, Expected: expected, Before: before, Total: before + max(expected, r.remaining())})
}

func (r *comparison) remaining() time.Duration {
	install := installTime(slices.Max(r.Sessions)-r.left.established) * time.Duration(r.alive()-1)
	perCell := time.Duration(0)
	for _, k := range r.contestants {
		if !k.out {
			perCell += time.Duration(r.Repeats)*r.turnTime(k) + time.Duration(len(r.Loads))*r.trialTime()
		}
	}
	cells := time.Duration(r.left.cells) * perCell
	if !r.left.cellSince.IsZero() {
		cells -= min(perCell, time.Since(r.left.cellSince))
	}
	return time.Duration(r.left.starts)*startTime + install + max(0, cells) +
		time.Duration(r.left.tcp)*(tcpOmitted+r.TCP)
}

// turnTime is what one turn at the highest rate takes, with the search if there was
// one the last time.
func (r *comparison) turnTime(k *contestant) time.Duration {
	t := r.trialTime()
	if k.lossy {
		steps := bracket{low: searchLow, high: searchHigh, precision: searchPrecision}.steps()
		t += time.Duration(steps) * system.At(1, min(r.Duration, longSearch)).Time()
	}
	return t
}

func (r *comparison) trialTime() time.Duration { return system.At(0, r.Duration).Time() }
