package rancmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/internal/term"
	"github.com/plumbline-upf/plumbline/lab/host"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/split"
	"github.com/plumbline-upf/plumbline/lab/system"
)

type nfapiDemoCommand struct {
	Full     bool          `help:"Measure more: 100 MHz with four layers, losses of P7 with broken transport blocks, and a gNB that has nothing to do but to keep its slots. About a quarter of an hour."`
	Only     string        `placeholder:"TEXT" help:"Measure only the gNBs whose names have this in them, e.g. best."`
	Pings    int           `default:"80" help:"How many pings for each gNB. Default: 80."`
	Interval time.Duration `default:"53ms" help:"Time between pings; best one that no TDD pattern divides. Default: 53ms."`
	Duration time.Duration `default:"2s" help:"How long each stream of iperf3 takes. Default: 2s."`
	Idle     time.Duration `default:"10m" help:"With --full, how long the gNB has nothing to do. Default: 10m."`
	Datapath string        `default:"tc" enum:"xdp,tc,afxdp,tun,tap" help:"Datapath of the UPF behind the gNB: ${enum}. Default: tc, which takes packets of TCP whole."`
	Plain    bool          `help:"Show lines as a log has them, on a terminal as well."`
	JSON     string        `name:"json" placeholder:"FILE" help:"Write the result as JSON (plumbline.nfapi-split/1); - is standard output."`
	HTML     string        `name:"html" placeholder:"FILE" help:"Write the report: one page with charts and tables that loads nothing else."`
}

// Help is shown by plumb nfapi demo --help.
func (nfapiDemoCommand) Help() string {
	return `Builds UE, PNF, VNF, UPF and data network in network namespaces, runs ping and iperf3 from the UE to the data network, and prints the figures beside those of OpenAirInterface's split, of the same gNB in one process, and of what the radio allows at best.

Needs root, ping and iperf3.

Examples:

    plumb nfapi demo
    plumb nfapi demo --only best --pings 1000
    plumb nfapi demo --full --html split.html --json split.json
`
}

// Run measures, prints the tables and writes the files.
func (c *nfapiDemoCommand) Run(ctx context.Context, stdout io.Writer) error {
	config, err := c.config()
	if err != nil {
		return err
	}
	if err := nfapiDemoNeeds(); err != nil {
		return err
	}
	files, err := cli.OpenOutputs(cli.To(c.JSON, split.Write), cli.To(c.HTML, split.WriteHTML))
	if err != nil {
		return err
	}
	bar := term.NewProgress(os.Stderr, "nfapi demo", c.Plain)
	config.OnStep, config.OnDetail = term.Steps[report.Step](bar), bar.Tell
	config.OnSwept = func(names []string) {
		bar.Say("removed what a run that was killed has left: " + strings.Join(names, ", "))
	}
	result, err := split.Run(ctx, config)
	bar.Close()
	if err != nil {
		err = system.Explain(ctx, err)
	}
	if result == nil || len(result.Outcomes) == 0 {
		return errors.Join(files.Discard(), err)
	}
	show := split.Table
	if c.JSON == "-" {
		show = split.Write
	}
	return errors.Join(show(stdout, result), files.Write(result), err)
}

func (c *nfapiDemoCommand) config() (split.Config, error) {
	version, commit := cli.Built()
	config := split.Config{
		Name: "plumb-nfapi", Pings: c.Pings, Interval: c.Interval, Stream: c.Duration, Datapath: c.Datapath,
		Host: host.Describe(version, commit, "plumb "+strings.Join(os.Args[1:], " ")),
	}
	cases := split.Short()
	if c.Full {
		cases = split.Full(c.Idle)
	}
	for _, one := range cases {
		if strings.Contains(one.Title(), c.Only) {
			config.Cases = append(config.Cases, one)
		}
	}
	if c.Full && c.Idle <= 0 {
		return config, cli.Usage(fmt.Errorf("--idle of %v", c.Idle))
	}
	if len(config.Cases) == 0 {
		return config, cli.Usage(fmt.Errorf("--only %q is in no gNB's name", c.Only))
	}
	if err := config.Validate(); err != nil {
		return config, cli.Usage(err)
	}
	return config, nil
}

// nfapiDemoNeeds says which programs are missing.
func nfapiDemoNeeds() error {
	var missing []string
	for _, one := range [][2]string{{"iperf3", "iperf3"}, {"ping", "iputils-ping"}} {
		if _, err := exec.LookPath(one[0]); err != nil {
			missing = append(missing, one[1])
		}
	}
	if len(missing) > 0 {
		return cli.Unsupported(fmt.Errorf("%w: programs are not installed: apt-get install %s", errors.ErrUnsupported, strings.Join(missing, " ")))
	}
	return nil
}
