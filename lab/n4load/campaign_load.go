package n4load

import (
	"context"
	"fmt"
	"time"

	"github.com/plumbline-upf/plumbline/lab/report"
)

// start is how many sessions are held when a load begins: none if it
// establishes only.
func (l *Load) start(sessions int) int {
	if l.Shares[OpModify] == 0 && l.Shares[OpDelete] == 0 {
		return 0
	}
	return sessions
}

// limit makes a load that establishes or deletes only as long as there are
// sessions for it.
func (l *Load) limit(sessions int) {
	if l.Shares[OpModify] > 0 || l.Shares[OpEstablish] > 0 && l.Shares[OpDelete] > 0 {
		return
	}
	if l.Rate == 0 { // as fast as can be: that may be over before a warm-up is
		l.WarmUp = 0
		return
	}
	most := time.Duration(float64(sessions) / max(l.Rate, l.RateTo) * float64(time.Second))
	l.WarmUp = min(l.WarmUp, most/4)
	l.Duration = min(l.Duration, most-l.WarmUp)
}

// load brings the population to where the load begins, and makes it.
func (c *Campaign) load(ctx context.Context, l Load, step, phase string) (*LoadReport, error) {
	if err := c.begin(ctx, l.start(c.Sessions)); err != nil {
		return nil, err
	}
	l.limit(c.Sessions)
	c.step(step, l.WarmUp+l.Duration)
	before, err := c.used()
	if err != nil {
		return nil, err
	}
	r, err := c.population.Run(ctx, l, c.OnProgress)
	if err != nil {
		if r != nil && r.Total.Sent > 0 {
			c.result.Phases, c.result.Last = append(c.result.Phases, r.Phase(report.N4Interrupted)), r
		}
		return nil, err
	}
	after, err := c.used()
	if err != nil {
		return nil, err
	}
	c.result.Last = r
	phases := r.Phases(phase)
	if c.CPUTime != nil {
		cost(phases, after-before, c.CPUs)
	}
	c.result.Phases = append(c.result.Phases, phases...)
	return r, nil
}

// begin brings the sessions that are held to a number: a load that establishes begins
// with none.
func (c *Campaign) begin(ctx context.Context, held int) error {
	if c.population.Held() > held && held == 0 {
		return c.drain(ctx)
	}
	return c.fill(ctx, held)
}

func (c *Campaign) used() (time.Duration, error) {
	if c.CPUTime == nil {
		return 0, nil
	}
	return c.CPUTime()
}

// cost says what requests cost the UP function: the time has those of the warm-up in it,
// at the same rate.
func cost(phases []report.N4Phase, used time.Duration, cpus int) {
	measured, sent := time.Duration(0), 0
	for i := range phases {
		measured += time.Duration(phases[i].Total.DurationNS)
		sent += phases[i].Total.Sent
	}
	share := float64(measured) / float64(measured+time.Duration(phases[0].WarmUpNS))
	for i := range phases {
		phases[i].DUT = &report.N4DUT{CPUs: cpus, CPUNSPerRequest: float64(used) * share / float64(max(sent, 1))}
	}
}

func (c *Campaign) fill(ctx context.Context, n int) error {
	held := c.population.Held()
	if n <= held {
		return nil
	}
	c.step(fmt.Sprintf("establish %d sessions", n-held), fillTime(n-held))
	r, err := c.population.Fill(ctx, n, c.OnProgress)
	if err != nil {
		return err
	}
	c.result.Phases = append(c.result.Phases, r.Phase(report.N4Fill, OperationNames[OpEstablish], c.fillWindow(), held))
	return nil
}

func (c *Campaign) drain(ctx context.Context) error {
	held := c.population.Held()
	if held == 0 {
		return nil
	}
	c.step(fmt.Sprintf("delete %d sessions", held), fillTime(held))
	r, err := c.population.Drain(ctx, c.OnProgress)
	if err != nil {
		return err
	}
	c.result.Phases = append(c.result.Phases, r.Phase(report.N4Drain, OperationNames[OpDelete], c.fillWindow(), held))
	return nil
}
