package labcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/internal/term"
	"github.com/plumbline-upf/plumbline/lab/host"
	"github.com/plumbline-upf/plumbline/lab/n4load"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/pfcp"
)

type n4Command struct {
	UPF string `arg:"" optional:"" name:"upf" placeholder:"ADDRESS[:PORT]" help:"N4 of the UP function; the port is 8805 by default."`

	labN4DUT `embed:""`

	Rate      []float64     `placeholder:"N" help:"Requests per second in an open loop; several are done one after the other."`
	Steps     n4Steps       `placeholder:"FROM:TO:BY" help:"The same as --rate FROM,FROM+BY,... up to TO."`
	Ramp      n4Ramp        `placeholder:"FROM:TO" help:"Requests per second that change evenly from one to the other in the duration; response times are told for ten parts of it."`
	P99       time.Duration `name:"p99" placeholder:"TIME" help:"Search for the highest rate at which 99 of 100 requests are accepted in that time."`
	P99Limit  float64       `name:"p99-most" placeholder:"N" help:"The highest rate that the search tries. Default: twice that of a closed loop."`
	P99Time   time.Duration `name:"p99-time" placeholder:"TIME" help:"How long the search may take. Default: until it is done."`
	Window    []int         `placeholder:"N" help:"Requests in flight in a closed loop, for the highest rate; several are done one after the other. Default, without --rate: 32."`
	Operation n4Operation   `default:"1:8:1" placeholder:"OP" help:"establish, modify, delete, or shares of the three; with --dut also idle-active: all sessions go idle, and come back one by one as downlink data comes, --rate of them per second. Default: 1:8:1."`
	Arrival   n4Arrival     `default:"constant" placeholder:"HOW" help:"constant, poisson, or burst:N for N requests at once. Default: constant."`
	Sessions  int           `default:"1000" placeholder:"N" help:"Sessions that are held when the load begins. Default: 1000."`
	Duration  time.Duration `default:"10s" help:"Of each load, as far as it is measured."`
	WarmUp    time.Duration `default:"1s" help:"Before it, not measured."`

	Local    []netip.Addr  `placeholder:"ADDR" help:"Addresses of CP functions; UP functions send their requests to port 8805 there. Default: the one from which the UPF is reached, or 127.0.0.2."`
	CPs      int           `name:"cps" placeholder:"N" help:"CP functions, spread over the addresses; the first one at each has port 8805. Default: one for each address."`
	T1       time.Duration `name:"t1" default:"1s" help:"Until a request is repeated."`
	N1       int           `name:"n1" default:"4" placeholder:"N" help:"How often it is sent in all. Default: 4."`
	InFlight int           `default:"8192" placeholder:"N" help:"Requests in flight of one CP function in an open loop, at most. Default: 8192."`
	Threads  int           `default:"1" placeholder:"N" help:"Threads of the generator, each with its share of the CP functions. Default: 1."`
	CPU      []int         `name:"cpu" placeholder:"N" help:"CPUs that the threads may run on. Default: any."`
	Spin     time.Duration `default:"100us" help:"How long before a request is due to poll instead of sleeping: as long as waking may take."`
	Seed     uint64        `default:"1" help:"Of what happens at random."`

	Shape labN4Shape `embed:""`

	Keep bool   `help:"Keep sessions and associations at the end."`
	JSON string `name:"json" placeholder:"FILE" help:"Write the result of one UP function as JSON (plumbline.n4/1); - is standard output."`
	Lab  string `placeholder:"FILE" help:"Write the result as JSON that plumb lab report and plumb lab compare take (plumbline.lab/1); with --dut after each turn."`
	Hgrm string `name:"hgrm" placeholder:"FILE" help:"Write the response times of the last load as a percentile distribution of HdrHistogram, in microseconds."`
}

