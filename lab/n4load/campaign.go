package n4load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/internal/printable"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/pfcp"
)

// Campaign is loads on one UP function, one after the other, with all that
// comes before and after: associations, sessions, and their end.
type Campaign struct {
	Remote   netip.AddrPort
	Local    []netip.Addr // at least one
	CPs      int          // CP functions, spread over Local; 0: one at each
	T1       time.Duration
	N1       int
	InFlight int // of one CP function in an open loop, at most
	Threads  int // each with its share of the CP functions
	Options  Options

	Template Template
	Shape    string // the template in words
	Sessions int    // that are held when a load begins
	Loads    []Load
	Searches []Search // after the loads
	Keep     bool     // sessions and associations, at the end
	Stay     bool     // associations: whoever comes next sets them up anew

	// Within calls a function in the network namespace of the CP functions; nil: this
	// thread's.
	Within func(func() error) error
	// CPUTime is what the UP function's processes have used so far; nil: nobody knows.
	CPUTime func() (time.Duration, error)
	CPUs    int // that they may run on
	// Check looks at the UP function when all loads are over, and returns what it has
	// seen; nil: nobody does.
	Check func(context.Context, *Population) ([]report.Figure, error)

	Host func() report.Host // what the result belongs to

	OnStep     func(report.Step) // at the start of each step; may be nil
	OnProgress func(Progress)    // while requests are sent; may be nil

	groups     []*Group
	population *Population
	result     *CampaignResult
	spent      time.Duration // expected of the steps so far
}

// CampaignResult is what a [Campaign] came to.
type CampaignResult struct {
	*report.N4Result
	Last *LoadReport // of the last load
}

const (
	phaseLoad   = "load"
	maxSessions = 1 << 24
	fillWindow  = 64     // requests in flight while sessions are installed or deleted
	fillRate    = 20_000 // expected of it, 1/s
	startTime   = time.Second
)

// Validate says what is wrong with c.
func (c *Campaign) Validate() error {
	switch {
	case len(c.Local) == 0:
		return errors.New("no address of a CP function")
	case c.CPs < 0 || c.CPs > MaxClients:
		return fmt.Errorf("%d CP functions: want 1 to %d", c.CPs, MaxClients)
	case c.Threads < 1 || c.Threads > max(c.CPs, len(c.Local)):
		return fmt.Errorf("%d threads: want 1 to the number of CP functions", c.Threads)
	case c.Sessions < 1 || c.Sessions > maxSessions:
		return fmt.Errorf("%d sessions: want 1 to %d", c.Sessions, maxSessions)
	case c.InFlight < 1 || c.InFlight > MaxWindow:
		return fmt.Errorf("%d requests in flight: want 1 to %d", c.InFlight, MaxWindow)
	case len(c.Loads)+len(c.Searches) == 0:
		return errors.New("no load")
	}
	for i := range c.Loads {
		if err := c.Loads[i].validate(); err != nil {
			return err
		}
		if c.Loads[i].Window > MaxWindow {
			return fmt.Errorf("a window of %d: want 1 to %d", c.Loads[i].Window, MaxWindow)
		}
	}
	for i := range c.Searches {
		if err := c.Searches[i].validate(); err != nil {
			return err
		}
	}
	return nil
}

// Do makes the campaign. On an error the sessions stay where they are, and go
// with the association when it is set up again; with the error there is the result of
// what was before.
func (c *Campaign) Do(ctx context.Context) (*CampaignResult, error) {
	c.result = &CampaignResult{N4Result: &report.N4Result{
		Schema: report.N4Schema, Started: time.Now().UTC().Truncate(time.Second), Host: c.Host(), Setup: c.setup(),
	}}
	c.step("associate", startTime)
	err := c.dial()
	if err == nil {
		err = c.run(ctx)
	}
	for _, g := range c.groups {
		err = errors.Join(err, g.Close())
	}
	if err != nil {
		c.result.Ended = inOneLine(err)
	}
	return c.result, err
}

// inOneLine is an error as results take it.
func inOneLine(err error) string {
	return strings.Join(strings.Fields(printable.Log(err.Error())), " ")
}

func (c *Campaign) setup() report.N4Setup {
	return report.N4Setup{
		UPFunction: c.Remote.String(), Threads: c.Threads, SpinNS: c.Options.Spin.Nanoseconds(), T1NS: c.T1.Nanoseconds(), N1: c.N1,
		Shape: c.Shape, Sessions: c.Sessions,
		Pacing: fmt.Sprintf("sleeps in ppoll without timer slack, and polls for the last %v", c.Options.Spin),
	}
}

