package labcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/internal/term"
	"github.com/plumbline-upf/plumbline/lab/apps"
	"github.com/plumbline-upf/plumbline/lab/dut"
	"github.com/plumbline-upf/plumbline/lab/host"
	"github.com/plumbline-upf/plumbline/lab/report"
	experiment "github.com/plumbline-upf/plumbline/lab/slices"
	"github.com/plumbline-upf/plumbline/lab/system"
	"github.com/plumbline-upf/plumbline/lab/topology"
	"github.com/plumbline-upf/plumbline/upf"
)

// Slices is plumb slices: how long packets of three slices stay in UPFs while real programs use them.
type Slices struct {
	DUT       []string           `name:"dut" default:"tun,xdp" placeholder:"NAME" help:"What to measure, in turn: xdp, tc, afxdp, tun, tap, p4 (our UPF with that datapath), others by name or as name=/path/to/program, external, or all: all of ours and whatever else is installed. Default: tun,xdp."`
	External  *topology.External `placeholder:"PLACE" help:"Where --dut external is: n3=DEV@ADDR,n6=DEV@ADDR,n4=ADDR,ue=PREFIX, devices of this machine and addresses of the UPF behind them."`
	One       bool               `help:"One UPF for all slices, not one for each."`
	Load      []slicesLoad       `default:"light,medium,heavy" placeholder:"LOAD" help:"light, medium, heavy (5, 20, 50 Mbit/s and 2, 4, 8 calls a second), or percent of the throughput, which is searched, such as 50%. Default: light,medium,heavy."`
	Direction string             `default:"both" enum:"uplink,downlink,both" help:"Which way iperf3 sends: ${enum}. Calls and downloads have both anyway."`
	Duration  time.Duration      `default:"10s" help:"How long packets are watched in each cell; the published study has 600s."`
	WarmUp    time.Duration      `default:"2s" placeholder:"TIME" help:"Of the programs, before packets are watched. Default: 2s."`
	Timeout   time.Duration      `default:"1s" placeholder:"TIME" help:"A packet that is in a UPF for longer is lost. Default: 1s."`
	Repeat    int                `default:"1" placeholder:"N" help:"Turns of each UPF at each load; from 2 on figures have intervals. Default: 1."`
	Modify    float64            `default:"10" placeholder:"RATE" help:"PFCP Session Modification Requests to each UPF per second meanwhile, of sessions without packets; 0: none. Default: 10."`
	Limit     upf.BitRate        `placeholder:"RATE" help:"Of each download at most, such as 20Mbit/s; without it, as fast as it goes."`
	Sample    uint32             `placeholder:"N" help:"One packet of so many is in samples.parquet or samples.csv. Default: 10 with --parquet or --csv."`
	Plain     bool               `help:"Show lines as a log has them, on a terminal as well."`

	JSON    string `name:"json" placeholder:"FILE" help:"Write the result as JSON (plumbline.slices/1), after each cell; - is standard output."`
	HTML    string `name:"html" placeholder:"FILE" help:"Write the report: one page with charts and tables that loads nothing else."`
	SVG     string `name:"svg" placeholder:"FILE" help:"Write the charts as one picture."`
	PNG     string `name:"png" placeholder:"FILE" help:"Write the same picture in pixels."`
	CSV     string `name:"csv" placeholder:"DIR" help:"Write delays, histograms, PFCP, the programs' figures and samples as CSV, a file each."`
	Parquet string `name:"parquet" placeholder:"DIR" help:"Write the same as Parquet."`
}

// Help is shown by plumb slices --help.
func (Slices) Help() string {
	return `Measures how long packets of three slices stay in a UPF, both ways, while real programs use them: eMBB iperf3, URLLC SIPp calls with RTP, mMTC downloads by curl from nginx. Each slice has a UPF of its own; with --one one UPF has all. Sessions of others are modified over PFCP meanwhile.

It prints the two tables of a published study with its own figures beside. It builds test beds of network namespaces, and needs root, iperf3, sipp, curl and nginx.

Examples:

    plumb slices
    plumb slices --dut tun,xdp,eupf=/opt/eupf,open5gs-tun --html slices.html
    plumb slices --duration 600s --repeat 5 --json r.json --parquet data
    plumb slices --one --load 20%,50%,80% --modify 200
`
}

// defaultSample is one packet of so many, if samples are wanted.
const defaultSample = 10

