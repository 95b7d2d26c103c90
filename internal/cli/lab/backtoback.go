package labcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/lab/method"
)

type backToBackCommand struct {
	labRun

	Tests *int      `placeholder:"N" help:"Searches in a turn, whose mean is the result; RFC 9004 wants 50 or more in all. Default: 10, with --quick 2."`
	Step  uint64    `default:"16" placeholder:"FRAMES" help:"How close a search comes. Default: 16."`
	Loss  lossRatio `default:"0" placeholder:"LOSS" help:"The throughput by which buffer times are corrected loses no more. Default: 0."`
}

// Bounds of flags.
const (
	maxBurstTests = 1000
	maxBurstStep  = 1 << 20
)

var backToBackDefaults = labDefaults{
	sessions: []int{1}, frames: []string{"512"}, duration: 2 * time.Second, repeat: 3,
	quickDuration: 300 * time.Millisecond, quickRepeat: 1,
}

// Help is shown by plumb lab backtoback --help.
func (backToBackCommand) Help() string {
	return `Looks for the longest burst of frames, sent as fast as possible to a UPF at rest, of which none is lost (RFC 9004), and says how long its buffers hold frames: as if nothing had left them meanwhile, and corrected by the throughput, which is searched first. --duration is the longest burst that is tried, at the highest rate.

A UPF that slows the sender, as XDP and TC programs do, has no such limit: the longest burst is then the longest that was tried, with a note.

It builds a test bed of network namespaces for each system and needs root.

` + backToBackDefaults.help() + `

Examples:

    plumb lab backtoback --dut tun,open5gs-tun
    plumb lab backtoback --dut all --frames 64,512,1518 --direction uplink \
        --json r.json
`
}

// Run measures, prints the table and writes the files.
func (c *backToBackCommand) Run(ctx context.Context, stdout io.Writer) error {
	c.fillIn(backToBackDefaults)
	if c.Tests == nil {
		c.Tests = c.usualTests()
	}
	if err := c.validate(); err != nil {
		return err
	}
	switch {
	case *c.Tests < 1 || *c.Tests > maxBurstTests:
		return cli.Usage(fmt.Errorf("--tests %d: want 1 to %d", *c.Tests, maxBurstTests))
	case c.Step < 1 || c.Step > maxBurstStep:
		return cli.Usage(fmt.Errorf("--step %d: want 1 to %d", c.Step, maxBurstStep))
	case slices.Contains(c.Direction, bidirectional):
		return cli.Usage(errors.New("--direction bidirectional: bursts are of one direction"))
	}
	m := method.BackToBack{Tests: *c.Tests, Most: *c.Duration, Step: c.Step}
	methods := append(searchThroughput(c.Loss, *c.Duration), m)
	return c.measure(ctx, stdout, "lab "+m.Name(), nil, methods...)
}

// usualTests is how many there are if nothing is said.
func (c *backToBackCommand) usualTests() *int {
	usual := 10
	if c.Quick {
		usual = 2
	}
	return &usual
}
