package method

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/lab/n4load"
	"github.com/plumbline-upf/plumbline/lab/report"
)

// N4 loads UPFs with PFCP requests: with fixed rates, ramps, windows, and searches for the
// highest rate with short response times, one after the other. Then it sends a frame of
// each session: those that stand must be forwarded, those that were deleted must not.
type N4 struct {
	// Campaign is the loads and searches, threads, T1, N1 and what is in flight. The rest
	// is that of each system.
	Campaign  n4load.Campaign
	Operation string // of the loads, in words
}

// NameN4 is the name of [N4].
const NameN4 = report.NameN4

// N4System is a system whose N4 can be loaded.
type N4System interface {
	System
	// N4 makes a campaign with sessions of its own, as many and with such rules as the
	// cell says.
	N4(ctx context.Context, cell report.LabCell, c n4load.Campaign) (*n4load.CampaignResult, error)
}

// Name is "n4".
func (N4) Name() string { return NameN4 }

// Cells is the point with the operation: there are no frames.
func (m N4) Cells(point report.LabCell) []report.LabCell {
	point.Method, point.Load = m.Name(), m.Operation
	point.Frames, point.Access, point.Direction = "", "", ""
	return []report.LabCell{point}
}

// Options say how requests are sent.
func (m N4) Options() map[string]string {
	c := &m.Campaign
	options := map[string]string{
		"n4": fmt.Sprintf("%d threads, polling for %v, T1 %v, N1 %d, at most %d requests of a CP function in flight",
			c.Threads, c.Options.Spin, c.T1, c.N1, c.InFlight),
	}
	var loads []string
	for _, l := range c.Loads {
		loads = append(loads, l.String())
	}
	for i := range c.Searches {
		loads = append(loads, c.Searches[i].String())
	}
	options["n4 loads"] = strings.Join(loads, "; ")
	return options
}

// Expected is the loads, and the sessions before and after.
func (m N4) Expected(cell report.LabCell) time.Duration {
	sum := 2 * installTime(cell.Sessions)
	for _, l := range m.Campaign.Loads {
		sum += l.WarmUp + l.Duration
	}
	for i := range m.Campaign.Searches {
		sum += m.Campaign.Searches[i].Expected()
	}
	return sum
}

// Measure makes the campaign.
func (m N4) Measure(ctx context.Context, t *Turn) error {
	s, ok := t.System.(N4System)
	if !ok {
		return fmt.Errorf("%s has no N4: %w", t.System.Name(), errors.ErrUnsupported)
	}
	c := m.Campaign
	c.Sessions = t.Cell.Sessions
	c.Host = func() report.Host { return t.run.Host }
	step := ""
	c.OnStep = func(s report.Step) { step = s.Name; t.Say("%s", step) }
	c.OnProgress = func(p n4load.Progress) {
		t.Say("%s, %d answered, %d in flight, %d failed", step, p.Accepted, p.InFlight, p.Failed)
	}
	result, err := s.N4(ctx, t.Cell, c)
	if result == nil {
		return err
	}
	t.Result.N4 = result.Loads()
	for _, f := range result.AllFigures() {
		t.Figure(f)
	}
	return err
}

// N4 makes a campaign with the rules of the cell.
func (c *contender) N4(ctx context.Context, cell report.LabCell, campaign n4load.Campaign) (*n4load.CampaignResult, error) {
	return c.system.N4(ctx, campaign, c.roster.Rules[cell.Rules])
}
