package labcmd

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/lab/method"
	"github.com/plumbline-upf/plumbline/lab/search"
)

type throughputCommand struct {
	labRun

	Goal    []lossRatio    `placeholder:"LOSS" help:"Throughputs to look for, by the part of the frames that may be lost. Default: 0, 1e-5, 0.5%."`
	Width   *float64       `placeholder:"PERCENT" help:"How close the bounds of a throughput are to be. Default: 0.5, with --quick 2."`
	Budget  *time.Duration `placeholder:"TIME" help:"Of all trials of a search; what is not found by then is the best that is known. 0s: until it is done. Default: 90s, with --quick 15s; RFC 2544 has none."`
	RFC2544 bool           `name:"rfc2544" help:"Search as RFC 2544 does: one trial of 60 s is believed, no loss."`
}

var throughputDefaults = labDefaults{
	sessions: []int{1, 1000, 100_000}, frames: []string{"imix"}, duration: time.Second, repeat: 3,
	quickDuration: 200 * time.Millisecond, quickRepeat: 1,
}

// Help is shown by plumb lab throughput --help.
func (throughputCommand) Help() string {
	return `Looks for the highest rates that a UPF forwards with no more loss than each goal allows, by MLRsearch (RFC 9971): trials of growing length, repeated where they disagree. The test bed alone is searched as well: no UPF can be faster in it. Systems take turns, and each turn is written to the file of --json as it ends.

It builds a test bed of network namespaces for each system and needs root. Nothing leaves this machine, and nothing stays behind.

` + throughputDefaults.help() + `

Examples:

    plumb lab throughput
    plumb lab throughput --dut all --json r.json
    plumb lab throughput --dut xdp,tun --quick
    plumb lab throughput --dut xdp,eupf=/opt/eupf --frames 64,512,1518 \
        --sessions 1,20000,1000000
    plumb lab throughput --rules none,16pdr,mbr=100000000+urr --goal 0
    plumb lab throughput --churn none,100:800:100
    plumb lab throughput --rfc2544 --direction bidirectional
`
}

// Run measures, prints the table and writes the files.
func (c *throughputCommand) Run(ctx context.Context, stdout io.Writer) error {
	d := throughputDefaults
	budget, width := 90*time.Second, 0.5
	if c.Quick {
		budget, width = 15*time.Second, 2
	}
	if c.RFC2544 {
		d.duration, d.repeat, budget = time.Minute, 1, 0
		d.quickDuration = d.duration
	}
	if c.Budget == nil {
		c.Budget = &budget
	}
	if c.Width == nil {
		c.Width = &width
	}
	c.fillIn(d)
	if err := c.validate(); err != nil {
		return err
	}
	m, err := c.method()
	if err != nil {
		return err
	}
	return c.measure(ctx, stdout, "lab "+m.Name(), nil, m)
}

// method turns the flags into the search.
func (c *throughputCommand) method() (method.Throughput, error) {
	const leastWidth, mostWidth = 0.01, 50
	if !(*c.Width >= leastWidth && *c.Width <= mostWidth) {
		return method.Throughput{}, cli.Usage(fmt.Errorf("--width %g: want %g to %g percent", *c.Width, leastWidth, float64(mostWidth)))
	}
	if *c.Budget < 0 || *c.Budget > 0 && c.RFC2544 {
		return method.Throughput{}, cli.Usage(fmt.Errorf("--budget %v: want 0s or more, and none with --rfc2544", *c.Budget))
	}
	m := method.Throughput{Most: min(time.Second, *c.Duration), Budget: *c.Budget, Binary: c.RFC2544}
	if c.Goal == nil {
		c.Goal = []lossRatio{0, 1e-5, 0.005}
		if c.Quick {
			c.Goal = []lossRatio{0, 0.005}
		}
		if c.RFC2544 {
			c.Goal = []lossRatio{0}
		}
	}
	if c.RFC2544 && len(c.Goal) > 1 {
		return method.Throughput{}, cli.Usage(fmt.Errorf("--goal: %d of them: --rfc2544 has one", len(c.Goal)))
	}
	slices.Sort(c.Goal)
	for _, ratio := range slices.Compact(c.Goal) {
		g := search.NewGoal(float64(ratio), *c.Duration)
		g.Width = max(*c.Width/100, g.LossRatio)
		m.Goals = append(m.Goals, g)
	}
	return m, nil
}