// Help is shown by plumb lab n4 --help.
func (n4Command) Help() string {
	return `Is one or more CP functions: associates with the UP function, establishes sessions, then puts a load on it and measures how long each request takes, and deletes the sessions. With --rate the send times are fixed beforehand, whatever is answered (open loop), and response times count from them; with --window the next request waits for a response (closed loop): that finds the highest rate.

--p99 searches for the highest rate whose 99th percentile of the response times is below a limit (MLRsearch): the figure that UP functions can be compared by.

With --dut it starts UP functions in test beds of its own, in turn, and in the end sends a frame of each session: those that should stand must be forwarded, those that were deleted must not. That needs root.

Run it against a UP function of your own, in a network of your own: it is a load, and its sessions have no UEs.

Examples:

    plumb lab n4 10.0.0.1 --rate 10000
    plumb lab n4 10.0.0.1 --window 1,8,64,512 --operation modify \
        --sessions 100000
    plumb lab n4 10.0.0.1 --rate 5000,10000,20000 --arrival poisson \
        --duration 60s --json r.json
    plumb lab n4 10.0.0.1 --rate 20000 --arrival burst:500 \
        --local 10.0.0.2,10.0.0.3 --cps 8
    plumb lab n4 10.0.0.1 --ramp 1000:50000 --duration 60s
    plumb lab n4 --dut xdp,eupf,open5gs-tun --p99 5ms --operation 1:0:1 \
        --repeat 3 --lab r.json
    plumb lab n4 --dut xdp,free5gc --operation idle-active --rate 100,1000 \
        --sessions 5000
`
}

// Run fills, loads, drains, prints the table and writes the files.
func (c *n4Command) Run(ctx context.Context, stdout io.Writer) error {
	if err := c.one(); err != nil {
		return err
	}
	if c.UPF == "" {
		return c.takeTurns(ctx, stdout)
	}
	run, err := c.prepare()
	if err != nil {
		return err
	}
	files, err := c.open()
	if err != nil {
		return err
	}
	bar := term.NewProgress(os.Stderr, "lab n4", false)
	run.OnStep = term.Steps[report.Step](bar)
	run.OnProgress = func(p n4load.Progress) {
		bar.Tell(fmt.Sprintf("%d answered, %d in flight, %d failed", p.Accepted, p.InFlight, p.Failed))
	}
	result, err := run.Do(ctx)
	bar.Close()
	if !result.Any() {
		return errors.Join(err, files.Discard())
	}
	outputs := []error{err, files.Write(result)} // what there is, if the UPF has ended or somebody the run
	if c.JSON == "-" {
		outputs = append(outputs, report.WriteN4(stdout, result.N4Result))
	} else {
		outputs = append(outputs, report.N4Table(stdout, result.N4Result))
	}
	return errors.Join(outputs...)
}

// prepare turns the flags into what package n4load takes.
func (c *n4Command) prepare() (*n4load.Campaign, error) {
	remote, err := parseUPF(c.UPF)
	if err != nil {
		return nil, cli.Usage(err)
	}
	local := c.Local
	if len(local) == 0 {
		own, err := cpAddress(remote.Addr())
		if err != nil {
			return nil, err
		}
		local = []netip.Addr{own}
	}
	template, err := c.Shape.template()
	if err != nil {
		return nil, cli.Usage(err)
	}
	version, commit := cli.Built()
	run := &n4load.Campaign{
		Remote: remote, Local: local, CPs: c.CPs, T1: c.T1, N1: c.N1, InFlight: c.InFlight, Threads: c.Threads,
		Options: n4load.Options{Spin: c.Spin, CPUs: c.CPU}, Template: template, Sessions: c.Sessions, Keep: c.Keep,
		Shape: c.Shape.String(),
		Host: func() report.Host {
			return host.Describe(version, commit, "plumb "+strings.Join(os.Args[1:], " "))
		},
	}
	c.loads(run)
	if err := run.Validate(); err != nil {
		return nil, cli.Usage(err)
	}
	return run, nil
}

