package upfcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/upf"
	"github.com/plumbline-upf/plumbline/upf/privilege"
)

// roleCommands is which command runs which configuration.
var roleCommands = map[upf.Role]string{
	upf.RoleUPF: "plumb upf", upf.RoleN4: "plumb n4", upf.RoleDatapath: "plumb datapath"}

// runRole is a UPF, or a part of one, as a process.
func runRole(ctx context.Context, file string, role upf.Role) error {
	if err := cli.WantConfig(file, roleCommands[role]); err != nil {
		return err
	}
	config, err := loadRole(file, role)
	if err != nil {
		return err
	}
	log := upf.NewLogger(os.Stderr, config.Log)
	running, stop := context.WithCancel(ctx)
	defer stop()
	hangUp(running, log)
	tables := cli.LimitMemory(running, log) // sessions are restored within it
	s, err := startRole(ctx, config, upf.Options{Log: log, Commit: cli.Commit})
	if err != nil {
		return err
	}
	tables(s.TablesOctets)
	s.Prepare()
	confine(log, config.API.Socket != "" && config.API.Move && role == upf.RoleUPF)
	tellManager(log, daemon.SdNotifyReady)
	err = s.Wait(ctx)
	log.Info("stopping")
	tellManager(log, daemon.SdNotifyStopping)
	return errors.Join(err, s.Close())
}

// roleService is what runs.
type roleService interface {
	Prepare()
	TablesOctets() uint64
	Wait(ctx context.Context) error
	Close() error
}

func startRole(ctx context.Context, c *upf.Config, o upf.Options) (roleService, error) {
	if c.Role() == upf.RoleDatapath {
		agent, err := upf.StartAgent(ctx, c, o)
		if err != nil {
			return nil, err
		}
		return agent, nil
	}
	s, err := upf.Start(ctx, c, o)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// confine gives up privileges, but the right to those that a move to another
// datapath needs, if there may be one. A UPF that keeps them works as well, so it
// only says so.
func confine(log *slog.Logger, moves bool) {
	err := privilege.Confine(moves)
	if errors.Is(err, syscall.ENOTSUP) {
		log.Info("capabilities kept: built with cgo, whose threads cannot give them up")
	} else if err != nil {
		log.Warn("capabilities kept", "error", err)
	}
}

// checkConfig is what every command that checks a configuration has.
type checkConfig struct {
	File string `arg:"" optional:"" placeholder:"FILE" help:"Configuration file (YAML), - for standard input; or --config FILE."`
	Live bool   `help:"Check against this machine, too: devices, addresses, forwarding, ports, store, Redis, P4 target."`
}

// check says "ok", or all that is wrong.
func (c *checkConfig) check(ctx context.Context, stdout io.Writer, flag string, role upf.Role) error {
	file, err := cli.OneFile(c.File, flag)
	if err != nil {
		return err
	}
	config, err := loadRole(file, role)
	if err != nil {
		return err
	}
	if c.Live {
		held, err := config.CheckListen(ctx)
		if err := errors.Join(config.CheckLive(), config.CheckKept(ctx), config.CheckP4(ctx), err); err != nil {
			return err
		}
		if len(held) > 0 {
			fmt.Fprintf(stdout, "%s: a UPF runs with this api.socket, and has to end before another one can start: it has %s\n", file, strings.Join(held, ", "))
		}
	}
	return cli.SayOK(stdout, file)
}

// loadRole reads a configuration, which has to be that of the role.
func loadRole(file string, role upf.Role) (*upf.Config, error) {
	config, err := loadConfig(file)
	if err != nil {
		return nil, err
	}
	if got := config.Role(); got != role {
		return nil, fmt.Errorf("%w: %s is a configuration of '%s', not of '%s' (datapath: agents, bus.agent)",
			cli.ErrUsage, file, roleCommands[got], roleCommands[role])
	}
	return config, nil
}

// loadConfig reads a configuration; one that is wrong, or cannot be read, is wrong usage.
func loadConfig(file string) (*upf.Config, error) {
	config, err := upf.Load(file)
	var wrong *upf.ConfigError
	if errors.As(err, &wrong) {
		return nil, cli.Usage(err)
	}
	return config, cli.InputError(err)
}

// hangUp has SIGHUP do nothing until ctx is done but leave a line in the log: nothing is
// read anew. In a terminal it ends the process, as the terminal is closed then.
func hangUp(ctx context.Context, log *slog.Logger) {
	if tty, err := os.Open("/dev/tty"); err == nil {
		tty.Close()
		return
	}
	signal.Ignore(syscall.SIGHUP) // no command's handler any more
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-signals:
				log.Warn("SIGHUP does nothing: a configuration is read at the start alone")
			}
		}
	}()
}

// tellManager tells systemd, or whoever NOTIFY_SOCKET names, how far we are.
// Source: sd_notify(3).
func tellManager(log *slog.Logger, state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		log.Warn("service manager not told", "state", state, "error", err)
	}
}
