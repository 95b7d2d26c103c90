package search

import (
	"context"
	"fmt"
	"time"
)

// Trial is what shall be measured.
type Trial struct {
	Load     uint64        // frames per second, in each direction that is measured
	Duration time.Duration // of sending; warm-up and what is waited for afterwards not counted
}

// Outcome is what a trial counted, in all its directions together.
type Outcome struct {
	Intended uint64        // frames that were due
	Sent     uint64        // frames that the sender got rid of
	Received uint64        // frames that arrived where they should, each counted once
	Took     time.Duration // the whole trial with all waits; 0: as long as its duration
	// Held is the time during which the sender was ready to send, but another program had its CPU.
	// Frames that it then sends in a burst, or not at all, are not the system's fault.
	Held time.Duration
}

// Measure makes one trial. An error ends the search.
type Measure func(context.Context, Trial) (Outcome, error)

// Tolerated is the usual part of the intended frames that a sender may owe before they
// count as lost, and of a trial's duration that it may be held before a loss does not
// count: one that is interrupted at the end of a trial owes some.
const Tolerated = 0.001

// LossRatio is the ratio of frames that did not arrive. Frames that were not sent count as lost if
// they exceed the tolerated ratio of the intended ones: a load that was not offered was not
// forwarded.
func (o Outcome) LossRatio(tolerated float64) float64 {
	expected := o.Sent
	if float64(o.Intended)-float64(o.Sent) > tolerated*float64(o.Intended) {
		expected = o.Intended
	}
	if o.Received >= expected {
		return 0
	}
	return float64(expected-o.Received) / float64(expected)
}

// Record is a trial that was made.
type Record struct {
	Trial
	Outcome
	Loss float64 // the loss ratio
	// Disturbed trials lost frames while their sender was held, and one that was held less
	// was made in their place. They are not evidence.
	Disturbed bool
}

// forwardingRate is the load that came through, in frames per second and direction.
//
// Source: RFC 9971, 4.5.7 (Trial Forwarding Rate).
func (r Record) forwardingRate() float64 { return float64(r.Load) * (1 - r.Loss) }

// lab measures, and keeps what was measured.
type lab struct {
	measure   Measure
	tolerated float64
	records   []Record
	took      time.Duration
}

// again is the maximum number of repeats of a trial whose sender is held.
const again = 4

// try makes a trial, again if it was disturbed, and returns the one that counts: the first
// that was not, or that with the shortest disturbance.
func (l *lab) try(ctx context.Context, t Trial) (Record, error) {
	first, least := len(l.records), len(l.records)
	for range again {
		r, err := l.once(ctx, t)
		if err != nil {
			return Record{}, err
		}
		l.records = append(l.records, r)
		l.took += max(r.Took, t.Duration)
		if last := len(l.records) - 1; !r.Disturbed || r.Held < l.records[least].Held {
			least = last
		}
		if !r.Disturbed {
			break
		}
	}
	for i := first; i < len(l.records); i++ {
		l.records[i].Disturbed = i != least
	}
	return l.records[least], nil
}

func (l *lab) once(ctx context.Context, t Trial) (Record, error) {
	if err := ctx.Err(); err != nil {
		return Record{}, err
	}
	o, err := l.measure(ctx, t)
	if err != nil {
		return Record{}, fmt.Errorf("trial of %v at %d frames/s: %w", t.Duration, t.Load, err)
	}
	if o.Intended == 0 && o.Sent == 0 {
		return Record{}, fmt.Errorf("trial of %v at %d frames/s: no frame was due", t.Duration, t.Load)
	}
	r := Record{Trial: t, Outcome: o, Loss: o.LossRatio(l.tolerated)}
	r.Disturbed = r.Loss > 0 && r.Held.Seconds() > l.tolerated*t.Duration.Seconds()
	return r, nil
}
