package labcmd

import (
	"context"
	"io"
	"time"

	"github.com/plumbline-upf/plumbline/lab/method"
)

type lossCommand struct {
	labRun
}

var lossDefaults = labDefaults{
	sessions: []int{1}, frames: []string{"512"}, duration: 2 * time.Second, repeat: 3,
	quickDuration: 300 * time.Millisecond, quickRepeat: 1,
}

// Help is shown by plumb lab loss --help.
func (lossCommand) Help() string {
	return `Measures the frame loss rate from what the test bed carries down in steps of a tenth, until two loads in sequence lose nothing (RFC 2544, 26.3). What is slower than that goes on in finer steps. Frames that the sender could not send, because what follows slowed it down, count as lost.

It builds a test bed of network namespaces for each system and needs root.

` + lossDefaults.help() + `

Examples:

    plumb lab loss --dut xdp,tun
    plumb lab loss --dut all --frames 64,512,1518 --direction uplink \
        --json r.json
`
}

// Run measures, prints the table and writes the files.
func (c *lossCommand) Run(ctx context.Context, stdout io.Writer) error {
	c.fillIn(lossDefaults)
	if err := c.validate(); err != nil {
		return err
	}
	m := method.Loss{Duration: *c.Duration}
	return c.measure(ctx, stdout, "lab "+m.Name(), nil, m)
}
