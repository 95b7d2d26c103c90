// Package probecmd has plumb probe and the commands below it: flags, the probe as a process, what
// is shown of it on a terminal, and the files in which its result is wanted.
package probecmd

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/probe"
	"github.com/plumbline-upf/plumbline/probe/find"
)

// Probe is plumb probe: how long the packets of each slice stay in UPFs that run here.
type Probe struct {
	Run     runCommand     `cmd:"" default:"withargs" help:"Measure how long each slice's packets stay in UPFs that run on this machine (the default)."`
	Report  reportCommand  `cmd:"" help:"Show a result of plumb probe again, as a table, a page, a picture or histograms."`
	Rematch rematchCommand `cmd:"" help:"Judge a trace whose events do not say which packet they are about: how ambiguous are published data?"`
}

// Help is shown by plumb probe --help.
func (Probe) Help() string {
	return `Flags without a command are those of plumb probe run.

Examples:

    plumb probe --auto
    plumb probe run --help
    plumb probe report probe.json --html probe.html
`
}

// selection is the flags that say which UPFs.
type selection struct {
	Auto      bool   `help:"Every UPF that runs here, also those that start later."`
	PID       int    `name:"pid" placeholder:"PID" help:"The UPF with this process."`
	Netns     string `placeholder:"NAMESPACE" help:"The UPF in this network namespace: its path, name, or inode number."`
	Container string `placeholder:"NAME" help:"The UPF in this container of Docker, Podman, containerd, Incus or LXC: name or id."`
	Pod       string `placeholder:"POD" help:"The UPF in this pod: NAMESPACE/NAME."`
	Iface     []face `name:"iface" placeholder:"DEVICE[=SIDE]" help:"A UPF behind these devices of this namespace (or that of --netns), SIDE n3, n6 or both. Default: both."`
	HostWide  bool   `name:"host-wide" help:"Stand where the kernel receives and sends packets of all namespaces (tp_btf), not at each device: nothing is attached to any."`
}

// face is a device and what it carries.
type face find.Device

// UnmarshalText takes DEVICE or DEVICE=SIDE.
func (f *face) UnmarshalText(text []byte) error {
	name, side, _ := strings.Cut(string(text), "=")
	sides := map[string]probe.Side{"": probe.Both, "both": probe.Both, "n3": probe.N3, "n6": probe.N6}
	s, ok := sides[strings.ToLower(side)]
	if !ok || name == "" {
		return fmt.Errorf("%q: want DEVICE, or DEVICE=n3, DEVICE=n6, DEVICE=both", text)
	}
	*f = face{Name: name, Side: s}
	return nil
}

// selector checks that there is something to go by. What is given must all hold.
func (s *selection) selector() (find.Selector, error) {
	selector := find.Selector{Auto: s.Auto, PID: s.PID, Netns: s.Netns, Container: s.Container, Pod: s.Pod, HostWide: s.HostWide}
	for _, f := range s.Iface {
		selector.Devices = append(selector.Devices, find.Device(f))
	}
	switch {
	case !s.Auto && s.PID == 0 && s.Netns == "" && s.Container == "" && s.Pod == "" && len(s.Iface) == 0:
		return selector, cli.Usage(errors.New("which UPF? want --auto, --pid, --netns, --container, --pod or --iface"))
	case s.PID < 0:
		return selector, cli.Usage(fmt.Errorf("--pid %d: want a process", s.PID))
	}
	return selector, nil
}

type runCommand struct {
	selection
	Slices   string        `placeholder:"FILE" help:"What is which slice (YAML: TEIDs, UE prefixes, QFI, DNN), beside what is learnt from N4."`
	NoN4     bool          `name:"no-n4" help:"Do not listen to N4: no response times, and nothing is learnt from it."`
	NAT      bool          `name:"nat" help:"N6 has translated addresses: packets are known again without addresses, ports and ICMP identifiers."`
	InFlight int           `name:"in-flight" default:"65536" placeholder:"N" help:"Packets in a UPF that there is room for (default ${default})."`
	Timeout  time.Duration `default:"1s" help:"Packets in the UPF for longer are lost (default ${default})."`
	Timed    *cli.OneIn    `placeholder:"1/N" help:"Time one packet in N, chosen by content, and only count the others: it costs less. Delays, losses and samples are of these then. Default: 1/1."`
	Duration time.Duration `placeholder:"TIME" help:"End after so long (such as 60s); else with Ctrl-C."`
	Interval time.Duration `default:"1s" help:"Between two looks (default ${default})."`
	Parts    bool          `help:"Take delays apart, of UPFs that read packets from sockets and TUN devices: until the UPF has read them, and from then on. System calls of all processes cost a little more meanwhile."`
	Stats    bool          `help:"Have the kernel account what the programs take in place. It does so for all programs of the machine, and costs each some 10 ns more."`
	Plain    bool          `help:"Show no live view on a terminal."`
	Ambig    float64       `name:"max-ambiguous" default:"1" placeholder:"PERCENT" help:"Withhold delays of a series, and fail in the end, if more packets of it could not be told apart (default ${default})."`

	Sample *cli.OneIn    `placeholder:"1/N" help:"Report one packet in N (1/1: each) in the files of samples. Default with such a file and without --tail: 1/1."`
	Tail   time.Duration `placeholder:"TIME" help:"Report each packet that stayed longer."`

	sampleFlags
	resultFlags
	Hlog    string `name:"hlog" placeholder:"FILE" help:"Write an interval log of HdrHistogram: the delays of each series in each interval."`
	Metrics string `placeholder:"ADDRESS" help:"Serve /metrics for Prometheus (native and classic histograms) and OpenMetrics, such as 127.0.0.1:9108."`
}

