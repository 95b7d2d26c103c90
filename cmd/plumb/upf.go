package main

import (
	"context"
	"fmt"
	"io"

	"github.com/plumbline-upf/plumbline/datapath/xdp"
	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/upf"
)

type upfCommand struct {
	Config      string         `placeholder:"FILE" help:"Configuration file (YAML); deploy/upf.yaml explains every key."`
	Run         upfRun         `cmd:"" default:"withargs" help:"Run the UPF until SIGTERM or SIGINT (the default)."`
	CheckConfig upfCheckConfig `cmd:"" help:"Check a configuration file; start nothing."`
	Unpin       upfUnpin       `cmd:"" help:"Take away what a UPF that does not come back has left pinned (xdp.pin)."`
}

// Help is shown by plumb upf --help.
func (upfCommand) Help() string {
	return `Speaks PFCP on N4 and forwards user packets between N3 and N6, as its configuration file says. Logs go to standard error; the line "up" says what listens where.

Needs CAP_NET_ADMIN, CAP_BPF, CAP_PERFMON and CAP_NET_RAW for the datapath xdp; root has them. Once it is up it keeps the first two.

Examples:

    plumb upf check-config --live upf.yaml
    plumb upf --config upf.yaml
    plumb upf unpin upf.yaml
`
}

type upfRun struct{}

// Run is the UPF as a process.
func (upfRun) Run(ctx context.Context, command *upfCommand) error {
	return runRole(ctx, command.Config, upf.RoleUPF)
}

type upfCheckConfig struct{ checkConfig }

// Run says "ok", or all that is wrong.
func (c *upfCheckConfig) Run(ctx context.Context, stdout io.Writer, command *upfCommand) error {
	return c.check(ctx, stdout, command.Config, upf.RoleUPF)
}

type upfUnpin struct {
	File string `arg:"" optional:"" placeholder:"FILE" help:"Configuration file (YAML); or --config FILE."`
}

// Run takes programs off their devices, and removes tables, of a datapath alone,
// too.
func (c *upfUnpin) Run(stdout io.Writer, command *upfCommand) error {
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

func (upfRun) Help() string {
	return cli.Examples("plumb upf --config upf.yaml", "plumb upf run --config upf.yaml")
}

func (upfCheckConfig) Help() string {
	return cli.Examples("plumb upf check-config upf.yaml", "plumb upf check-config --live upf.yaml")
}

func (upfUnpin) Help() string {
	return cli.Examples("plumb upf unpin upf.yaml")
}