// Run measures, prints the tables and writes the files.
func (c *Slices) Run(ctx context.Context, stdout io.Writer) error {
	config, err := c.config()
	if err != nil {
		return err
	}
	if err := cli.CheckOutputs(c.JSON); err != nil {
		return err
	}
	if err := cli.NeedsRoot("slices"); err != nil {
		return err
	}
	if err := apps.Needs(); err != nil {
		return cli.Unsupported(fmt.Errorf("slices: %w", err))
	}
	files, err := cli.OpenOutputs(cli.To(c.HTML, report.SlicesHTML), cli.To(c.SVG, report.SlicesSVG),
		cli.To(c.PNG, report.SlicesPNG))
	if err != nil {
		return err
	}
	samples, err := c.samples()
	if err != nil {
		return errors.Join(err, files.Discard())
	}
	if samples != nil {
		config.SampleEvery, config.Sample = c.Sample, samples.Add
	}
	bar := term.NewProgress(os.Stderr, "slices", c.Plain)
	config.OnStep, config.OnDetail = term.Steps[report.Step](bar), bar.Tell
	result, err := experiment.Run(ctx, config)
	bar.Close()
	if err != nil {
		err = system.Explain(ctx, err)
	}
	if result == nil || len(result.Cells) == 0 {
		return errors.Join(err, files.Discard(), discardSamples(samples))
	}
	return errors.Join(c.finish(stdout, result, files, samples), err)
}

// config turns the flags into what package slices takes.
func (c *Slices) config() (experiment.Config, error) {
	version, commit := cli.Built()
	config := experiment.Config{
		Name: "plumb-slices", External: c.External, One: c.One, Repeats: c.Repeat, Duration: c.Duration, WarmUp: c.WarmUp, Timeout: c.Timeout,
		Uplink: c.Direction != string(report.Downlink), Downlink: c.Direction != string(report.Uplink), ModifyRate: c.Modify,
		DownloadBPS: uint64(c.Limit), Host: host.Describe(version, commit, "plumb "+strings.Join(os.Args[1:], " ")),
	}
	for _, l := range c.Load {
		config.Loads = append(config.Loads, l.Load)
	}
	if c.JSON != "-" {
		config.File = c.JSON
	}
	if c.Sample == 0 && (c.CSV != "" || c.Parquet != "") {
		c.Sample = defaultSample
	}
	var err error
	if config.Kinds, err = kindsOf(c.DUT, c.External); err != nil {
		return config, err
	}
	if slices.ContainsFunc(config.Kinds, func(k dut.Kind) bool { return k.External }) && len(config.Kinds) > 1 {
		return config, cli.Usage(errors.New("--dut external is measured alone"))
	}
	if err := config.Validate(); err != nil {
		return config, cli.Usage(err)
	}
	return config, nil
}

// samples makes the files of the data set; nil: it is not wanted.
func (c *Slices) samples() (*report.SliceSamples, error) {
	directories := map[string]string{}
	for extension, directory := range map[string]string{".csv": c.CSV, ".parquet": c.Parquet} {
		if directory == "" {
			continue
		}
		if err := cli.MakeDirectory(directory); err != nil {
			return nil, err
		}
		directories[extension] = directory
	}
	if len(directories) == 0 {
		return nil, nil
	}
	return report.NewSliceSamples(directories)
}

func discardSamples(s *report.SliceSamples) error {
	if s == nil {
		return nil
	}
	return s.Discard()
}

// finish prints and writes the result.
func (c *Slices) finish(stdout io.Writer, result *report.Slices, files cli.Outputs[*report.Slices], samples *report.SliceSamples) error {
	show := report.SlicesTable
	if c.JSON == "-" {
		show = report.WriteSlices
	}
	errs := []error{show(stdout, result), files.Write(result)}
	if samples != nil {
		errs = append(errs, samples.Close())
	}
	if c.CSV != "" {
		errs = append(errs, report.SlicesCSV(c.CSV, result))
	}
	if c.Parquet != "" {
		errs = append(errs, report.SlicesParquet(c.Parquet, result))
	}
	return errors.Join(errs...)
}

// slicesLoad is a load, as flags say it.
type slicesLoad struct{ experiment.Load }

// UnmarshalText takes light, medium, heavy and percentages.
func (l *slicesLoad) UnmarshalText(text []byte) (err error) {
	l.Load, err = experiment.ParseLoad(string(text))
	return err
}