// sampleFlags is the flags of files with a line for each packet.
type sampleFlags struct {
	CSV       string `name:"csv" placeholder:"FILE" help:"Write samples as CSV."`
	Parquet   string `name:"parquet" placeholder:"FILE" help:"Write samples as Parquet."`
	Published string `name:"published-csv" placeholder:"FILE" help:"Write samples of uplink packets as CSV with the columns of published slice measurements: ts_rx_ns, ts_tx_ns, delay_us, pkt_len, netif_rx, slice."`
}

// Bounds of flags.
const (
	minInterval = 50 * time.Millisecond
	maxInterval = time.Hour
	maxInFlight = 1 << 24
	maxTimeout  = time.Minute
	maxTimed    = 1 << 20
)

// Help is shown by plumb probe run --help.
func (runCommand) Help() string {
	return `Measures how long the packets of each slice stay in running UPFs of any make, without touching them, and how long N4 takes: small programs of the kernel stand where packets come to the UPF and where they leave it. Root only. When the process ends, however it ends, nothing is left.

Shows on a terminal what is going on, for each slice and direction: rate, percentiles of the delay in the last ten intervals, what was lost, what is inside, and what could not be told apart. In the end it prints all of it as a table.

Examples:

    plumb probe --auto
    plumb probe --auto --duration 60s --html probe.html --json probe.json
    plumb probe --pid 812 --tail 1ms --csv slow.csv
    plumb probe --container upf1 --slices slices.yaml --metrics 127.0.0.1:9108
    plumb probe --iface n3=n3,n6=n6 --nat
`
}

// validate checks the flags.
func (c *runCommand) validate() error {
	switch {
	case c.Interval < minInterval || c.Interval > maxInterval:
		return cli.Usage(fmt.Errorf("--interval %v: want %v to %v", c.Interval, minInterval, maxInterval))
	case c.Duration < 0:
		return cli.Usage(fmt.Errorf("--duration %v: want more than 0", c.Duration))
	case c.Timeout < time.Millisecond || c.Timeout > maxTimeout:
		return cli.Usage(fmt.Errorf("--timeout %v: want 1ms to %v", c.Timeout, maxTimeout))
	case c.InFlight < 1 || c.InFlight > maxInFlight:
		return cli.Usage(fmt.Errorf("--in-flight %d: want 1 to %d", c.InFlight, maxInFlight))
	case c.Tail < 0:
		return cli.Usage(fmt.Errorf("--tail %v: want more than 0", c.Tail))
	case c.Ambig < 0 || c.Ambig > 100:
		return cli.Usage(fmt.Errorf("--max-ambiguous %v: want 0 to 100 percent", c.Ambig))
	case c.timed() > maxTimed:
		return cli.Usage(fmt.Errorf("--timed 1/%d: want 1/1 to 1/%d", *c.Timed, maxTimed))
	case c.Parts && c.timed() > 1:
		return cli.Usage(fmt.Errorf("--timed 1/%d with --parts: want one of them, since packets that are not timed share reads with those that are", c.timed()))
	case (c.Sample != nil || c.Tail > 0) && !c.sampled():
		return cli.Usage(errors.New("--sample and --tail are for --csv, --parquet or --published-csv: want one of them"))
	}
	return nil
}

// sampled reports whether there is a file for samples.
func (f *sampleFlags) sampled() bool { return f.CSV != "" || f.Parquet != "" || f.Published != "" }

// timed is N, where one packet of N is timed.
func (c *runCommand) timed() int {
	if c.Timed == nil {
		return 1
	}
	return int(*c.Timed)
}

// sampling is what packets are reported one by one.
func (c *runCommand) sampling() probe.Sampling {
	s := probe.Sampling{Above: c.Tail}
	switch {
	case c.Sample != nil:
		s.Every = uint32(*c.Sample)
	case c.sampled() && c.Tail == 0:
		s.Every = 1
	}
	return s
}
