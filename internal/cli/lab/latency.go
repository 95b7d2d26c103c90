package labcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/method"
	"github.com/plumbline-upf/plumbline/lab/search"
	"github.com/plumbline-upf/plumbline/lab/timestamp"
)

type latencyCommand struct {
	labRun

	Load       []labLoad `default:"idle,10,50,90" placeholder:"LOAD" help:"idle (1000 frames per second), percent of each one's own throughput, rates such as 900kpps, or that of the traffic profile (profile). Default: idle, 10, 50, 90."`
	Timestamps string    `default:"auto" enum:"auto,hardware,software,none" help:"What stamps frames beside the programs: the devices (hardware, of an external UPF), the kernel (software), nothing (none), or the devices if they can (auto): ${enum}. Frames are then sent by AF_PACKET."`
	Loss       lossRatio `default:"0.1%" placeholder:"LOSS" help:"The throughput that percentages are of loses no more. Default: 0.1%."`
}

var latencyDefaults = labDefaults{
	sessions: []int{20_000}, frames: []string{"512"}, duration: 5 * time.Second, repeat: 3,
	quickDuration: 500 * time.Millisecond, quickRepeat: 1,
}

// Help is shown by plumb lab latency --help.
func (latencyCommand) Help() string {
	return `Measures one-way latency from the intended send time of each frame, its percentiles and its variation (RFC 2544, RFC 8219), idle and at parts of the throughput, which is searched first. The bed alone is measured at the same rates, and its latency taken off beside: what is left is the UPF.

It builds a test bed of network namespaces for each system and needs root.

` + latencyDefaults.help() + `

Examples:

    plumb lab latency
    plumb lab latency --dut all --json r.json
    plumb lab latency --dut xdp,tc --load 100kpps,900kpps --sessions 1,20000
    plumb lab latency --timestamps software --load 10kpps
    plumb lab latency --frames 64,128,256,512,1024,1280,1518 --load 50
`
}

// Run measures, prints the table and writes the files.
func (c *latencyCommand) Run(ctx context.Context, stdout io.Writer) error {
	c.fillIn(latencyDefaults)
	if err := errors.Join(c.validate(), once("load", c.Load)); err != nil {
		return err
	}
	if c.Timestamps != method.AutoStamps && c.Timestamps != timestamp.None.String() && c.Sender != nil && c.Sender.Sender != generator.Packet {
		return cli.Usage(fmt.Errorf("--timestamps %s: frames of --sender %s have none, those of packet do", c.Timestamps, c.Sender.Sender))
	}
	c.timeStamps = c.Timestamps
	m := method.Latency{Loads: levels(c.Load), Duration: *c.Duration}
	methods := append(searchFirst(m.Loads, c.Frames, c.Loss, *c.Duration), m)
	return c.measure(ctx, stdout, "lab "+m.Name(), method.LatencyReferences(), methods...)
}

// searchFirst is the search for the throughput, if loads are parts of it.
func searchFirst(loads []method.Level, frames []string, loss lossRatio, duration time.Duration) []method.Method {
	for _, l := range loads {
		if l.OfThroughput(frames...) {
			return searchThroughput(loss, duration)
		}
	}
	return nil
}

// searchThroughput is a quick search for the throughput that others are measured by.
func searchThroughput(loss lossRatio, duration time.Duration) []method.Method {
	const budget = 40 // trials
	d := min(duration, 500*time.Millisecond)
	g := search.NewGoal(float64(loss), d)
	g.Width = max(0.02, g.LossRatio)
	return []method.Method{method.Throughput{Goals: []search.Goal{g}, Most: d, Budget: budget * d}}
}
