package labcmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/internal/term"
	"github.com/plumbline-upf/plumbline/lab/bench"
	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/method"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/system"
)

// Bench is plumb bench: the UPF beside the limit of the test bed.
type Bench struct {
	Datapath  []string       `default:"xdp" placeholder:"NAME" help:"Datapath of the UPF: xdp, tc, afxdp, tun, tap or p4. Several, or all: each has its turn in one run, and one table compares them. Default: xdp."`
	XDPMode   string         `name:"xdp-mode" default:"auto" enum:"auto,native,generic" help:"How XDP attaches: ${enum}."`
	Direction string         `default:"both" enum:"uplink,downlink,both" help:"Uplink is N3 to N6: ${enum}."`
	Sessions  []int          `placeholder:"N" help:"PFCP sessions; several numbers are measured one after the other. Default: 1; of several datapaths 1 and 100000."`
	Access    string         `default:"uniform" enum:"same,uniform,zipf" help:"Which session each frame belongs to: ${enum}."`
	Payload   []string       `placeholder:"OCTETS" help:"UDP payload of the user packets. Default: 1400. Of several datapaths any number of them, and imix: 64, 512, 1400 and imix."`
	Rate      frameRate      `default:"max" placeholder:"RATE" help:"Frames per second, such as 900kpps, 1.5Mpps or max. Default: max."`
	Duration  *time.Duration `placeholder:"TIME" help:"Of each trial. Default: 5s; of several datapaths 1s."`
	Repeat    *int           `placeholder:"N" help:"Trials of each kind, bed and UPF in turn. Default: 3."`
	Threaded  bool           `help:"Let the UPF's devices receive in threads of their own (threaded NAPI), so that it can be overloaded."`
	Spread    []int          `placeholder:"CPU" help:"Let the UPF spread packets over these CPUs (xdp.spread). The generator has the highest one. Default: none."`
	PDRs      int            `name:"pdrs" default:"1" placeholder:"N" help:"PDRs of a session in each direction; frames match the last one, all others have an SDF filter. Default: 1."`
	MBR       uint64         `name:"mbr" placeholder:"KBPS" help:"MBR of the QER, in both directions. Default: none."`
	URR       bool           `name:"urr" help:"A URR with a volume threshold for all PDRs."`
	Load      []int          `placeholder:"PERCENT" help:"Latency of several datapaths at these parts of the throughput of each; 0 is idle. Default: 0, 10, 50 and 90."`
	Loss      *float64       `placeholder:"PERCENT" help:"Throughput of several datapaths: the highest rate that loses no more. Default: 0.1."`
	TCP       *time.Duration `name:"tcp" placeholder:"TIME" help:"Of each TCP trial of several datapaths (iperf3), in whole seconds; 0s: none. Default: 5s."`
	Checksum  bool           `name:"outer-checksum" help:"Uplink frames have an outer UDP checksum. Default: none, as most gNBs."`
	Quick     bool           `help:"Compare several datapaths in minutes: fewer payloads and loads, short trials, once each."`
	N4        bool           `name:"n4" help:"Measure the control plane instead: sessions established and modified per second, response times, with 1, 2 cores and a store."`
	JSON      string         `name:"json" placeholder:"FILE" help:"Write the result as JSON (plumbline.result/1); - is standard output."`
	SVG       string         `name:"svg" placeholder:"FILE" help:"Write the plot of several datapaths."`
	HTML      string         `name:"html" placeholder:"FILE" help:"Write the result as a page with plots that loads nothing else."`
}

// Help is shown by plumb bench --help.
func (Bench) Help() string {
	return `Measures how fast the UPF forwards, beside what the test bed can carry at all: builds gNB, UPF and data network as network namespaces, starts the UPF, establishes sessions over PFCP, and sends frames through it; bed and UPF take turns. Nothing leaves this machine, and nothing stays behind.

Needs root. Anything else that runs meanwhile is in the figures.

Examples:

    plumb bench
    plumb bench --sessions 1,100000 --html result.html --json result.json
    plumb bench --direction uplink --rate 900kpps --duration 60s --repeat 1
    plumb bench --payload 64 --access zipf --sessions 10000
    plumb bench --sessions 1,100000 --mbr 100000000 --urr
    plumb bench --pdrs 16
    plumb bench --datapath all --html result.html --json result.json
    plumb bench --datapath xdp,tun --quick
    plumb bench --n4 --sessions 1000,100000,1000000
`
}

// Run measures, prints the table and writes the files.
func (c *Bench) Run(ctx context.Context, stdout io.Writer) error {
	if datapaths, several := c.several(); several {
		return c.runCompare(ctx, stdout, datapaths)
	}
	if err := c.checkOne(); err != nil {
		return err
	}
	c.fillIn([]int{1}, []string{"1400"}, 5*time.Second, 3)
	config, err := c.config()
	if err != nil {
		return err
	}
	if c.N4 {
		return c.runN4(ctx, stdout, &config)
	}
	outputs, err := c.open()
	if err != nil {
		return err
	}
	bar := term.NewProgress(os.Stderr, "bench", false)
	config.OnStep = term.Steps[report.Step](bar)
	result, err := bench.Run(ctx, config)
	bar.Close()
	show := report.Table
	if c.JSON == "-" {
		show = report.Write
	}
	return cli.Finish(stdout, outputs, result, show, err)
}

