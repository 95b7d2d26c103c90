package n4load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// Load is requests on a [Population] for some time.
type Load struct {
	// Rate is requests of all operations per second in an open loop. 0 is a
	// closed loop with Window requests in flight.
	Rate float64
	// RateTo is the rate of an open loop at the end of the duration, to which it changes
	// evenly from Rate after the warm-up. 0: it stays.
	RateTo  float64
	Window  int
	Shares  [Operations]float64 // of the operations; at least one is more than 0
	Arrival Arrival             // of an open loop
	Burst   int                 // requests at once, with [Burst]

	WarmUp   time.Duration // not measured
	Duration time.Duration // measured
	Seed     uint64        // of what happens at random
}

// LoadReport is what a [Load] came to.
type LoadReport struct {
	Load       Load
	Held       int // sessions at the start
	Operations [Operations]*Report
	Total      *Report
	// Ramp is successive equal parts of a load whose rate changes, all operations
	// together; empty of others.
	Ramp []*Report
}

// rampParts is into how many parts a load is cut whose rate changes: within each of them
// it changes by so much less.
const rampParts = 10

// String says how requests follow each other, and for how long.
func (l Load) String() string {
	pace := fmt.Sprintf("window %d", l.Window)
	if l.Rate > 0 {
		pace = fmt.Sprintf("%g/s", l.Rate)
		if l.RateTo > 0 {
			pace += fmt.Sprintf(" to %g/s", l.RateTo)
		}
		pace += ", " + l.Arrival.String()
		if l.Arrival == Burst {
			pace += fmt.Sprintf(" of %d", l.Burst)
		}
	}
	return fmt.Sprintf("%s for %v after %v", pace, l.Duration, l.WarmUp)
}

// validate says what is wrong with l.
func (l *Load) validate() error {
	sum := 0.0
	for _, s := range l.Shares {
		if s < 0 {
			return fmt.Errorf("n4load: shares %v: below 0", l.Shares)
		}
		sum += s
	}
	switch {
	case sum <= 0:
		return fmt.Errorf("n4load: shares %v: nothing to do", l.Shares)
	case l.Rate < 0, l.Rate > 1e8:
		return fmt.Errorf("n4load: %v requests per second: out of range", l.Rate)
	case l.RateTo < 0, l.RateTo > 1e8, l.RateTo > 0 && l.Rate == 0:
		return fmt.Errorf("n4load: a ramp from %v to %v requests per second: out of range", l.Rate, l.RateTo)
	case l.Rate == 0 && l.Window < 1:
		return fmt.Errorf("n4load: a closed loop with a window of %d", l.Window)
	case l.Arrival == Burst && l.Burst < 1:
		return fmt.Errorf("n4load: bursts of %d", l.Burst)
	case l.WarmUp < 0 || l.Duration <= 0:
		return fmt.Errorf("n4load: warm-up %v, duration %v: out of range", l.WarmUp, l.Duration)
	}
	return nil
}

// Run puts a load on the UP function and returns when the last request is
// answered or given up. Refusals and losses are counted; they do not end it.
//
// Errors: [ErrClosed], or why ctx is done.
func (p *Population) Run(ctx context.Context, l Load, progress func(Progress)) (*LoadReport, error) {
	if err := l.validate(); err != nil {
		return nil, err
	}
	report := &LoadReport{Load: l, Held: p.Held()}
	calls := make([]*call, len(p.parts))
	for i, part := range p.parts {
		part.limit = -1
		calls[i] = l.call(part, i, len(p.parts))
	}
	err := p.run(ctx, calls, progress)
	report.Total = newReport()
	for op := range report.Operations {
		report.Operations[op] = newReport()
		for _, c := range calls {
			for part := range c.parts {
				report.Operations[op].Add(c.reports[part*Operations+op])
			}
		}
		report.Operations[op].Duration *= time.Duration(l.parts()) // one after the other
		report.Total.Add(report.Operations[op])
	}
	if l.RateTo > 0 {
		report.Ramp = ramped(calls)
	}
	return report, err
}

// parts is how many reports there are of each operation.
func (l *Load) parts() int {
	if l.RateTo > 0 {
		return rampParts
	}
	return 1
}

// ramped is the parts of calls that were made at the same time.
func ramped(calls []*call) []*Report {
	list := make([]*Report, rampParts)
	for part := range list {
		list[part] = newReport()
		for _, c := range calls {
			for op := range Operations {
				list[part].Add(c.reports[part*Operations+op])
			}
		}
	}
	return list
}

// call is the share of one of n groups in the load.
func (l *Load) call(source *part, i, n int) *call {
	c := newCall(source, Operations, l.parts())
	random := rand.New(rand.NewPCG(l.Seed, uint64(i)))
	sum := 0.0
	for _, s := range l.Shares {
		sum += s
	}
	shares := make([]float64, Operations)
	for op, s := range l.Shares {
		shares[op] = s / sum
	}
	c.start = func(now time.Duration) {
		c.from = now + l.WarmUp
		c.until = c.from + l.Duration
		if l.Rate == 0 {
			c.pace = newClosed(max(1, l.Window/n), c.until, shares)
			return
		}
		rates := make([]float64, Operations)
		for op := range rates {
			rates[op] = l.Rate * shares[op] / float64(n)
		}
		o := newOpen(now, c.until, rates, l.Arrival, l.Burst, random)
		if l.RateTo > 0 {
			o.ramp = ramp{from: c.from, until: c.until, factor: l.RateTo / l.Rate}
		}
		c.pace = o
	}
	return c
}
