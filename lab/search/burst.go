package search

import (
	"context"
	"fmt"
	"math"
	"time"
)

// Burst is a search for the longest burst of frames without loss.
//
// Source: RFC 9004, 6.2 (test for a single frame size), with the binary search with loss
// verification of ETSI GS NFV-TST 009, 12.3.3.
type Burst struct {
	Min, Max uint64 // frames
	Step     uint64 // frames; what is left between the longest burst that passes and the shortest that fails
	Retries  int    // how often a burst that lost frames is sent again before that is believed
}

// SendBurst sends a burst of frames as fast as possible to an idle system, and waits until its
// buffers must be empty.
type SendBurst func(ctx context.Context, frames uint64) (Outcome, error)

// BurstRecord is a burst that was sent.
type BurstRecord struct {
	Frames uint64
	Outcome
}

// BurstResult is what was found. With Irregular AtMax the limit of the search was too
// low, with AtMin no burst passed.
type BurstResult struct {
	Longest   uint64 // frames without loss; 0: none
	Lossy     uint64 // frames of the shortest burst with loss; 0: none
	Irregular Irregular
	Records   []BurstRecord
}

// Search looks for the longest burst. With an error it returns what is known so far.
func (b Burst) Search(ctx context.Context, send SendBurst) (BurstResult, error) {
	if b.Min == 0 || b.Max < b.Min || b.Step == 0 || b.Retries < 0 {
		return BurstResult{}, fmt.Errorf("search: bursts from %d to %d frames in steps of %d, %d retries: want all positive", b.Min, b.Max, b.Step, b.Retries)
	}
	r := BurstResult{Irregular: OutOfTime}
	for frames := b.Max; frames != 0; frames = b.middle(r) {
		passed, err := b.try(ctx, send, frames, &r)
		if err != nil {
			return r, fmt.Errorf("search: burst of %d frames: %w", frames, err)
		}
		if passed {
			r.Longest = frames
		} else {
			r.Lossy = frames
		}
	}
	switch {
	case r.Lossy == 0:
		r.Irregular = AtMax
	case r.Longest == 0:
		r.Irregular = AtMin
	default:
		r.Irregular = ""
	}
	return r, nil
}

// try sends a burst until one of its like passes or the retries are used up.
func (b Burst) try(ctx context.Context, send SendBurst, frames uint64, r *BurstResult) (passed bool, err error) {
	for range b.Retries + 1 {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		o, err := send(ctx, frames)
		if err != nil {
			return false, err
		}
		r.Records = append(r.Records, BurstRecord{Frames: frames, Outcome: o})
		if o.Sent >= frames && o.Received >= frames {
			return true, nil
		}
	}
	return false, nil
}

// middle is the length to try next, 0 if there is none.
func (b Burst) middle(r BurstResult) uint64 {
	low := max(r.Longest, b.Min)
	switch {
	case r.Lossy == 0 || r.Lossy == b.Min:
		return 0
	case r.Lossy-low <= b.Step && r.Longest == 0:
		return b.Min
	case r.Lossy-low <= b.Step:
		return 0
	}
	middle := uint64(math.Sqrt(float64(low) * float64(r.Lossy)))
	return min(max(middle, r.Longest+1, b.Min), r.Lossy-1)
}

// BufferTimes are how long a system's buffers hold frames, by the average length of the
// longest bursts, the rate at which they were sent, and the throughput, both in frames
// per second: as if nothing had been forwarded meanwhile, and corrected by what was.
//
// Source: RFC 9004, 6.4 (benchmark calculations).
func BufferTimes(frames, rate, throughput float64) (implied, corrected time.Duration) {
	seconds := frames / rate
	left := max(0, 1-throughput/rate)
	return time.Duration(seconds * 1e9), time.Duration(seconds * left * 1e9)
}
