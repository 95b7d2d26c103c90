package main

import (
	"context"
	"io"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/upf"
)

type datapathCommand struct {
	Config      string              `placeholder:"FILE" help:"Configuration file (YAML); deploy/datapath.yaml explains what it needs."`
	Run         datapathRun         `cmd:"" default:"withargs" help:"Run the datapath until SIGTERM or SIGINT (the default)."`
	CheckConfig datapathCheckConfig `cmd:"" help:"Check a configuration file; start nothing."`
}

// Help is shown by plumb datapath --help.
func (datapathCommand) Help() string {
	return `Forwards user packets between N3 and N6 as plumb upf does, for a control plane that is another process (plumb n4), with Redis between. Its configuration has bus.agent, the name by which the control plane knows it. Logs go to standard error; the line "up" says what runs.

While Redis or the control plane is away, packets flow by the rules that are there. With xdp.pin they do so while this process is away, too.

plumb trace, plumb drops, plumb show datapath, show peers and show config ask it at its api.socket (--socket); sessions are known to plumb n4.

Needs CAP_NET_ADMIN, CAP_BPF, CAP_PERFMON and CAP_NET_RAW for the datapath xdp; root has them. Once it is up it keeps the first two.

Examples:

    plumb datapath check-config --live datapath.yaml
    plumb datapath --config datapath.yaml
`
}

type datapathRun struct{}

// Run is the datapath as a process.
func (datapathRun) Run(ctx context.Context, command *datapathCommand) error {
	return runRole(ctx, command.Config, upf.RoleDatapath)
}

type datapathCheckConfig struct{ checkConfig }

// Run says "ok", or all that is wrong.
func (c *datapathCheckConfig) Run(ctx context.Context, stdout io.Writer, command *datapathCommand) error {
	return c.check(ctx, stdout, command.Config, upf.RoleDatapath)
}

func (datapathRun) Help() string {
	return cli.Examples("plumb datapath --config dp1.yaml")
}

func (datapathCheckConfig) Help() string {
	return cli.Examples("plumb datapath check-config dp1.yaml", "plumb datapath check-config --live dp1.yaml")
}
