// Package clock is the slot clock: it calls a function at the start of each slot, by
// absolute time, so that it does not drift.
//
//	Epoch      one slot
//	  │◄──────────────►│
//	  n                n+1              n+2              n+3
//	  ├────────────────┼────────────────┼────────────────┼──►  [Timeline]
//	  tick(n, late)     tick(n+1, late)  …
//
// A late tick receives its lateness; the following ticks are called immediately until the clock has
// caught up, but at most [Clock.Burst] of them: after a longer stall the clock skips the past slots
// and continues with the next slot that has not begun. A stall is therefore never followed by an
// unlimited burst.
//
// A tick runs on its own OS thread, SCHED_FIFO if permitted. A thread that uses almost a whole CPU
// is demoted for a second, so that ticks that are too long for their slots do not block the
// machine.
package clock

import (
	"context"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi/slot"
)

// BurstDefault is the default number of late slots that a clock runs in order: the size of a PNF's
// window.
const BurstDefault = 30

// Timeline says when slots begin: slot Start at Epoch, the others by their distance.
// It may be used by several goroutines.
type Timeline struct {
	Numerology slot.Numerology
	Epoch      time.Time // with its monotonic reading
	Start      slot.Number
}

// index is how many slots after the Epoch t is, rounded down.
func (t Timeline) index(at time.Time) int64 {
	d, one := int64(at.Sub(t.Epoch)), int64(t.Numerology.Duration())
	if d < 0 {
		return -((one - 1 - d) / one)
	}
	return d / one
}

func (t Timeline) begin(index int64) time.Time {
	return t.Epoch.Add(time.Duration(index) * t.Numerology.Duration())
}

func (t Timeline) number(index int64) slot.Number {
	return t.Numerology.Add(t.Start, int(index%int64(t.Numerology.PerCycle())))
}

// Slot is the slot that a time is in, and how long that has lasted.
func (t Timeline) Slot(at time.Time) (n slot.Number, into time.Duration) {
	i := t.index(at)
	return t.number(i), at.Sub(t.begin(i))
}

// Micros is a time in us of the SFN cycle of 10.24 s, as time stamps and node sync
// count it.
func (t Timeline) Micros(at time.Time) uint32 {
	n, into := t.Slot(at)
	return t.Numerology.Micros(n) + uint32(into/time.Microsecond)
}

// Begin is when slot n begins: of all the slots with that number, the one that is
// nearest to a time.
func (t Timeline) Begin(n slot.Number, near time.Time) time.Time {
	i := t.index(near)
	return t.begin(i + int64(t.Numerology.Distance(n, t.number(i))))
}

// Source is a clock that one can wait for.
type Source interface {
	Now() time.Time
	// Sleep returns when t has come, or soon after ctx has ended.
	Sleep(ctx context.Context, t time.Time)
}

// Clock runs slots. The zero value is ready to use.
type Clock struct {
	// Source is what time it is. Nil: the system's monotonic clock, on a thread of its
	// own.
	Source Source
	// Burst is how many slots are run late, one after the other. 0: [BurstDefault].
	Burst int
	// Started is called on the clock's thread before the first slot: whether that is
	// SCHED_FIFO, or why not.
	Started func(realtime error)
}

// Stats is what a clock has done.
type Stats struct {
	Ticks   uint64        // slots that were run
	Late    uint64        // of them, those that were over when they were run
	Stalls  uint64        // how often slots were left out
	Skipped uint64        // slots that were left out
	MaxLate time.Duration // the latest tick, or stall
}

// Run calls tick for each slot that begins from now on, until ctx ends. late is the time since the
// start of the slot. Skipped slots are those between two calls.
//
// While it runs, GOMAXPROCS is increased: a thread that wakes up must not wait for the processor of
// another goroutine.
func (c Clock) Run(ctx context.Context, t Timeline, tick func(n slot.Number, late time.Duration)) Stats {
	if c.Burst <= 0 {
		c.Burst = BurstDefault
	}
	if c.Source != nil {
		c.started(nil)
		return c.loop(ctx, t, tick)
	}
	defer Reserve()()
	done := make(chan Stats)
	go func() {
		thread, err := NewThread() // it ends with this goroutine
		defer thread.Release()
		c.Source = thread
		c.started(err)
		done <- c.loop(ctx, t, tick)
	}()
	return <-done
}

func (c Clock) started(realtime error) {
	if c.Started != nil {
		c.Started(realtime)
	}
}

func (c Clock) loop(ctx context.Context, t Timeline, tick func(slot.Number, time.Duration)) (s Stats) {
	one := t.Numerology.Duration()
	next := t.index(c.Source.Now()) + 1
	awake := 0 // ticks since it slept
	for ctx.Err() == nil {
		begin := t.begin(next)
		late := c.Source.Now().Sub(begin)
		if late < 0 {
			awake = 0
			c.Source.Sleep(ctx, begin)
			if late = c.Source.Now().Sub(begin); late < 0 {
				continue // ctx ended
			}
		}
		s.MaxLate = max(s.MaxLate, late)
		if awake > c.Burst || int64(late/one) > int64(c.Burst) {
			on := t.index(c.Source.Now()) + 1
			s.Stalls++
			s.Skipped += uint64(on - next)
			next, awake = on, 0
			continue
		}
		s.Ticks++
		if late >= one {
			s.Late++
		}
		tick(t.number(next), late)
		next++
		awake++
	}
	return s
}
