package upfcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/internal/plainjson"
	"github.com/plumbline-upf/plumbline/internal/term"
	"github.com/plumbline-upf/plumbline/upf"
)

// Trace is plumb trace: chosen packets on their way through the running UPF.
type Trace struct {
	upfFlags
	UE       netip.Addr    `name:"ue" placeholder:"ADDRESS" help:"Packets of this UE (IPv4 or IPv6), and all that comes through its session's tunnels."`
	TEID     upf.TEID      `name:"teid" placeholder:"TEID" help:"G-PDUs that arrive with this TEID (0x… or decimal)."`
	SEID     upf.SEID      `name:"seid" placeholder:"SEID" help:"Packets of this session (SEID of the UPF, 0x… or decimal)."`
	Drops    dropFlag      `name:"drops" placeholder:"REASON,..." help:"Packets that are dropped, whosever they are; for these reasons only if any are given (see plumb drops --all)."`
	All      bool          `help:"All packets of the user plane."`
	Sample   cli.OneIn     `default:"1/1" placeholder:"1/N" help:"One packet in N, chosen at random."`
	Rate     int           `default:"2000" help:"At most so many packets a second (default ${default})."`
	Snap     int           `default:"256" placeholder:"OCTETS" help:"Octets of each frame (default ${default}, at most 2048)."`
	Count    int           `short:"c" placeholder:"N" help:"End after so many packets."`
	Duration time.Duration `placeholder:"TIME" help:"End after so long (such as 10s)."`
	Write    string        `short:"w" placeholder:"FILE" help:"Frames into a capture file (pcapng), with what became of them as comment; - for standard output."`
	Verbose  bool          `short:"v" help:"What each stage found and did."`
}

// Help is shown by plumb trace --help.
func (Trace) Help() string {
	return `Shows what becomes of packets in the UPF that runs on this machine, one line for each: when it came, whose it is, which PDR matched, and where it went or why not. ` +
		`With -v a line more for each stage (parse, detect, forward, enforce, measure, emit). A packet that the program in the kernel hands on is seen again in the slow path.

The kernel chooses and samples the packets, so what is not traced is not slowed; a trace has a rate, and what is above it is counted and not shown. ` +
		`Packets are those of users: only root and the user of the UPF may trace, one trace for each process, four at once. Of a UPF that is several processes plumb datapath shows them (--socket): it knows no names of rules.

Examples:

    plumb trace --ue 10.45.0.2
    plumb trace --teid 0x11 -v --count 10
    plumb trace --drops=mbr,gate --duration 10s
    plumb trace --all --sample 1/1000 --duration 60s -w all.pcapng
    plumb trace --ue 10.45.0.2 -w - | tshark -r -
    plumb trace --drops --json | jq -r .packet.reason
`
}

// dropFlag is reasons, or nothing, which is all of them.
type dropFlag []string

// Decode implements [kong.MapperValue].
func (d *dropFlag) Decode(ctx *kong.DecodeContext) error {
	*d = dropFlag{upf.AllDrops}
	if ctx.Scan.Peek().Type == kong.FlagValueToken {
		*d = strings.Split(ctx.Scan.Pop().String(), ",")
	}
	return nil
}

// IsBool lets the flag stand without a value.
func (dropFlag) IsBool() bool { return true }

