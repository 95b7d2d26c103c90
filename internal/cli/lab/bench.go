package labcmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/internal/term"
	"github.com/plumbline-upf/plumbline/lab/dut"
	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/method"
	"github.com/plumbline-upf/plumbline/lab/n4bench"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/system"
	"github.com/plumbline-upf/plumbline/lab/tcp"
	"github.com/plumbline-upf/plumbline/lab/traffic"
	"github.com/plumbline-upf/plumbline/upf"
)

// Bench is plumb bench, a short name for methods of plumb lab with datapaths of ours.
type Bench struct {
	Datapath  []string       `default:"xdp" placeholder:"NAME" help:"Datapath of the UPF: xdp, tc, afxdp, tun, tap or p4. Several, or all: each has its turn in one run, and one table compares them. Default: xdp."`
	XDPMode   string         `name:"xdp-mode" default:"auto" enum:"auto,native,generic" help:"How XDP attaches: ${enum}."`
	Direction string         `default:"both" enum:"uplink,downlink,both" help:"Uplink is N3 to N6: ${enum}."`
	Sessions  []int          `placeholder:"N" help:"PFCP sessions; several numbers are measured one after the other. Default: 1; of several datapaths 1 and 100000."`
	Access    string         `default:"uniform" enum:"same,uniform,zipf" help:"Which session each frame belongs to: ${enum}."`
	Payload   []string       `placeholder:"OCTETS" help:"UDP payload of the user packets, any number of them, and imix. Default: 1400; of several datapaths 64, 512, 1400 and imix."`
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
	Resume    string         `placeholder:"FILE" type:"existingfile" help:"Continue a result that was interrupted (--json), with the same flags otherwise."`
	Plain     bool           `help:"Show lines as a log has them, and no live view, on a terminal as well."`
	JSON      string         `name:"json" placeholder:"FILE" help:"Write the result as JSON (plumbline.lab/1), after each turn; - is standard output."`

	labOutputs
}

