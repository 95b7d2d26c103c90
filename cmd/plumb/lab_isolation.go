package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"plumbline/lab/method"
	"plumbline/lab/system"
	"plumbline/lab/traffic"
)

type labIsolationCommand struct {
	labRun

	Slices   int       `default:"4" placeholder:"N" help:"Parts of the sessions, each with a QFI of its own. Default: 4."`
	Base     float64   `default:"50" placeholder:"PERCENT" help:"Of the throughput, sent by all slices together before and after. Default: 50."`
	Overload float64   `default:"150" placeholder:"PERCENT" help:"Of the throughput, sent by all together while the first slice is overloaded. Default: 150."`
	Loss     lossRatio `default:"0.1%" placeholder:"LOSS" help:"The throughput that percentages are of loses no more. Default: 0.1%."`
}

const maxOverload = 1000 // percent

// Help is shown by plumb lab isolation --help.
func (labIsolationCommand) Help() string {
	return `Overloads one slice and says what becomes of the others: their throughput, loss and latency before, during and after, the worst of them. Slices are parts of the sessions, each with a QFI of its own; all send the same at first, then the first one so much more that all together are more than the UPF carries. The throughput that percentages are of is searched first.

With --rules mbr=KBPS the sessions of the overloaded slice are held to an MBR, as an operator would.

It builds a test bed of network namespaces for each system and needs root.

Examples:

    plumb lab isolation
    plumb lab isolation --dut all --slices 8 --json r.json
    plumb lab isolation --dut xdp,tun --rules none,mbr=10000 --overload 120
`
}

// Run measures, prints the table and writes the files.
func (c *labIsolationCommand) Run(ctx context.Context, stdout io.Writer) error {
	d := labDefaults{sessions: []int{1000}, frames: []string{"512"}, duration: 5 * time.Second, repeat: 3}
	if c.Quick {
		d.duration, d.repeat = 500*time.Millisecond, 1
	}
	c.fillIn(d)
	if err := c.validate(); err != nil {
		return err
	}
	switch least := slices.Min(c.Sessions); {
	case c.Slices < 2 || c.Slices > system.MaxSlices || c.Slices > least:
		return usageError{fmt.Errorf("--slices %d of %d sessions: want 2 to %d, and a session in each", c.Slices, least, system.MaxSlices)}
	case !(c.Base > 0 && c.Base <= 100):
		return usageError{fmt.Errorf("--base %g: want more than 0, up to 100 percent", c.Base)}
	case !(c.Overload > c.Base && c.Overload <= maxOverload):
		return usageError{fmt.Errorf("--overload %g: want more than --base %g, up to %d percent", c.Overload, c.Base, maxOverload)}
	}
	for _, frames := range c.Frames {
		if _, err := traffic.ParseFrames(frames); err != nil {
			return usageError{fmt.Errorf("--frames: slices have streams of their own: %w", err)}
		}
	}
	if len(c.Rules) == 0 {
		c.Rules = []labRules{{}}
	}
	for i := range c.Rules {
		c.Rules[i].Slices = c.Slices
	}
	m := method.Isolation{Slices: c.Slices, Base: c.Base, Overload: c.Overload, Duration: *c.Duration}
	methods := append(searchThroughput(c.Loss, *c.Duration), m)
	return c.measure(ctx, stdout, m.Name(), nil, methods...)
}
