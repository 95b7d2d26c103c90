package rancmd

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"time"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/internal/plainjson"
	"github.com/plumbline-upf/plumbline/internal/yamltext"
	"github.com/plumbline-upf/plumbline/nfapi/impair"
)

type nfapiImpairCommand struct {
	Config   string        `placeholder:"FILE" help:"Configuration file (YAML) with several rules; deploy/nfapi/impair.yaml explains every key. Flags override it."`
	Duration time.Duration `placeholder:"TIME" help:"Stop after this time, e.g. 60s; without it, at SIGINT or SIGTERM."`
	JSON     bool          `name:"json" help:"Print what was done as JSON."`

	AsVNF   netip.AddrPort `name:"as-vnf" placeholder:"ADDR:PORT" help:"Where to stand in for the VNF: the PNF sends there."`
	VNF     netip.AddrPort `name:"vnf" placeholder:"ADDR:PORT" help:"P7 of the VNF."`
	AsPNF   netip.AddrPort `name:"as-pnf" placeholder:"ADDR:PORT" help:"Where to stand in for the PNF: the VNF sends there."`
	PNF     netip.AddrPort `name:"pnf" placeholder:"ADDR:PORT" help:"P7 of the PNF. Default: who sends to --as-vnf first."`
	Profile string         `placeholder:"NAME" help:"Who VNF and PNF are: oai-2025, oai-2024 (OpenAirInterface) or aerial (NVIDIA). Default: oai-2025."`
	Seed    uint64         `placeholder:"N" help:"Seed of all chances: with the same one the same datagrams have the same fate. Default: 0."`

	Direction   string        `placeholder:"DIRECTION" help:"To which datagrams the chances and times below apply: to-pnf, to-vnf or both. Default: both."`
	Messages    []string      `placeholder:"NAME" help:"To which messages they apply, e.g. DL_TTI,TX_DATA. Default: all."`
	Loss        float64       `placeholder:"P" help:"Chance that a datagram is lost, 0 to 1."`
	SegmentLoss float64       `placeholder:"P" help:"Chance that a segment of a message is lost, beside --loss."`
	Duplicate   float64       `placeholder:"P" help:"Chance that a datagram comes twice."`
	Reorder     float64       `placeholder:"P" help:"Chance that a datagram comes after the next one."`
	Flip        float64       `placeholder:"P" help:"Chance that one bit of a datagram is wrong."`
	Delay       time.Duration `placeholder:"TIME" help:"How long a datagram takes, e.g. 100us."`
	Jitter      time.Duration `placeholder:"TIME" help:"By how much longer it takes at most; each time up to that is equally likely."`

	SFNOffset  uint16        `name:"sfn-offset" placeholder:"FRAMES" help:"By how much the VNF's SFN is ahead of the PNF's."`
	WrapAfter  time.Duration `placeholder:"TIME" help:"Have the SFN come round for the VNF this time after the first SLOT.indication."`
	ClockDrift float64       `placeholder:"PPM" help:"Let the PNF's time stamps and node sync drift from the VNF's clock, us in a second."`
	TickDrift  float64       `placeholder:"PPM" help:"Let SLOT.indications be late by so many us more each second, up to 500, then by 0 again."`

	nfapiThreads `embed:""`

	Start       nfapiImpairRun         `cmd:"" name:"run" default:"withargs" help:"Relay until SIGINT or SIGTERM (the default)."`
	CheckConfig nfapiImpairCheckConfig `cmd:"" help:"Check a configuration file, with the flags that override it; start nothing."`
}

type nfapiImpairCheckConfig struct{ cli.CheckFile }

// Help is shown by its --help.
func (nfapiImpairCheckConfig) Help() string {
	return cli.Examples("plumb nfapi impair check-config impair.yaml")
}

