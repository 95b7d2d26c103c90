package search

import (
	"context"
	"math"
	"math/rand/v2"
	"time"
)

// dut is a system in virtual time: a queue in front of a server, its faults, and a sender
// that may not keep up.
type dut struct {
	capacity float64 // frames per second
	buffer   float64 // frames
	loss     float64 // of all frames, at any load
	livelock float64 // of the capacity that is gone at twice the capacity
	stalls   float64 // per second; each loses the frames of stall
	stall    time.Duration
	jitter   float64       // standard deviation of the capacity from trial to trial, as a part of it
	sender   float64       // frames per second at most; 0: no limit
	held     time.Duration // of the sender, in every other trial: it owes what was due, and the rest comes in haste
	overhead time.Duration // of each trial beside its duration
	random   *rand.Rand

	trials int
}

func newDUT(capacity float64, seed uint64) *dut {
	return &dut{capacity: capacity, random: rand.New(rand.NewPCG(seed, 1))}
}

func (d *dut) measure(_ context.Context, t Trial) (Outcome, error) {
	d.trials++
	seconds := t.Duration.Seconds()
	o := Outcome{Intended: uint64(math.Round(float64(t.Load) * seconds)), Took: t.Duration + d.overhead}
	o.Sent = o.Intended
	if d.sender > 0 {
		o.Sent = min(o.Sent, uint64(d.sender*seconds))
	}
	if d.held > 0 && d.trials%2 == 0 {
		o.Held = d.held
		o.Sent -= uint64(float64(o.Intended) * d.held.Seconds() / seconds)
	}
	received := math.Min(float64(o.Sent), d.carries(float64(t.Load))*seconds+d.buffer)
	received -= d.loss * float64(o.Sent)
	received -= d.stalled(seconds) * min(float64(t.Load), d.capacity)
	o.Received = uint64(math.Round(max(0, received)))
	return o, nil
}

// carries is the capacity in this trial, in frames per second.
func (d *dut) carries(load float64) float64 {
	capacity := d.capacity * (1 + d.jitter*d.random.NormFloat64())
	if over := load/d.capacity - 1; over > 0 {
		capacity *= 1 - min(1, d.livelock*over)
	}
	return capacity
}

// stalled is the time lost to stalls in a trial, in seconds.
func (d *dut) stalled(seconds float64) float64 {
	lost := 0.0
	for at := d.random.ExpFloat64() / d.stalls; d.stalls > 0 && at < seconds; at += d.random.ExpFloat64() / d.stalls {
		lost += d.stall.Seconds()
	}
	return lost
}
