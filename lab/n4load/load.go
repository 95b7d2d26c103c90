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
	Rate    float64
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
			report.Operations[op].Add(c.reports[op])
		}
		report.Total.Add(report.Operations[op])
	}
	return report, err
}

// call is the share of one of n groups in the load.
func (l *Load) call(source *part, i, n int) *call {
	c := newCall(source, Operations)
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
		c.pace = newOpen(now, c.until, rates, l.Arrival, l.Burst, random)
	}
	return c
}
