package labcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/lab/method"
	"github.com/plumbline-upf/plumbline/lab/system"
)

type recoveryCommand struct {
	labRun

	Overload *time.Duration `placeholder:"TIME" help:"How long 110 percent of the throughput are sent. Default: 60s, with --quick 1s."`
	Rate     string         `default:"10kpps" placeholder:"RATE" help:"Load of the reset, in each direction. Default: 10kpps."`
	Loss     lossRatio      `default:"0" placeholder:"LOSS" help:"The throughput that is exceeded loses no more. Default: 0."`
}

var recoveryDefaults = labDefaults{
	sessions: []int{1000}, frames: []string{"512"}, duration: 10 * time.Second, repeat: 3,
	quickDuration: 4 * time.Second, quickRepeat: 1,
}

// Help is shown by plumb lab recovery --help.
func (recoveryCommand) Help() string {
	return `Measures how long a UPF takes until it loses nothing again (RFC 2544, 26.5 and 26.6; RFC 6201):

    overload  110 percent of its throughput, which is searched first, for a
              minute, then 50 percent: until the last frame that is lost
    reset     the UPF killed (SIGKILL) and started again under load, its
              sessions established again by the CP function with the same
              F-TEIDs: until N4 answers, until the sessions are there, the
              longest time without a frame, and lost frames as time

--duration is how long losses are looked for after an overload, and the load around a reset, at least. A UPF that slows the sender, as XDP and TC programs do, cannot be overloaded in a test bed; it recovers at once.

It builds a test bed of network namespaces for each system and needs root.

` + recoveryDefaults.help() + `

Examples:

    plumb lab recovery
    plumb lab recovery --dut all --sessions 1,20000 --json r.json
    plumb lab recovery --quick --dut xdp,open5gs-tun
`
}

// Run measures, prints the table and writes the files.
func (c *recoveryCommand) Run(ctx context.Context, stdout io.Writer) error {
	overload := time.Minute
	if c.Quick {
		overload = time.Second
	}
	c.fillIn(recoveryDefaults)
	if err := c.validate(); err != nil {
		return err
	}
	if c.Overload == nil {
		c.Overload = &overload
	}
	if *c.Overload < labMinDuration || *c.Overload > labMaxDuration {
		return cli.Usage(fmt.Errorf("--overload %v: want %v to %v", *c.Overload, labMinDuration, labMaxDuration))
	}
	for _, churn := range c.Churn {
		if churn.Churn != (system.Churn{}) {
			return cli.Usage(errors.New("--churn: sessions cannot come and go while a UPF is started again"))
		}
	}
	pps, err := method.ParseRate(c.Rate)
	if err != nil {
		return cli.Usage(fmt.Errorf("--rate: %w", err))
	}
	m := method.Recovery{Overload: *c.Overload, After: *c.Duration, ResetPPS: pps}
	methods := append(searchThroughput(c.Loss, *c.Duration), m)
	return c.measure(ctx, stdout, "lab "+m.Name(), nil, methods...)
}
