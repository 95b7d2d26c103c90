package upfcmd

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/plumbline-upf/plumbline/internal/plainjson"
	"github.com/plumbline-upf/plumbline/upf"
)

// Move is plumb move: another datapath forwards the packets of the running UPF.
type Move struct {
	upfFlags
	To string `arg:"" name:"datapath" enum:"auto,xdp,tc,afxdp,tun,tap,p4" help:"xdp, tc, afxdp, tun, tap or p4; auto: what suits this machine and its devices best."`
}

// Help is shown by plumb move --help.
func (Move) Help() string {
	return `Lets another datapath forward the packets of the UPF that runs on this machine. Sessions, F-TEIDs, UE addresses and usage go over, while PFCP is answered; what the datapath cannot do of the sessions is said before anything has changed. For a moment, which is printed, no datapath takes packets, and those that arrive are lost. If the datapath cannot start, the one of before goes on.

It is a command of its own because it is the only one that changes a running UPF (and plumb datapath runs one). It is for root and for the user of the UPF, and can be switched off (api.move). The next start takes what the configuration names.

Examples:

    plumb move tun
    plumb show datapath
    plumb move xdp --json
`
}

// Run prints what was done.
func (c *Move) Run(ctx context.Context, stdout io.Writer) error {
	m, err := upf.NewClient(c.Socket).Move(ctx, c.To)
	if err != nil {
		return err
	}
	if c.JSON {
		return plainjson.Write(stdout, m)
	}
	fmt.Fprintf(stdout, "moved from %s to %s: %d sessions in %v, no packets were taken for %v\n",
		m.From, m.To, m.Sessions, m.Took.Round(time.Millisecond), m.Gap.Round(time.Microsecond))
	if n := m.Buffered + m.BufferedDropped; n > 0 {
		fmt.Fprintf(stdout, "%d packets were buffered for idle UEs: %d went over, %d were dropped\n", n, m.Buffered, m.BufferedDropped)
	}
	if m.NATMappingsLost > 0 {
		fmt.Fprintf(stdout, "%d mappings of the NAT went over, %d could not\n", m.NATMappings, m.NATMappingsLost)
	}
	if m.Configured != m.To {
		fmt.Fprintf(stdout, "the configuration says datapath: %s, which the next start takes\n", m.Configured)
	}
	return nil
}
