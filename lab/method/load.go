package method

import (
	"errors"
	"time"

	"plumbline/lab/report"
)

// Load is what a trial offers in each direction of its cell.
type Load struct {
	Rate     uint64        // frames per second; 0: as many as possible
	Duration time.Duration // of what is measured
	WarmUp   time.Duration // before, at the same rate; 0: as the duration, and 200 ms at most
	// Realtime sends from threads that no ordinary program can interrupt.
	Realtime bool
	// OnSample is called twice a second for each direction while frames flow, by
	// another goroutine. It may be nil.
	OnSample func(Sample)
}

// Fastest is a load of as many frames as possible for so long.
func Fastest(d time.Duration) Load { return Load{Duration: d, Realtime: true} }

// Sample is what happened in one direction since the sample before, for whoever looks
// on.
type Sample struct {
	Direction   report.Direction
	Elapsed     time.Duration // since the first frame that counts was due
	OfferedPPS  float64
	ReceivedPPS float64
	LossRatio   float64
	P50NS       int64 // latency; 0 if nothing arrived
	P99NS       int64
	CPU         report.CPU
	Drops       map[string]uint64 // by the UPF since the trial began, by reason
}

// ErrNothing says that there is nothing to measure: nothing was sent, or nothing
// arrived.
var ErrNothing = errors.New("nothing to measure")