// Run shows packets until one of the limits, an interrupt, or the end of the UPF.
func (c *Trace) Run(ctx context.Context, stdout io.Writer) error {
	if err := c.check(); err != nil {
		return err
	}
	sinks, err := c.open(stdout)
	if err != nil {
		return err
	}
	parent := ctx
	ctx, cancel := cli.Within(ctx, c.Duration)
	defer cancel()
	query := &upf.TraceQuery{
		UE: c.UE, TEID: c.TEID, SEID: c.SEID, Drops: c.Drops, All: c.All, Sample: int(c.Sample), Rate: c.Rate, Snap: c.Snap}
	var counts datapath.TraceCounts
	shown := 0
	err = upf.NewClient(c.Socket).Trace(ctx, query, func(l *upf.TraceLine) error {
		if l.Counts != nil {
			counts = *l.Counts
		}
		if l.Packet == nil {
			return nil
		}
		for _, s := range sinks {
			if err := s.packet(l.Packet); err != nil {
				return err
			}
		}
		if shown++; shown == c.Count {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) || parent.Err() != nil || ctx.Err() != nil {
		err = nil // what was asked for
	}
	// Counts come now and then: what was shown since was chosen, too.
	counts.Wanted = max(counts.Wanted, uint64(shown)+counts.Limited+counts.Lost)
	for _, s := range sinks {
		err = errors.Join(err, s.end(counts))
	}
	if err == nil {
		fmt.Fprintf(os.Stderr, "%d packets shown; of %d that were chosen, before sampling, %d were above the rate and %d lost\n",
			shown, counts.Wanted, counts.Limited, counts.Lost)
	}
	return err
}

// errEnough ends a trace that has shown its number of packets.
var errEnough = errors.New("enough")

func (c *Trace) check() error {
	switch {
	case !c.UE.IsValid() && c.TEID == 0 && c.SEID == 0 && len(c.Drops) == 0 && !c.All:
		return fmt.Errorf("%w: which packets? want --ue, --teid, --seid, --drops or --all", cli.ErrUsage)
	case c.Count < 0 || c.Duration < 0:
		return fmt.Errorf("%w: --count %d, --duration %s: want more than 0", cli.ErrUsage, c.Count, c.Duration)
	case c.Rate < 1 || c.Rate > datapath.MaxTraceRate:
		return fmt.Errorf("%w: --rate %d: want 1 to %d", cli.ErrUsage, c.Rate, datapath.MaxTraceRate)
	case c.Snap < 1 || c.Snap > datapath.MaxTraceSnap:
		return fmt.Errorf("%w: --snap %d: want 1 to %d", cli.ErrUsage, c.Snap, datapath.MaxTraceSnap)
	case c.Write == "-" && (c.JSON || c.Verbose):
		return fmt.Errorf("%w: -w - fills standard output: no place for --json or -v", cli.ErrUsage)
	}
	_, err := upf.DropReasons(c.Drops)
	return err
}

// traceSink takes what a trace shows.
type traceSink interface {
	packet(p *upf.TracePacket) error
	end(c datapath.TraceCounts) error
}

// open returns where packets go.
func (c *Trace) open(stdout io.Writer) ([]traceSink, error) {
	if c.Write == "-" {
		return []traceSink{newCapture(term.AsOctets(stdout), c.Snap)}, nil
	}
	var sinks []traceSink
	switch {
	case c.JSON:
		sinks = append(sinks, traceJSON{plainjson.Lines(stdout)})
	default:
		sinks = append(sinks, traceText{stdout, c.Verbose})
	}
	if c.Write == "" {
		return sinks, nil
	}
	f, err := cli.Create(c.Write, 0o600)
	if err != nil {
		return nil, err
	}
	s := newCapture(f, c.Snap)
	s.file = f
	return append(sinks, s), nil
}

// traceJSON writes lines of JSON.
type traceJSON struct{ *json.Encoder }

func (t traceJSON) packet(p *upf.TracePacket) error { return t.Encode(&upf.TraceLine{Packet: p}) }

func (t traceJSON) end(c datapath.TraceCounts) error { return t.Encode(&upf.TraceLine{Counts: &c}) }

// traceText writes lines for people.
type traceText struct {
	w       io.Writer
	verbose bool
}

func (t traceText) packet(p *upf.TracePacket) error {
	text := traceLine(p) + "\n"
	if t.verbose {
		for _, s := range p.Stages {
			text += "    " + s + "\n"
		}
	}
	_, err := io.WriteString(t.w, text)
	return err
}

func (t traceText) end(datapath.TraceCounts) error { return nil }
