package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"time"

	"plumbline/gnb"
)

type gnbCommand struct {
	Config   string        `required:"" placeholder:"FILE" help:"Configuration file (YAML); deploy/gnb.yaml explains every key."`
	Duration time.Duration `placeholder:"TIME" help:"Stop after this time, e.g. 60s; without it, at SIGINT or SIGTERM."`
	JSON     bool          `name:"json" help:"Print the counts as JSON."`
}

// Help is shown by plumb gnb --help.
func (gnbCommand) Help() string {
	return `Makes a TUN device for each UE of its configuration and carries what programs send through them over GTP-U to a UPF, and back. Any UPF will do. At the end it prints what it has counted.

Needs CAP_NET_ADMIN, and CAP_SYS_ADMIN if the configuration names network namespaces; root has them.

Examples:

    plumb gnb --config gnb.yaml
    plumb gnb --config gnb.yaml --duration 60s --json
`
}

// Run is the gNB as a process.
func (c *gnbCommand) Run(ctx context.Context, stdout io.Writer) error {
	config, err := gnb.ReadConfig(c.Config)
	if errors.Is(err, gnb.ErrConfig) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	if c.Duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Duration)
		defer cancel()
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	g, err := gnb.New(config, log)
	if err != nil {
		return err
	}
	log.Info("up", "n3", config.N3.Address, "ues", len(config.UEs), "mtu", g.MTU())
	err = g.Run(ctx)
	return errors.Join(err, c.print(stdout, g.Stats()))
}

func (c *gnbCommand) print(stdout io.Writer, s gnb.Stats) error {
	if !c.JSON {
		return s.Print(stdout)
	}
	e := json.NewEncoder(stdout)
	e.SetIndent("", "  ")
	return e.Encode(s)
}
