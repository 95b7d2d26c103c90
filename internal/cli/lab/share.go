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
	"github.com/plumbline-upf/plumbline/lab/tcp"
)

type shareCommand struct {
	labRun

	Load frameRate `default:"max" placeholder:"RATE" help:"Frames per second, such as 900kpps, 1.5Mpps or max. Default: max."`
}

var shareDefaults = labDefaults{
	sessions: []int{1}, frames: []string{"1446"}, duration: 5 * time.Second, repeat: 3,
	quickDuration: 300 * time.Millisecond, quickRepeat: 1,
}

// Help is shown by plumb lab share --help.
func (shareCommand) Help() string {
	return `Offers as much as possible, or a given rate, and measures what is received, next to the test bed alone: no search, so it takes no longer than its trials. With a rate, latency is measured as well.

It builds a test bed of network namespaces for each system and needs root.

` + shareDefaults.help() + `

Examples:

    plumb lab share --dut xdp,eupf
    plumb lab share --dut all --sessions 1,100000 --json r.json
    plumb lab share --load 900kpps --duration 60s --repeat 1
`
}

// Run measures, prints the table and writes the files.
func (c *shareCommand) Run(ctx context.Context, stdout io.Writer) error {
	c.fillIn(shareDefaults)
	if err := c.validate(); err != nil {
		return err
	}
	m := method.Share{Load: c.Load.level(), Duration: *c.Duration, Programs: true}
	return c.measure(ctx, stdout, "lab "+m.Name(), nil, m)
}

type tcpCommand struct {
	labRun
}

var tcpDefaults = labDefaults{
	sessions: []int{1}, frames: []string{"1446"}, duration: 5 * time.Second, repeat: 3,
	quickDuration: 2 * time.Second, quickRepeat: 1,
}

// Help is shown by plumb lab tcp --help.
func (tcpCommand) Help() string {
	return `Sends over one TCP connection of the first session's UE, through plumb gnb and the UPF, as fast as it goes (iperf3): payload at the receiver, and retransmitted segments. The test bed alone has no turn: nothing in it accepts a connection.

It builds a test bed of network namespaces for each system and needs root and iperf3.

` + tcpDefaults.help() + `

Examples:

    plumb lab tcp --dut xdp,tc,open5gs-tun
    plumb lab tcp --dut all --sessions 1,100000 --direction downlink
`
}

// Run measures, prints the table and writes the files.
func (c *tcpCommand) Run(ctx context.Context, stdout io.Writer) error {
	err := refuseFlags([]benchFlag{
		{"--frames", c.Frames != nil}, {"--access", c.Access != "uniform"}, {"--churn", c.Churn != nil}, {"--sender", c.Sender != nil},
		{"--external", c.External != nil},
	}, "no effect on a TCP connection, which sends its own packets in a test bed: leave it out")
	c.fillIn(tcpDefaults)
	if err := errors.Join(err, c.validate()); err != nil {
		return err
	}
	if *c.Duration%time.Second != 0 {
		return cli.Usage(fmt.Errorf("--duration %v: want whole seconds", *c.Duration))
	}
	if slices.Contains(c.Direction, bidirectional) {
		return cli.Usage(fmt.Errorf("--direction %s: a connection is measured in one direction", bidirectional))
	}
	if err := tcp.Available(); err != nil {
		return cli.Unsupported(err)
	}
	m := method.TCP{Duration: *c.Duration}
	return c.measure(ctx, stdout, "lab "+m.Name(), nil, m)
}