// Help is shown by plumb bench --help.
func (Bench) Help() string {
	return `Measures how fast the UPF forwards, beside what the test bed can carry at all: builds gNB, UPF and data network as network namespaces, starts the UPF, establishes sessions over PFCP, and sends frames through it; bed and UPF take turns. Nothing leaves this machine, and nothing stays behind.

It is a short name for methods of plumb lab: share and latency of one datapath, throughput, latency and tcp of several. Results are those of plumb lab, and plumb lab report shows them.

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

// allDatapaths stands for all of them.
const allDatapaths = "all"

// Run measures, prints the table and writes the files.
func (c *Bench) Run(ctx context.Context, stdout io.Writer) error {
	several := len(c.Datapath) > 1
	if slices.Equal(c.Datapath, []string{allDatapaths}) {
		c.Datapath, several = dut.Datapaths, true
	}
	var methods []method.Method
	var err error
	if several {
		methods, err = c.several()
	} else {
		methods, err = c.one()
	}
	if err != nil {
		return err
	}
	run, err := c.run()
	if err != nil {
		return err
	}
	if c.N4 {
		return c.runN4(ctx, stdout)
	}
	return run.measure(ctx, stdout, "bench", nil, methods...)
}

// one is how one datapath is measured: at the highest rate, and for latency at a half of what
// was received, since at the highest rate a frame waits for the sender; or at a given rate.
func (c *Bench) one() ([]method.Method, error) {
	if err := c.checkOne(); err != nil {
		return nil, err
	}
	c.fillIn([]int{1}, []string{"1400"}, 5*time.Second, 3)
	share := method.Share{Load: c.Rate.level(), Duration: *c.Duration, Programs: true}
	if c.Rate > 0 {
		return []method.Method{share}, nil
	}
	return []method.Method{share, method.Latency{Loads: []method.Level{{Percent: 50}}, Duration: *c.Duration}}, nil
}

// several is how several are compared.
func (c *Bench) several() ([]method.Method, error) {
	if err := c.checkSeveral(); err != nil {
		return nil, err
	}
	payloads, duration, repeats := []string{"64", "512", "1400", imix}, time.Second, 3
	loads, connection, loss := []int{0, 10, 50, 90}, 5*time.Second, 0.1
	if c.Quick {
		payloads, duration, repeats = []string{"64", "1400"}, 300*time.Millisecond, 1
		loads, connection = []int{0, 50}, 2*time.Second
	}
	c.fillIn([]int{1, 100_000}, payloads, duration, repeats)
	if c.Load != nil {
		loads = c.Load
	}
	if c.TCP != nil {
		connection = *c.TCP
	}
	if c.Loss != nil {
		loss = *c.Loss
	}
	const maxLoss, maxTCP = 50, 10 * time.Minute
	switch {
	case !(loss >= 0 && loss <= maxLoss):
		return nil, cli.Usage(fmt.Errorf("loss of %g %%: want 0 to %d", loss, maxLoss))
	case connection < 0 || connection > maxTCP || connection%time.Second != 0:
		return nil, cli.Usage(fmt.Errorf("TCP for %v: want whole seconds, %v at most", connection, maxTCP))
	}
	latency := method.Latency{Duration: *c.Duration}
	for _, percent := range loads {
		if percent < 0 || percent > 100 {
			return nil, cli.Usage(fmt.Errorf("load of %d %%: want 0 to 100", percent))
		}
		latency.Loads = append(latency.Loads, method.Level{Percent: float64(percent)})
	}
	if err := once("load", loads); err != nil {
		return nil, err
	}
	methods := append(searchThroughput(lossRatio(loss/100), *c.Duration), latency)
	if connection > 0 && tcp.Available() == nil {
		methods = append(methods, method.TCP{Duration: connection})
	}
	return methods, nil
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

// Bounds of flags.
const (
	benchMaxSessions = 1<<22 - 1 // addresses in the UE pool, but for its own
	benchMaxPayload  = 3200      // what BPF_PROG_RUN takes as a live frame, with its headers
	benchMinDuration = 100 * time.Millisecond
)

// imix is the name of frames of several lengths.
const imix = "imix"

// run is the run of plumb lab that the flags ask for.
func (c *Bench) run() (*labRun, error) {
	frames, err := c.frames()
	if err != nil {
		return nil, err
	}
	rules := labRules{system.Rules{MBRKbps: c.MBR, URR: c.URR}}
	if c.PDRs > 1 {
		rules.PDRs = c.PDRs
	}
	run := &labRun{
		Sessions: c.Sessions, Frames: frames, Direction: []string{c.Direction}, Rules: []labRules{rules}, Access: c.Access,
		Duration: c.Duration, Repeat: c.Repeat, Plain: c.Plain, JSON: c.JSON, Resume: c.Resume, labOutputs: c.labOutputs,
		brief: true, threaded: c.Threaded, checksum: c.Checksum,
	}
	if c.Direction == "both" {
		run.Direction = []string{string(report.Uplink), string(report.Downlink)}
	}
	for _, n := range c.Sessions {
		if n < 1 || n > benchMaxSessions {
			return nil, cli.Usage(fmt.Errorf("--sessions %d: want 1 to %d", n, benchMaxSessions))
		}
	}
	switch {
	case c.PDRs < 1 || c.PDRs > system.MaxPDRs:
		return nil, cli.Usage(fmt.Errorf("--pdrs %d: want 1 to %d", c.PDRs, system.MaxPDRs))
	case *c.Duration < benchMinDuration:
		return nil, cli.Usage(fmt.Errorf("--duration %v: want %v to %v", *c.Duration, benchMinDuration, labMaxDuration))
	}
	if err := once("datapath", c.Datapath); err != nil {
		return nil, err
	}
	for _, name := range c.Datapath {
		if !slices.Contains(dut.Datapaths, name) {
			return nil, cli.Usage(fmt.Errorf("--datapath %s: want %s, or all", name, strings.Join(dut.Datapaths, ", ")))
		}
		kind := dut.Plumbline(name, func(u *upf.Config) {
			u.XDP.Mode, u.XDP.Spread = c.XDPMode, c.Spread
			u.TC.SuperPackets = name == upf.DatapathTC // package gnb takes them
		})
		kind.SuperPackets, kind.Version = name == upf.DatapathTC, ownVersion
		run.kinds = append(run.kinds, kind)
		run.DUT = append(run.DUT, name)
	}
	return run, run.validate()
}

// frames are the lengths of frames with the payloads.
func (c *Bench) frames() (frames []string, err error) {
	for _, payload := range c.Payload {
		if payload == imix {
			frames = append(frames, imix)
			continue
		}
		n, err := strconv.Atoi(payload)
		if err != nil || n < generator.StampOctets || n > benchMaxPayload {
			return nil, cli.Usage(fmt.Errorf("--payload %s: want %d to %d octets, or %s", payload, generator.StampOctets, benchMaxPayload, imix))
		}
		frames = append(frames, strconv.Itoa(traffic.FrameOctets(n, false)))
	}
	return frames, once("payload", c.Payload)
}

// frameRate is a number of frames per second; 0: as many as possible.
type frameRate uint64

func (r frameRate) level() method.Level { return method.Level{PPS: uint64(r), Max: r == 0} }

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
func (c *Bench) runN4(ctx context.Context, stdout io.Writer) error {
	files, err := cli.OpenOutputs(cli.To(c.JSON, report.WriteN4))
	if err != nil {
		return err
	}
	version, commit := cli.Built()
	bar := term.NewProgress(os.Stderr, "bench", false)
	result, err := n4bench.Run(ctx, n4bench.Config{
		XDPMode: c.XDPMode, Sessions: slices.Sorted(slices.Values(c.Sessions)), Duration: *c.Duration, Rate: n4OpenRate,
		CommandLine: "plumb " + strings.Join(os.Args[1:], " "), Version: version, Commit: commit, OnStep: term.Steps[report.Step](bar),
	})
	bar.Close()
	show := report.N4Table
	if c.JSON == "-" {
		show = report.WriteN4
	}
	return cli.Finish(stdout, files, result, show, err)
}
