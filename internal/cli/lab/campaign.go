package labcmd

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/plumbline-upf/plumbline/lab/method"
)

type campaignCommand struct {
	labRun

	Load []labLoad `default:"max,100" placeholder:"LOAD" help:"As much as possible (max), percent of each one's own throughput, which is searched first, rates such as 900kpps, or the rate, ramp and bursts of the traffic profile (profile). Default: max, 100."`
	Loss lossRatio `default:"0.1%" placeholder:"LOSS" help:"The throughput that percentages are of loses no more. Default: 0.1%."`
}

var campaignDefaults = labDefaults{
	sessions: []int{1}, frames: []string{method.FramesOfCampaign}, duration: time.Minute, repeat: 1,
	quickDuration: 2 * time.Second, quickRepeat: 1,
}

// Help is shown by plumb lab campaign --help.
func (campaignCommand) Help() string {
	return `Sends frames of one length for a minute in each direction through each UPF, and says what was sent and received, what was lost and what it cost, as published comparisons of UPFs do; the figures of one of them stand beside, as the reference they are. Theirs were sent at rates chosen by hand; here each UPF is offered as much as possible, and what it carries without loss.

It builds a test bed of network namespaces for each system and needs root.

` + campaignDefaults.help() + `

Examples:

    plumb lab campaign --dut all --json r.json
    plumb lab campaign --dut xdp,eupf --load 900kpps
    plumb lab campaign --quick
`
}

// Run measures, prints the table and writes the files.
func (c *campaignCommand) Run(ctx context.Context, stdout io.Writer) error {
	c.fillIn(campaignDefaults)
	if err := errors.Join(c.validate(), once("load", c.Load)); err != nil {
		return err
	}
	m := method.Campaign{Loads: levels(c.Load), Duration: *c.Duration}
	methods := append(searchFirst(m.Loads, c.Frames, c.Loss, *c.Duration), m)
	return c.measure(ctx, stdout, "lab "+m.Name(), method.CampaignReferences(directionsOf(c.Direction)), methods...)
}
