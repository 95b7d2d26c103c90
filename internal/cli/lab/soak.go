package labcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/lab/method"
)

type soakCommand struct {
	labRun

	Load []labLoad      `default:"90" placeholder:"LOAD" help:"Percent of each one's own throughput, which is searched first, rates such as 900kpps, idle, or max. Default: 90."`
	Loss lossRatio      `default:"0.1%" placeholder:"LOSS" help:"The throughput that percentages are of loses no more. Default: 0.1%."`
	PLR  lossRatio      `name:"plr" placeholder:"LOSS" help:"Search for the load of which so much is lost on average, such as 1e-7, in place of sending a load (PLRsearch). --duration is that of its first trial."`
	Time *time.Duration `placeholder:"TIME" help:"Of a turn, all intervals together. Default: 10m, with --quick 3s."`
}

const (
	maxSoakTime      = 30 * 24 * time.Hour
	maxSoakIntervals = 2000 // of which there are trials in both directions in a turn
)

var soakDefaults = labDefaults{
	sessions: []int{1000}, frames: []string{"512"}, duration: 10 * time.Second, repeat: 1,
	quickDuration: 500 * time.Millisecond, quickRepeat: 1,
}

// Help is shown by plumb lab soak --help.
func (soakCommand) Help() string {
	return `Sends a load for a long time and says what was lost and how latency went, in each interval (--duration): loss in all and in the worst interval, how many had any, median and worst percentiles, and by how much latency and loss drift in an hour. Intervals follow each other with a pause of about half a second, in which what they left is counted; the frames sent first in each warm the path up and do not count.

With --plr it searches instead: no trial is believed, each makes some loads likelier, and the longer it takes the nearer is the load of which that part is lost on average. For losses that are too rare for a search that wants them repeated.

It builds a test bed of network namespaces for each system and needs root.

` + soakDefaults.help() + `

Examples:

    plumb lab soak
    plumb lab soak --dut all --load 900kpps --time 1h --json r.json
    plumb lab soak --dut xdp,eupf --plr 1e-7 --time 30m --duration 5s
    plumb lab soak --dut xdp --load 50 --time 24h --duration 1m \
        --churn 100:800:100
`
}

// Run measures, prints the table and writes the files.
func (c *soakCommand) Run(ctx context.Context, stdout io.Writer) error {
	c.fillIn(soakDefaults)
	if c.Time == nil {
		c.Time = c.usualTime()
	}
	if err := errors.Join(c.validate(), once("load", c.Load)); err != nil {
		return err
	}
	if c.PLR > 0 {
		return c.search(ctx, stdout)
	}
	m := method.Soak{Loads: levels(c.Load), Time: *c.Time, Interval: *c.Duration}
	if *c.Time < *c.Duration || *c.Time > maxSoakTime || m.Intervals() > maxSoakIntervals {
		return cli.Usage(fmt.Errorf("--time %v: want %v to %v, and %d intervals (--duration) at most", *c.Time, *c.Duration, maxSoakTime, maxSoakIntervals))
	}
	methods := append(searchFirst(m.Loads, c.Frames, c.Loss, *c.Duration), m)
	return c.measure(ctx, stdout, "lab "+m.Name(), nil, methods...)
}

// usualTime is that of a turn if none is given.
func (c *soakCommand) usualTime() *time.Duration {
	usual := 10 * time.Minute
	if c.Quick {
		usual = 3 * time.Second
	}
	return &usual
}

// search is PLRsearch.
func (c *soakCommand) search(ctx context.Context, stdout io.Writer) error {
	if *c.Time < *c.Duration || *c.Time > maxSoakTime {
		return cli.Usage(fmt.Errorf("--time %v: want %v to %v", *c.Time, *c.Duration, maxSoakTime))
	}
	m := method.Critical{LossRatio: float64(c.PLR), Most: *c.Duration, First: *c.Duration, Budget: *c.Time}
	return c.measure(ctx, stdout, "lab "+m.Name(), nil, m)
}