// one says whether there is one UP function that is there already, or some to start.
func (c *n4Command) one() error {
	switch {
	case c.UPF == "" && len(c.DUT) == 0:
		return cli.Usage(errors.New("want the address of a UP function, or --dut"))
	case c.UPF != "" && c.labN4DUT.given():
		return cli.Usage(fmt.Errorf("%s is there already: --dut, --external, --repeat and --resume are for those that are started, or known, by name", c.UPF))
	case c.UPF == "" && (len(c.Local) > 0 || c.Keep || c.JSON != "" || c.Hgrm != ""):
		return cli.Usage(errors.New("--local, --keep, --json and --hgrm are for the address of a UP function: with --dut write --lab FILE"))
	case c.Operation.idle && c.UPF != "":
		return cli.Usage(errors.New("--operation idle-active sends downlink data: want --dut, that the other end of N6 is here"))
	case c.Operation.idle && (c.Ramp != (n4Ramp{}) || c.P99 != 0 || len(c.Window) > 0):
		return cli.Usage(errors.New("--operation idle-active: want --rate or --steps: --ramp, --window and --p99 are for the other operations"))
	}
	return nil
}

// loads adds what the flags say to the campaign.
func (c *n4Command) loads(run *n4load.Campaign) {
	load := n4load.Load{Shares: c.Operation.shares, Arrival: c.Arrival.arrival, Burst: c.Arrival.burst,
		WarmUp: c.WarmUp, Duration: c.Duration, Seed: c.Seed}
	for _, rate := range append(slices.Clone(c.Rate), c.Steps...) {
		load.Rate = rate
		run.Loads = append(run.Loads, load)
	}
	if c.Ramp != (n4Ramp{}) {
		load.Rate, load.RateTo = c.Ramp.from, c.Ramp.to
		run.Loads = append(run.Loads, load)
	}
	load.Rate, load.RateTo = 0, 0
	if len(run.Loads) == 0 && len(c.Window) == 0 && c.P99 == 0 {
		c.Window = []int{n4load.DefaultWindow}
	}
	for _, window := range c.Window {
		load.Window = window
		run.Loads = append(run.Loads, load)
	}
	if c.P99 != 0 {
		load.Rate, load.Window = c.P99Limit, n4SearchWindow
		run.Searches = append(run.Searches, n4load.Search{Load: load, Within: c.P99, Budget: c.P99Time})
	}
}

// n4SearchWindow is requests in flight of the closed loop that says where to search.
const n4SearchWindow = 64

// open opens the files before the run, so that a name that cannot be written
// costs no measurement.
func (c *n4Command) open() (cli.Outputs[*n4load.CampaignResult], error) {
	type result = *n4load.CampaignResult
	return cli.OpenOutputs(
		cli.To(c.JSON, func(w io.Writer, r result) error { return report.WriteN4(w, r.N4Result) }),
		cli.To(c.Hgrm, func(w io.Writer, r result) error { return r.WriteHgrm(w) }),
		cli.To(c.Lab, func(w io.Writer, r result) error { return report.WriteLab(w, r.Lab("UPF "+c.UPF)) }),
	)
}

// parseUPF reads an address with or without a port.
func parseUPF(s string) (netip.AddrPort, error) {
	if a, err := netip.ParseAddr(s); err == nil {
		return netip.AddrPortFrom(a, pfcp.Port), nil
	}
	a, err := netip.ParseAddrPort(s)
	if err != nil {
		return a, fmt.Errorf("%q: want an address, or address:port", s)
	}
	return a, nil
}

// cpAddress returns the address of this host that a CP function has if none is
// given: the one that the UPF is reached from, unless that is the UPF's own.
func cpAddress(upf netip.Addr) (netip.Addr, error) {
	if upf.IsLoopback() {
		return netip.AddrFrom4([4]byte{127, 0, 0, 2}), nil
	}
	a, err := n4load.LocalFor(upf)
	if err == nil && a == upf {
		return a, cli.Usage(fmt.Errorf("the UPF %s is on this host: give the CP function another address with --local", upf))
	}
	return a, err
}
