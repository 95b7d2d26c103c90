package main

import (
	"context"
	"io"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/upf"
)

type n4Command struct {
	Config      string        `placeholder:"FILE" help:"Configuration file (YAML); deploy/n4.yaml explains what it needs."`
	Run         n4Run         `cmd:"" default:"withargs" help:"Run the control plane until SIGTERM or SIGINT (the default)."`
	CheckConfig n4CheckConfig `cmd:"" help:"Check a configuration file; start nothing."`
}

// Help is shown by plumb n4 --help.
func (n4Command) Help() string {
	return `Speaks PFCP on N4 as plumb upf does, but forwards no packets: the datapaths are other processes (plumb datapath), on this or other machines, and Redis stands between. Its configuration has datapath: agents, and bus.agents lists them. Logs go to standard error; the line "up" says what listens where.

Needs no privileges.

Examples:

    plumb n4 check-config --live n4.yaml
    plumb n4 --config n4.yaml
`
}

type n4Run struct{}

// Run is the control plane as a process.
func (n4Run) Run(ctx context.Context, command *n4Command) error {
	return runRole(ctx, command.Config, upf.RoleN4)
}

type n4CheckConfig struct{ checkConfig }

// Run says "ok", or all that is wrong.
func (c *n4CheckConfig) Run(ctx context.Context, stdout io.Writer, command *n4Command) error {
	return c.check(ctx, stdout, command.Config, upf.RoleN4)
}

func (n4Run) Help() string {
	return cli.Examples("plumb n4 --config n4.yaml")
}

func (n4CheckConfig) Help() string {
	return cli.Examples("plumb n4 check-config n4.yaml", "plumb n4 check-config --live n4.yaml")
}
