// Package upfcmd has the commands that run a UPF, or a part of one, that ask the running UPF
// or change it, and that look at what is below it: the machine, and P4 programs.
//
// A command is a struct whose fields are its flags. Its Run method turns them into the
// configuration of the package that does the work, and prints what comes of it.
package upfcmd

import (
	"context"
	"fmt"
	"io"

	"github.com/plumbline-upf/plumbline/datapath/xdp"
	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/upf"
)

// UPF is plumb upf: a UPF, with control plane and datapath in one process.
type UPF struct {
	Config      string         `placeholder:"FILE" help:"Configuration file (YAML); deploy/upf.yaml explains every key."`
	Run         upfRun         `cmd:"" default:"withargs" help:"Run the UPF until SIGTERM or SIGINT (the default)."`
	CheckConfig upfCheckConfig `cmd:"" help:"Check a configuration file; start nothing."`
	Unpin       upfUnpin       `cmd:"" help:"Take away what a UPF that does not come back has left pinned (xdp.pin)."`
}

// Help is shown by plumb upf --help.
func (UPF) Help() string {
	return `Speaks PFCP on N4 and forwards user packets between N3 and N6, as its configuration file says. Logs go to standard error; the line "up" says what listens where.

Needs CAP_NET_ADMIN, CAP_BPF, CAP_PERFMON and CAP_NET_RAW for the datapath xdp; root has them. Once it is up it keeps the first two.

Examples:

    plumb upf check-config --live upf.yaml
    plumb upf --config upf.yaml
    plumb upf unpin upf.yaml
`
}

type upfRun struct{}

// Help is shown by its --help.
func (upfRun) Help() string {
	return cli.Examples("plumb upf --config upf.yaml", "plumb upf run --config upf.yaml")
}

// Help is shown by its --help.

// Run is the UPF as a process.
func (upfRun) Run(ctx context.Context, command *UPF) error {
	return runRole(ctx, command.Config, upf.RoleUPF)
}

type upfCheckConfig struct{ checkConfig }

// Help is shown by its --help.
func (upfCheckConfig) Help() string {
	return cli.Examples("plumb upf check-config upf.yaml", "plumb upf check-config --live upf.yaml")
}

// Help is shown by its --help.

// Run says "ok", or all that is wrong.
func (c *upfCheckConfig) Run(ctx context.Context, stdout io.Writer, command *UPF) error {
	return c.check(ctx, stdout, command.Config, upf.RoleUPF)
}

type upfUnpin struct {
	File string `arg:"" optional:"" placeholder:"FILE" help:"Configuration file (YAML); or --config FILE."`
}

// Help is shown by its --help.
func (upfUnpin) Help() string {
	return cli.Examples("plumb upf unpin upf.yaml")
}

// Run takes programs off their devices, and removes tables, of a datapath alone,
// too.
func (c *upfUnpin) Run(stdout io.Writer, command *UPF) error {
	file, err := cli.OneFile(c.File, command.Config)
	if err != nil {
		return err
	}
	config, err := loadConfig(file)
	if err != nil {
		return err
	}
	if config.XDP.Pin == "" {
		return fmt.Errorf("%w: %s has no xdp.pin: nothing stays when that UPF ends", cli.ErrUsage, file)
	}
	if err := xdp.Unpin(config.XDP.Pin); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%s: nothing is pinned any more\n", config.XDP.Pin)
	return err
}

// N4 is plumb n4: the control plane of a UPF alone.
type N4 struct {
	Config      string        `placeholder:"FILE" help:"Configuration file (YAML); deploy/n4.yaml explains what it needs."`
	Run         n4Run         `cmd:"" default:"withargs" help:"Run the control plane until SIGTERM or SIGINT (the default)."`
	CheckConfig n4CheckConfig `cmd:"" help:"Check a configuration file; start nothing."`
}

// Help is shown by plumb n4 --help.
func (N4) Help() string {
	return `Speaks PFCP on N4 as plumb upf does, but forwards no packets: the datapaths are other processes (plumb datapath), on this or other machines, and Redis stands between. Its configuration has datapath: agents, and bus.agents lists them. Logs go to standard error; the line "up" says what listens where.

Needs no privileges.

Examples:

    plumb n4 check-config --live n4.yaml
    plumb n4 --config n4.yaml
`
}

type n4Run struct{}

// Help is shown by its --help.
func (n4Run) Help() string {
	return cli.Examples("plumb n4 --config n4.yaml")
}

// Help is shown by its --help.

// Run is the control plane as a process.
func (n4Run) Run(ctx context.Context, command *N4) error {
	return runRole(ctx, command.Config, upf.RoleN4)
}

type n4CheckConfig struct{ checkConfig }

// Help is shown by its --help.
func (n4CheckConfig) Help() string {
	return cli.Examples("plumb n4 check-config n4.yaml", "plumb n4 check-config --live n4.yaml")
}

// Help is shown by its --help.

// Run says "ok", or all that is wrong.
func (c *n4CheckConfig) Run(ctx context.Context, stdout io.Writer, command *N4) error {
	return c.check(ctx, stdout, command.Config, upf.RoleN4)
}

// Datapath is plumb datapath: a datapath of a UPF alone, for plumb n4.
type Datapath struct {
	Config      string              `placeholder:"FILE" help:"Configuration file (YAML); deploy/datapath.yaml explains what it needs."`
	Run         datapathRun         `cmd:"" default:"withargs" help:"Run the datapath until SIGTERM or SIGINT (the default)."`
	CheckConfig datapathCheckConfig `cmd:"" help:"Check a configuration file; start nothing."`
}

// Help is shown by plumb datapath --help.
func (Datapath) Help() string {
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

// Help is shown by its --help.
func (datapathRun) Help() string {
	return cli.Examples("plumb datapath --config dp1.yaml")
}

// Help is shown by its --help.

// Run is the datapath as a process.
func (datapathRun) Run(ctx context.Context, command *Datapath) error {
	return runRole(ctx, command.Config, upf.RoleDatapath)
}

type datapathCheckConfig struct{ checkConfig }

// Help is shown by its --help.
func (datapathCheckConfig) Help() string {
	return cli.Examples("plumb datapath check-config dp1.yaml", "plumb datapath check-config --live dp1.yaml")
}

// Help is shown by its --help.

// Run says "ok", or all that is wrong.
func (c *datapathCheckConfig) Run(ctx context.Context, stdout io.Writer, command *Datapath) error {
	return c.check(ctx, stdout, command.Config, upf.RoleDatapath)
}
