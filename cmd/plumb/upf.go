package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"syscall"

	"plumbline/datapath/xdp"
	"plumbline/upf"
	"plumbline/upf/privilege"
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
`
}

type upfRun struct{}

// Run is the UPF as a process.
func (upfRun) Run(ctx context.Context, command *upfCommand) error {
	config, err := loadRole(command.Config, upf.RoleUPF)
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

// confine gives up privileges. A UPF that keeps them works as well, so it only
// says so.
func confine(log *slog.Logger) {
	err := privilege.Confine()
	if errors.Is(err, syscall.ENOTSUP) {
		log.Info("capabilities kept: built with cgo, whose threads cannot give them up")
	} else if err != nil {
		log.Warn("capabilities kept", "error", err)
	}
}

type upfCheckConfig struct {
	File string `arg:"" optional:"" placeholder:"FILE" help:"Configuration file (YAML); or --config FILE."`
	Live bool   `help:"Check against this machine, too: devices and addresses."`
}

// Run says "ok", or all that is wrong.
func (c *upfCheckConfig) Run(stdout io.Writer, command *upfCommand) error {
	file, err := oneFile(c.File, command.Config)
	if err != nil {
		return err
	}
	config, err := loadConfig(file)
	if err != nil {
		return err
	}
	if c.Live {
		if err := config.CheckLive(); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(stdout, "%s: ok\n", file)
	return err
}

type upfUnpin struct {
	File string `arg:"" optional:"" placeholder:"FILE" help:"Configuration file (YAML); or --config FILE."`
}

// Run takes programs off their devices, and removes tables.
func (c *upfUnpin) Run(stdout io.Writer, command *upfCommand) error {
	file, err := oneFile(c.File, command.Config)
	if err != nil {
		return err
	}
	config, err := loadConfig(file)
	if err != nil {
		return err
	}
	if config.XDP.Pin == "" {
		return fmt.Errorf("%w: %s has no xdp.pin: nothing stays when that UPF ends", errUsage, file)
	}
	if err := xdp.Unpin(config.XDP.Pin); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%s: nothing is pinned any more\n", config.XDP.Pin)
	return err
}

// oneFile is the file that is named as an argument or by --config.
func oneFile(argument, flag string) (string, error) {
	if (argument == "") == (flag == "") {
		return "", fmt.Errorf("%w: want one of FILE and --config FILE", errUsage)
	}
	return argument + flag, nil
}

// loadConfig reads a configuration; one that is wrong is wrong usage.
func loadConfig(file string) (*upf.Config, error) {
	config, err := upf.Load(file)
	var wrong *upf.ConfigError
	if errors.As(err, &wrong) {
		return nil, usageError{err}
	}
	return config, err
}
