package labcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/lab/method"
	"github.com/plumbline-upf/plumbline/lab/system"
	"github.com/plumbline-upf/plumbline/lab/traffic"
)

type isolationCommand struct {
	labRun

	Slices   *labSlices `placeholder:"N|FILE" help:"Parts of the sessions, each with a QFI of its own: how many equal ones, or a YAML file that says what each of them is. Default: 4."`
	Slice    []labSlice `sep:"none" placeholder:"NAME:share=N,frames=OCTETS,qfi=N,dscp=N" help:"One of the slices, where --slices is not given: each of them has a --slice, that which is overloaded the first one. Nothing behind the name has to be there."`
	Base     float64    `default:"50" placeholder:"PERCENT" help:"Of the throughput, sent by all slices together before and after. Default: 50."`
	Overload float64    `default:"150" placeholder:"PERCENT" help:"Of the throughput, sent by all together while the first slice is overloaded. Default: 150."`
	Loss     lossRatio  `default:"0.1%" placeholder:"LOSS" help:"The throughput that percentages are of loses no more. Default: 0.1%."`
}

const (
	maxOverload   = 1000 // percent
	defaultSlices = 4
)

var isolationDefaults = labDefaults{
	sessions: []int{1000}, frames: []string{"512"}, duration: 5 * time.Second, repeat: 3,
	quickDuration: 500 * time.Millisecond, quickRepeat: 1,
}

// Help is shown by plumb lab isolation --help.
func (isolationCommand) Help() string {
	return `Overloads one slice and says what becomes of the others: their throughput, loss and latency before, during and after, the worst of them. Slices are parts of the sessions, each with a QFI of its own; all send their share at first, then the first one so much more that all together are more than the UPF carries. The throughput that percentages are of is searched first, with --frames.

Slices are equal unless --slice, once for each, or a file says what they send: their share of the frames, their length, the QFI of the sessions, the DSCP of the user packets.

With --rules mbr=KBPS the sessions of the overloaded slice are held to an MBR, as an operator would.

It builds a test bed of network namespaces for each system and needs root.

` + isolationDefaults.help() + `

Examples:

    plumb lab isolation
    plumb lab isolation --dut all --slices 8 --json r.json
    plumb lab isolation --dut xdp,tun --rules none,mbr=10000 --overload 120
    plumb lab isolation --slice "video: share=3, frames=1518, qfi=5" \
        --slice "voice: frames=128, qfi=1, dscp=46"
    plumb lab isolation --slices slices.yaml
`
}

// Run measures, prints the table and writes the files.
func (c *isolationCommand) Run(ctx context.Context, stdout io.Writer) error {
	c.fillIn(isolationDefaults)
	if err := c.validate(); err != nil {
		return err
	}
	list, err := c.list()
	if err != nil {
		return err
	}
	switch least := slices.Min(c.Sessions); {
	case len(list) > least:
		return cli.Usage(fmt.Errorf("--slices %d of %d sessions: want a session in each", len(list), least))
	case !(c.Base > 0 && c.Base <= 100):
		return cli.Usage(fmt.Errorf("--base %g: want more than 0, up to 100 percent", c.Base))
	case !(c.Overload > c.Base && c.Overload <= maxOverload):
		return cli.Usage(fmt.Errorf("--overload %g: want more than --base %g, up to %d percent", c.Overload, c.Base, maxOverload))
	}
	for _, frames := range c.Frames {
		if _, err := traffic.ParseFrames(frames); err != nil {
			return cli.Usage(fmt.Errorf("--frames: slices have streams of their own: %w", err))
		}
	}
	if len(c.Rules) == 0 {
		c.Rules = []labRules{{}}
	}
	for i := range c.Rules {
		c.Rules[i].Rules = method.SliceRules(list, c.Rules[i].Rules)
	}
	m := method.Isolation{Slices: list, Base: c.Base, Overload: c.Overload, Duration: *c.Duration}
	methods := append(searchThroughput(c.Loss, *c.Duration), m)
	return c.measure(ctx, stdout, "lab "+m.Name(), nil, methods...)
}

// list is what the flags say of the slices.
func (c *isolationCommand) list() ([]method.Slice, error) {
	list := method.EqualSlices(defaultSlices)
	switch {
	case c.Slices != nil && len(c.Slice) > 0:
		return nil, cli.Usage(errors.New("--slices says how many slices there are, or which; --slice says so of each one: want one of both"))
	case c.Slices != nil:
		list = c.Slices.list
	case len(c.Slice) > 0:
		list = nil
		for _, s := range c.Slice {
			list = append(list, s.Slice)
		}
		if err := method.ValidateSlices(list); err != nil {
			return nil, cli.Usage(fmt.Errorf("--slice: %w", err))
		}
	}
	for _, s := range list {
		if s.Frames != "" {
			c.also = append(c.also, s.Frames)
		}
	}
	return list, nil
}

// labSlices is slices, as --slices says them.
type labSlices struct{ list []method.Slice }

// UnmarshalText takes how many there are, or the name of a file.
func (s *labSlices) UnmarshalText(text []byte) (err error) {
	n, err := strconv.Atoi(string(text))
	if err != nil {
		s.list, err = method.LoadSlices(string(text))
		return err
	}
	if n < 2 || n > system.MaxSlices {
		return fmt.Errorf("%d slices: want 2 to %d, or the name of a file", n, system.MaxSlices)
	}
	s.list = method.EqualSlices(n)
	return nil
}

// labSlice is a slice, as --slice says it.
type labSlice struct{ method.Slice }

// UnmarshalText takes what [method.ParseSlice] does.
func (s *labSlice) UnmarshalText(text []byte) (err error) {
	s.Slice, err = method.ParseSlice(string(text))
	return err
}