// dial opens the sockets of all CP functions.
func (c *Campaign) dial() error {
	n := max(c.CPs, len(c.Local))
	groups := make([][]Config, c.Threads)
	for i := range n {
		config := Config{Local: netip.AddrPortFrom(c.Local[i%len(c.Local)], pfcp.Port), Remote: c.Remote, Window: c.InFlight, T1: c.T1, N1: c.N1}
		if i >= len(c.Local) { // the first one at the address answers what comes to port 8805
			config.Local = netip.AddrPortFrom(config.Local.Addr(), 0)
			config.NodeID = pfcp.NodeID{FQDN: pfcp.NewName(fmt.Sprintf("cp%d.n4load", i))}
		}
		groups[i%c.Threads] = append(groups[i%c.Threads], config)
	}
	within := c.Within
	if within == nil {
		within = func(f func() error) error { return f() }
	}
	for _, configs := range groups {
		var g *Group
		err := within(func() (err error) {
			g, err = DialGroup(c.Options, configs...)
			return err
		})
		if err != nil {
			return err
		}
		c.groups = append(c.groups, g)
		for _, client := range g.Clients() {
			c.result.Setup.CPFunctions = append(c.result.Setup.CPFunctions, client.LocalAddr().String())
		}
	}
	return nil
}

// run makes the loads.
func (c *Campaign) run(ctx context.Context) error {
	if err := c.each(func(client *Client) error {
		_, err := client.Associate(ctx)
		return err
	}); err != nil {
		return err
	}
	c.population = NewPopulation(&c.Template, c.size(), c.fillWindow(), c.groups...)
	runtime.GC() // what the sessions took is not collected while something is measured
	for i := range c.Loads {
		if _, err := c.load(ctx, c.Loads[i], fmt.Sprintf("load %d of %d", i+1, len(c.Loads)), phaseLoad); err != nil {
			return err
		}
	}
	for i := range c.Searches {
		if err := c.search(ctx, &c.Searches[i]); err != nil {
			return err
		}
	}
	if err := c.check(ctx); err != nil || c.Keep {
		return err
	}
	return c.leave(ctx)
}

// check has somebody look at what the loads have left.
func (c *Campaign) check(ctx context.Context) error {
	if c.Check == nil {
		return nil
	}
	c.step("check sessions", startTime)
	figures, err := c.Check(ctx, c.population)
	c.result.Figures = append(c.result.Figures, figures...)
	return err
}

// leave deletes the sessions and ends the associations.
func (c *Campaign) leave(ctx context.Context) error {
	if err := c.drain(ctx); err != nil || c.Stay {
		return err
	}
	return c.each(func(client *Client) error {
		err := client.Release(ctx)
		if errors.Is(err, ErrNoResponse) { // some do not know the message; there are no sessions any more
			return nil
		}
		return err
	})
}

func (c *Campaign) each(f func(*Client) error) error {
	for _, g := range c.groups {
		for _, client := range g.Clients() {
			if err := f(client); err != nil {
				return err
			}
		}
	}
	return nil
}

// size is how many sessions there have to be for all loads: those that are
// held, and some that can be established meanwhile.
func (c *Campaign) size() int {
	n := c.Sessions
	for _, l := range c.loads() {
		if l.start(c.Sessions) > 0 && l.Shares[OpEstablish] > 0 {
			n = max(n, MaxHeld(c.Sessions))
		}
	}
	return n
}

// MaxHeld is how many sessions there may be in a [Campaign] that begins its loads with so
// many.
func MaxHeld(sessions int) int { return sessions + sessions/10 + 1000 }

// loads are those of searches as well.
func (c *Campaign) loads() []Load {
	list := slices.Clone(c.Loads)
	for _, s := range c.Searches {
		list = append(list, s.Load)
	}
	return list
}

// fillWindow is how many requests are in flight while sessions are established and
// deleted, in each thread.
func (c *Campaign) fillWindow() int {
	if most := c.Template.Dialect.Window; most > 0 {
		return min(fillWindow, most)
	}
	return fillWindow
}

// step tells that a step begins.
func (c *Campaign) step(name string, expected time.Duration) {
	if c.OnStep != nil {
		total := startTime + 2*fillTime(c.Sessions)
		for _, l := range c.Loads {
			total += l.WarmUp + l.Duration
		}
		for _, s := range c.Searches {
			total += s.Expected()
		}
		c.OnStep(report.Step{Name: name, Expected: expected, Before: c.spent, Total: max(total, c.spent+expected)})
	}
	c.spent += expected
}

func fillTime(sessions int) time.Duration {
	return time.Duration(float64(sessions) / fillRate * float64(time.Second))
}

// WriteHgrm writes the response times of the last load as a percentile
// distribution in microseconds, as HdrHistogram's tools read it.
func (r *CampaignResult) WriteHgrm(w io.Writer) error {
	if r.Last == nil {
		return errors.New("no load was measured")
	}
	const ticksPerHalf, scale = 5, 1e3
	_, err := r.Last.Total.Latency.PercentilesPrint(w, ticksPerHalf, scale)
	return err
}