// Help is shown by plumb nfapi impair --help.
func (nfapiImpairCommand) Help() string {
	return `Relays P7 between a VNF and a PNF, and does to it what networks and clocks do: loss, duplication, other orders, delay, wrong bits, drift, and an SFN that comes round. Chances are seeded. At the end it prints what was done, for each direction and type of message. P5 does not go through it: tell the PNF that the VNF's P7 is at --as-vnf, and the VNF that the PNF's is at --as-pnf.

Examples:

    plumb nfapi impair --as-vnf 10.0.0.3:50011 --vnf 10.0.0.1:50011 \
        --as-pnf 10.0.0.3:50010 --pnf 10.0.0.2:50010 --loss 0.001
    plumb nfapi impair --as-vnf 127.0.0.1:50111 --vnf 127.0.0.1:50011 \
        --as-pnf 127.0.0.1:50110 --direction to-pnf --messages TX_DATA \
        --segment-loss 0.01 --duration 60s --json
    plumb nfapi impair check-config impair.yaml
    plumb nfapi impair --config impair.yaml --wrap-after 2s
`
}

// read makes a configuration of file and flags. An empty file is none.
func (c *nfapiImpairCommand) read(file string) (impair.Config, error) {
	var out impair.Config
	rule, err := c.rule()
	if err != nil {
		return out, err
	}
	if file != "" {
		err := yamltext.Load(file, &out, func(m *yamltext.Checks) {
			c.override(&out)
			out.CheckRelay(m)
		})
		if err != nil {
			return out, cli.FileError("impair", err)
		}
	}
	c.override(&out)
	if rule != nil {
		out.Rules = append([]impair.Rule{*rule}, out.Rules...)
	}
	return out, out.ValidateRelay()
}

// override puts the flags in the place of what the file says.
func (c *nfapiImpairCommand) override(out *impair.Config) {
	set(&out.AsVNF, c.AsVNF)
	set(&out.VNF, c.VNF)
	set(&out.AsPNF, c.AsPNF)
	set(&out.PNF, c.PNF)
	set(&out.Profile, c.Profile)
	set(&out.Seed, c.Seed)
	set(&out.SFNOffset, c.SFNOffset)
	set(&out.WrapAfter, c.WrapAfter)
	set(&out.ClockDriftPPM, c.ClockDrift)
	set(&out.TickDriftPPM, c.TickDrift)
}

// rule is the one that flags make, nil if they make none.
func (c *nfapiImpairCommand) rule() (*impair.Rule, error) {
	rule := &impair.Rule{
		Direction: c.Direction, Messages: c.Messages, Loss: c.Loss, SegmentLoss: c.SegmentLoss,
		Duplicate: c.Duplicate, Reorder: c.Reorder, Flip: c.Flip, Delay: c.Delay, Jitter: c.Jitter,
	}
	if !rule.Harmless() {
		return rule, nil
	}
	if c.Direction != "" || len(c.Messages) > 0 {
		return nil, errors.New("impair: --direction and --messages say what a chance or a time is about, and none is given")
	}
	return nil, nil
}

// set gives v its value of the command line, if it has one.
func set[T comparable](v *T, flag T) {
	var zero T
	if flag != zero {
		*v = flag
	}
}

// Run says "ok", or all that is wrong.
func (c *nfapiImpairCheckConfig) Run(stdout io.Writer, command *nfapiImpairCommand) error {
	return c.Check(stdout, command.Config, func(file string) error {
		if _, err := command.read(file); err != nil {
			return cli.Usage(err)
		}
		return nil
	})
}

type nfapiImpairRun struct{}

// Help is shown by its --help.
func (nfapiImpairRun) Help() string {
	return cli.Examples("plumb nfapi impair --config impair.yaml", "plumb nfapi impair run --config impair.yaml")
}

// Run relays until the end, and says what it did.
func (nfapiImpairRun) Run(ctx context.Context, stdout io.Writer, c *nfapiImpairCommand) error {
	config, err := c.read(c.Config)
	if err != nil {
		return cli.Usage(err)
	}
	ctx, cancel := cli.Within(ctx, c.Duration)
	defer cancel()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	relay, err := impair.NewRelay(config, log)
	if err != nil {
		return err
	}
	defer c.begin(log)()
	asVNF, errVNF := relay.AsVNF()
	asPNF, errPNF := relay.AsPNF()
	if err := errors.Join(errVNF, errPNF); err != nil {
		return err
	}
	log.Info("relaying", "as_vnf", asVNF, "vnf", config.VNF, "as_pnf", asPNF, "pnf", config.PNF)
	result, err := relay.Run(ctx)
	if c.JSON {
		return errors.Join(err, plainjson.Write(stdout, result))
	}
	return errors.Join(err, result.Print(stdout))
}
