package labcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/internal/term"
	"github.com/plumbline-upf/plumbline/lab/correctness"
	"github.com/plumbline-upf/plumbline/lab/host"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

type correctnessCommand struct {
	Parts []correctness.Part `arg:"" optional:"" name:"part" help:"What to measure: rate, tcp, usage, effect, buffer, restart. Default: all of them."`

	DUT       []string           `name:"dut" default:"xdp" placeholder:"NAME" help:"What to measure, one after the other: xdp, tc, afxdp, tun, tap, p4 (our UPF with that datapath), others by name or as name=/path/to/program, external, or all. Default: xdp."`
	External  *topology.External `placeholder:"PLACE" help:"Where --dut external is: n3=DEV@ADDR,n6=DEV@ADDR,n4=ADDR,ue=PREFIX, devices of this machine and addresses of the UPF behind them."`
	Direction []report.Direction `default:"uplink,downlink" placeholder:"WAY" help:"uplink, downlink or both. Default: both."`
	MBR       []uint64           `name:"mbr" placeholder:"KBPS" help:"MBRs for frames. Default: 18 from 64 kbit/s to 10 Gbit/s."`
	TCPMBR    []uint64           `name:"tcp-mbr" placeholder:"KBPS" help:"MBRs for TCP. Default: 8 from 1 to 1500 Mbit/s."`
	Duration  time.Duration      `default:"3s" help:"Of each measurement of a rate or of usage; longer where packets are few. Default: 3s."`
	Repeats   int                `default:"20" placeholder:"N" help:"Of each change of a rule. Default: 20."`
	JSON      string             `name:"json" placeholder:"FILE" help:"Write the figures of all as JSON (plumbline.lab/1); - is standard output."`
	Details   string             `placeholder:"FILE" help:"Write all that was measured of one UPF as JSON (plumbline.correctness/1)."`

	labOutputs
}

// Help is shown by plumb lab correctness --help.
func (correctnessCommand) Help() string {
	return `Builds a test bed of network namespaces, runs a UPF in it, and measures how far it is from what its rules say:

    rate     what passes of frames at each MBR, beside what was asked
    tcp      the same with TCP of iperf3 from a UE, or to it
    usage    octets in Usage Reports beside what arrived; how far a threshold
             was passed when it was reported, and a quota by what was
             forwarded
    effect   packets that the old rule still treated after the response to a
             modification; loss, gap and End Marker of a path switch
    buffer   time to the Downlink Data Report; packets lost or out of order
             when a buffer is released under traffic
    restart  how long nothing is forwarded when the UPF is killed and started
             again under traffic

All of it is said over PFCP and seen on N3 and N6, so it works with any UPF. What a UPF refuses is said with the Cause, and the rest is measured. It needs root.

Examples:

    plumb lab correctness
    plumb lab correctness rate --mbr 64,20000,600000 --duration 10s
    plumb lab correctness effect buffer --repeats 200 --details r.json
    plumb lab correctness --dut xdp,eupf=/opt/eupf,open5gs-tun --json r.json \
        --html r.html
`
}

// Run measures, prints the tables and writes the files.
func (c *correctnessCommand) Run(ctx context.Context, stdout io.Writer) error {
	config, err := c.config()
	if err != nil {
		return err
	}
	kinds, err := kindsOf(c.DUT, c.External)
	if err != nil {
		return err
	}
	if c.Details != "" && len(kinds) > 1 {
		return cli.Usage(errors.New("--details is of one UPF: --dut names several"))
	}
	files, err := c.openAll()
	if err != nil {
		return err
	}
	var results []*report.Correctness
	var failed error
	for _, kind := range kinds {
		bar := term.NewProgress(os.Stderr, "lab correctness "+kind.Name, false)
		config.Kind, config.OnStep, config.External = kind, term.Steps[report.Step](bar), nil
		if kind.External {
			config.External = c.External
		}
		result, err := correctness.Run(ctx, config)
		bar.Close()
		if err == nil || result.Any() {
			results = append(results, result)
		}
		if err != nil {
			failed = fmt.Errorf("%s: %w", kind.Name, err)
			break
		}
	}
	return c.finish(stdout, files, results, failed)
}

// correctnessFiles are what a run shall write: figures of all, all of one UPF, and pages.
type correctnessFiles struct {
	lab     cli.Outputs[*report.Lab]
	details cli.Outputs[*report.Correctness]
	pages   labFiles
}

func (c *correctnessCommand) openAll() (f correctnessFiles, err error) {
	if f.lab, err = cli.OpenOutputs(cli.To(c.JSON, report.WriteLab)); err != nil {
		return f, err
	}
	if f.details, err = cli.OpenOutputs(cli.To(c.Details, report.WriteCorrectness)); err != nil {
		return f, errors.Join(err, f.lab.Discard())
	}
	if f.pages, err = c.open(); err != nil {
		return f, errors.Join(err, f.lab.Discard(), f.details.Discard())
	}
	return f, nil
}

func (f *correctnessFiles) discard() error {
	return errors.Join(f.lab.Discard(), f.details.Discard(), f.pages.discard())
}

// finish prints and writes the results. failed is why there are no more: what there is of
// parts and UPFs before is worth to be shown, unless it is nothing.
func (c *correctnessCommand) finish(stdout io.Writer, f correctnessFiles, results []*report.Correctness, failed error) error {
	if failed != nil && len(results) == 0 {
		return errors.Join(failed, f.discard())
	}
	lab := report.CorrectnessLab(results, time.Now().UTC())
	if failed != nil {
		lab.Finished = nil
	}
	err := errors.Join(failed, f.details.Write(results[0]), f.lab.Write(lab), f.pages.write(lab))
	if c.JSON == "-" {
		return errors.Join(err, report.WriteLab(stdout, lab))
	}
	for _, r := range results {
		err = errors.Join(err, report.CorrectnessTable(stdout, r))
	}
	return err
}

// config turns the flags into what package correctness takes, without the UPF.
func (c *correctnessCommand) config() (correctness.Config, error) {
	version, commit := cli.Built()
	config := correctness.Config{
		Parts: c.Parts, Directions: c.Direction, Kbps: c.MBR, TCPKbps: c.TCPMBR, Duration: c.Duration, Repeats: c.Repeats,
		Host: host.Describe(version, commit, "plumb "+strings.Join(os.Args[1:], " ")),
	}
	if len(config.Parts) == 0 {
		config.Parts = correctness.Parts
	}
	if len(config.Kbps) == 0 {
		config.Kbps = correctness.DefaultKbps
	}
	if len(config.TCPKbps) == 0 {
		config.TCPKbps = correctness.DefaultTCPKbps
	}
	if err := config.Validate(); err != nil {
		return config, cli.Usage(err)
	}
	return config, nil
}
