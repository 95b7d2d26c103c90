package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"plumbline/upf"
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
	config, err := loadRole(command.Config, upf.RoleN4)
	if err != nil {
		return err
	}
	log := upf.NewLogger(os.Stderr, config.Log)
	s, err := upf.Start(ctx, config, upf.Options{Log: log, Commit: commit})
	if err != nil {
		return err
	}
	confine(log)
	err = s.Wait(ctx)
	log.Info("stopping")
	return errors.Join(err, s.Close())
}

type n4CheckConfig struct {
	File string `arg:"" placeholder:"FILE" help:"Configuration file (YAML)."`
	Live bool   `help:"Check against this machine, too: addresses."`
}

// Run says "ok", or all that is wrong.
func (c *n4CheckConfig) Run(stdout io.Writer) error {
	return checkRole(stdout, c.File, upf.RoleN4, c.Live)
}

// roleCommands is which command runs which configuration.
var roleCommands = map[upf.Role]string{
	upf.RoleUPF: "plumb upf", upf.RoleN4: "plumb n4", upf.RoleDatapath: "plumb datapath"}

// loadRole reads a configuration, which has to be that of the role.
func loadRole(file string, role upf.Role) (*upf.Config, error) {
	if file == "" {
		return nil, fmt.Errorf("%w: want --config FILE (see '%s --help')", errUsage, roleCommands[role])
	}
	config, err := loadConfig(file)
	if err != nil {
		return nil, err
	}
	if got := config.Role(); got != role {
		return nil, fmt.Errorf("%w: %s is a configuration of '%s', not of '%s' (datapath: agents, bus.agent)",
			errUsage, file, roleCommands[got], roleCommands[role])
	}
	return config, nil
}

// checkRole says "ok", or all that is wrong.
func checkRole(stdout io.Writer, file string, role upf.Role, live bool) error {
	config, err := loadRole(file, role)
	if err != nil {
		return err
	}
	if live {
		if err := config.CheckLive(); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(stdout, "%s: ok\n", file)
	return err
}
