package rancmd

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/internal/yamltext"
	"github.com/plumbline-upf/plumbline/nfapi/clock"
	"github.com/plumbline-upf/plumbline/ran/radio/mono"
	"github.com/plumbline-upf/plumbline/ran/radio/phy"
)

// nfapiMonoFile is the configuration of plumb nfapi mono.
type nfapiMonoFile struct {
	GNB  nfapiGNB    `yaml:",inline"`
	Air  phy.Config  `yaml:"air"`
	Mono mono.Config `yaml:",inline"`
}

type nfapiMonoCommand struct {
	nfapiThreads    `embed:""`
	nfapiWatchFlags `embed:""`
	Config          string        `placeholder:"FILE" help:"Configuration file (YAML); deploy/nfapi/mono.yaml explains every key."`
	Duration        time.Duration `placeholder:"TIME" help:"Stop after this time, e.g. 60s; without it, at SIGINT or SIGTERM."`

	Start       nfapiMonoRun         `cmd:"" name:"run" default:"withargs" help:"Run the gNB until SIGINT or SIGTERM (the default)."`
	CheckConfig nfapiMonoCheckConfig `cmd:"" help:"Check a configuration file; start nothing."`
}

type nfapiMonoCheckConfig struct{ cli.CheckFile }

// Help is shown by its --help.
func (nfapiMonoCheckConfig) Help() string {
	return cli.Examples("plumb nfapi mono check-config mono.yaml")
}

// Help is shown by plumb nfapi mono --help.
func (nfapiMonoCommand) Help() string {
	return `Runs a gNB in one process: the scheduler and the simulated PHY with its UEs that plumb nfapi vnf and plumb nfapi pnf have, joined by function calls, with the same slot_ahead and the same clock. What differs between this and the two of them is the split.

Needs root: UEs are TUN devices.

Examples:

    plumb nfapi mono check-config mono.yaml
    plumb nfapi mono --config mono.yaml
    plumb nfapi mono --config mono.yaml --duration 60s --json -
    plumb nfapi mono --config mono.yaml --live
`
}

// Run is the gNB as a process.
func (nfapiMonoRun) Run(ctx context.Context, stdout io.Writer, c *nfapiMonoCommand) error {
	if err := cli.WantConfig(c.Config, "plumb nfapi mono"); err != nil {
		return err
	}
	file, err := readNFAPIMono(c.Config)
	if err != nil {
		return err
	}
	ctx, cancel := cli.Within(ctx, c.Duration)
	defer cancel() // also when the core has ended: without it there is nothing to do
	w, err := c.watch(ctx, "mono")
	if err != nil {
		return err
	}
	defer c.begin(w.log)()
	upper, err := file.GNB.open(ctx, w.log)
	if err != nil {
		return errors.Join(err, w.discard())
	}
	file.Mono.Watch = w.of("")
	ended := make(chan error, 1)
	go func() {
		ended <- upper.run(ctx)
		cancel()
	}()
	lower, err := file.run(ctx, upper, w)
	cancel()
	if err = errors.Join(err, <-ended); lower == nil {
		return errors.Join(err, w.discard())
	}
	text := stdout
	if c.JSON == "-" {
		text = os.Stderr
	}
	scheduled, sent := upper.mac.Stats(), lower.Stats()
	return errors.Join(err, w.finish(stdout), scheduled.Print(text), sent.Print(text))
}

func readNFAPIMono(path string) (*nfapiMonoFile, error) {
	file := &nfapiMonoFile{GNB: newNFAPIGNB(), Mono: mono.Config{SlotAhead: defaultSlotAhead}}
	return file, cli.FileError("mono", yamltext.Load(path, file, file.check))
}

// check notes what is wrong.
func (f *nfapiMonoFile) check(m *yamltext.Checks) {
	m.Under("", f.Mono.Validate())
	m.Under("", f.GNB.validate())
	m.Under("air", f.Air.Validate(&f.GNB.Radio))
	taken := claims{}
	taken.core(m, "core", &f.GNB.Core)
	taken.devices(m, "air", &f.Air, &f.GNB.Radio)
}

// Run says "ok", or all that is wrong.
func (c *nfapiMonoCheckConfig) Run(stdout io.Writer, command *nfapiMonoCommand) error {
	return c.Check(stdout, command.Config, func(file string) error { _, err := readNFAPIMono(file); return err })
}

type nfapiMonoRun struct{}

// Help is shown by its --help.
func (nfapiMonoRun) Help() string {
	return cli.Examples("plumb nfapi mono --config mono.yaml", "plumb nfapi mono run --config mono.yaml")
}

// defaultSlotAhead is OpenAirInterface's, beside the default of the radio.
const defaultSlotAhead = 6

// run has MAC and PHY keep the slot until ctx ends. The PHY is nil if it could not be
// begun, and closed.
func (f *nfapiMonoFile) run(ctx context.Context, upper *nfapiL2, w *nfapiWatch) (*phy.PHY, error) {
	lower, err := newNFAPIPHY(&f.GNB.Radio, f.Air, upper.core.MTU(), w.log)
	if err != nil {
		return nil, err
	}
	defer lower.Close()
	joined, err := mono.New(upper.mac, lower, f.Mono)
	if err != nil {
		return nil, cli.Usage(err)
	}
	w.collect(upper.mac, lower)
	w.log.Info("up", "slot_ahead", f.Mono.SlotAhead, "ues", len(f.GNB.Radio.UEs), "mtu", upper.core.MTU())
	_, err = joined.Run(ctx, clock.Clock{Started: func(realtime error) {
		if realtime != nil {
			w.log.Warn("slots are kept without real-time priority", "reason", realtime)
		}
	}})
	s := joined.Stats()
	w.log.Info("down", "slots", s.Slots, "left_out", s.Skipped, "of_these_scheduled", s.Lost)
	return lower, err
}