// fillIn gives flags that are not there their default, which depends on what is
// measured.
func (c *Bench) fillIn(sessions []int, payload []string, duration time.Duration, repeat int) {
	if c.Sessions == nil {
		c.Sessions = sessions
	}
	if c.Payload == nil {
		c.Payload = payload
	}
	if c.Duration == nil {
		c.Duration = &duration
	}
	if c.Repeat == nil {
		c.Repeat = &repeat
	}
}

// config turns the flags into what package bench takes.
func (c *Bench) config() (bench.Config, error) {
	config, err := c.common()
	if err != nil {
		return config, err
	}
	payload, err := bench.ParsePayload(c.Payload[0])
	if err != nil || len(payload) > 1 || len(c.Payload) > 1 {
		return config, cli.Usage(fmt.Errorf("--payload %s: want %d to %d octets, one number unless there are several datapaths",
			strings.Join(c.Payload, ","), generator.StampOctets, bench.MaxPayloadOctets))
	}
	config.Datapath, config.PayloadOctets = c.Datapath[0], payload[0]
	config.RatePPS, config.Threaded, config.Spread = uint64(c.Rate), c.Threaded, c.Spread
	return config, nil
}

// common is what one and several datapaths take alike.
func (c *Bench) common() (bench.Config, error) {
	access, err := generator.ParseAccess(c.Access)
	if err != nil {
		return bench.Config{}, err
	}
	for _, n := range c.Sessions {
		if n < 1 || n > bench.MaxSessions {
			return bench.Config{}, cli.Usage(fmt.Errorf("--sessions %d: want 1 to %d", n, bench.MaxSessions))
		}
	}
	for _, name := range c.Datapath {
		if !slices.Contains(datapaths, name) {
			return bench.Config{}, cli.Usage(fmt.Errorf("--datapath %s: want %s, or all", name, strings.Join(datapaths, ", ")))
		}
	}
	switch {
	case c.PDRs < 1 || c.PDRs > system.MaxPDRs:
		return bench.Config{}, cli.Usage(fmt.Errorf("--pdrs %d: want 1 to %d", c.PDRs, system.MaxPDRs))
	case *c.Repeat < 1 || *c.Repeat > bench.MaxRepeats:
		return bench.Config{}, cli.Usage(fmt.Errorf("--repeat %d: want 1 to %d", *c.Repeat, bench.MaxRepeats))
	case *c.Duration < bench.MinDuration || *c.Duration > bench.MaxDuration:
		return bench.Config{}, cli.Usage(fmt.Errorf("--duration %v: want %v to %v", *c.Duration, bench.MinDuration, bench.MaxDuration))
	}
	directions := report.Directions
	if c.Direction != "both" {
		directions = []report.Direction{report.Direction(c.Direction)}
	}
	version, commit := cli.Built()
	return bench.Config{
		XDPMode: c.XDPMode, Directions: directions, Sessions: c.Sessions, Access: access, OuterChecksum: c.Checksum,
		Duration: *c.Duration, Repeats: *c.Repeat, Rules: system.Rules{PDRs: c.PDRs, MBRKbps: c.MBR, URR: c.URR},
		CommandLine: "plumb " + strings.Join(os.Args[1:], " "), Version: version, Commit: commit,
	}, nil
}

func (c *Bench) open() (cli.Outputs[*report.Result], error) {
	return cli.OpenOutputs(cli.To(c.JSON, report.Write), cli.To(c.HTML, report.HTML))
}

// frameRate is a number of frames per second; 0: as many as possible.
type frameRate uint64

// UnmarshalText takes max, or a number with pps, kpps or Mpps.
func (r *frameRate) UnmarshalText(text []byte) error {
	if string(text) == "max" {
		*r = 0
		return nil
	}
	pps, err := method.ParseRate(string(text))
	if err != nil {
		return fmt.Errorf("%q: want max or a rate from 1pps to 1000Mpps, such as 900kpps", text)
	}
	*r = frameRate(pps)
	return nil
}

// n4OpenRate is requests per second of the open loops.
const n4OpenRate = 10_000

// runN4 is plumb bench --n4.
func (c *Bench) runN4(ctx context.Context, stdout io.Writer, config *bench.Config) error {
	files, err := cli.OpenOutputs(cli.To(c.JSON, report.WriteN4))
	if err != nil {
		return err
	}
	bar := term.NewProgress(os.Stderr, "bench", false)
	result, err := bench.N4(ctx, bench.N4Config{
		XDPMode: config.XDPMode, Sessions: slices.Sorted(slices.Values(config.Sessions)), Duration: config.Duration, Rate: n4OpenRate,
		CommandLine: config.CommandLine, Version: config.Version, Commit: config.Commit, OnStep: term.Steps[report.Step](bar),
	})
	bar.Close()
	show := report.N4Table
	if c.JSON == "-" {
		show = report.WriteN4
	}
	return cli.Finish(stdout, files, result, show, err)
}
