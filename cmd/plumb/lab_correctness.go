package main

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"plumbline/lab/correctness"
	"plumbline/lab/host"
	"plumbline/lab/report"
	"plumbline/upf"
)

type labCorrectnessCommand struct {
	Parts []correctness.Part `arg:"" optional:"" name:"part" help:"What to measure: rate, tcp, usage, effect, buffer. Default: all of them."`

	Datapath  string             `default:"xdp" help:"Datapath of the UPF. Default: xdp."`
	Direction []report.Direction `default:"uplink,downlink" placeholder:"WAY" help:"uplink, downlink or both. Default: both."`
	MBR       []uint64           `name:"mbr" placeholder:"KBPS" help:"MBRs for frames. Default: 18 from 64 kbit/s to 10 Gbit/s."`
	TCPMBR    []uint64           `name:"tcp-mbr" placeholder:"KBPS" help:"MBRs for TCP. Default: 8 from 1 to 1500 Mbit/s."`
	Duration  time.Duration      `default:"3s" help:"Of each measurement of a rate or of usage; longer where packets are few. Default: 3s."`
	Repeats   int                `default:"20" placeholder:"N" help:"Of each change of a rule. Default: 20."`
	Binary    string             `placeholder:"FILE" help:"The plumb that is the UPF. Default: this one."`
	JSON      string             `name:"json" placeholder:"FILE" help:"Write the result as JSON (plumbline.correctness/1); - is standard output."`
}

// Help is shown by plumb lab correctness --help.
func (labCorrectnessCommand) Help() string {
	return `Builds a test bed of network namespaces, runs a UPF in it, and measures how far it is from what its rules say:

    rate     what passes of frames at each MBR, beside what was asked
    tcp      the same with TCP of iperf3 from a UE, or to it
    usage    octets in Usage Reports beside what arrived; how far a threshold was passed when it was reported, and a quota by what was forwarded
    effect   packets that the old rule still treated after the response to a modification; loss, gap and End Marker of a path switch
    buffer   time to the Downlink Data Report; packets lost or out of order when a buffer is released under traffic

All of it is said over PFCP and seen on N3 and N6. It needs root.

Examples:

    plumb lab correctness
    plumb lab correctness rate --mbr 64,20000,600000 --duration 10s
    plumb lab correctness effect buffer --repeats 200 --json r.json
`
}

// Run measures, prints the table and writes the file.
func (c *labCorrectnessCommand) Run(ctx context.Context, stdout io.Writer) error {
	info, _ := debug.ReadBuildInfo()
	version, commit := builtFrom(info, commit)
	config := correctness.Config{
		Binary: c.Binary, Datapath: c.Datapath, Parts: c.Parts, Directions: c.Direction, Kbps: c.MBR, TCPKbps: c.TCPMBR,
		Duration: c.Duration, Repeats: c.Repeats,
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
	if c.Datapath != upf.DatapathXDP {
		return usageError{errors.New("--datapath " + c.Datapath + ": want " + upf.DatapathXDP)}
	}
	if err := config.Validate(); err != nil {
		return usageError{err}
	}
	file, err := openOutputs(output[*report.Correctness]{c.JSON, report.WriteCorrectness})
	if err != nil {
		return err
	}
	bar := newProgress(os.Stderr, "lab correctness")
	config.OnStep = bar.step
	result, err := correctness.Run(ctx, config)
	bar.close()
	if err != nil {
		return errors.Join(err, file.discard())
	}
	err = file.write(result)
	if c.JSON == "-" {
		return errors.Join(err, report.WriteCorrectness(stdout, result))
	}
	return errors.Join(err, report.CorrectnessTable(stdout, result))
}
