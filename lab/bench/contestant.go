package bench

import (
	"context"
	"fmt"
	"slices"

	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/system"
)

// contestant is a datapath in a test bed of its own, or the bed alone. While others
// have their turn its process is stopped.
type contestant struct {
	config CompareConfig
	system *system.System // nil: not started yet, or out
	path   report.Path
	bed    bool
	cpus   system.CPUs
	// lossy: it is expected to lose frames at the highest rate, so that its throughput
	// must be searched.
	lossy bool
	out   bool // of the run: see path.Missing
}

// newContestant does not start anything yet.
func newContestant(c *CompareConfig, name string, cpus system.CPUs) *contestant {
	config := *c
	// Devices and neighbours are the same for all payloads.
	config.Datapath, config.PayloadOctets = name, slices.Max(slices.Concat(c.octets()...))
	k := &contestant{config: config, cpus: cpus, path: report.Path{Name: name}}
	k.bed = name == report.PathBed || name == report.PathBedTC
	k.lossy = !k.bed && config.kind(nil).Lossy
	return k
}

// start builds the bed, and starts the UPF, or the program that only redirects.
func (k *contestant) start(ctx context.Context) (err error) {
	c, name := k.config.systemConfig(), k.path.Name
	c.CPUs, c.Offload, c.Skbs = k.cpus, c.Kind.Offloads, c.Kind.Packets
	switch name {
	case report.PathBed:
		c.Bed = system.BedXDP
	case report.PathBedTC:
		c.Bed, c.Offload, c.Skbs = system.BedSkbs, true, true
	}
	if k.system, err = system.New(ctx, c); err != nil {
		return err
	}
	about := k.system.Describe()
	k.path.Mode, k.path.Configuration, k.path.Offloads = about.Mode, about.Configuration, about.Offloads
	return k.system.Park()
}

// establish brings the sessions up to n and notes the memory.
func (k *contestant) establish(ctx context.Context, n int) error {
	err := k.system.Establish(ctx, n, k.config.Rules)
	k.path.Memory = k.system.Describe().Memory
	return err
}

// turn lets the contestant run while f measures it.
func (k *contestant) turn(ctx context.Context, f func(ctx context.Context) error) error {
	if k.system == nil {
		return f(ctx) // it is a start
	}
	return k.system.Turn(ctx, f)
}

// leave takes the contestant out of the run, and says why in the result.
func (k *contestant) leave(why error) {
	k.path.Missing, k.out = why.Error(), true
	if err := k.close(); err != nil {
		k.path.Missing += "\n" + err.Error()
	}
}

// close undoes start.
func (k *contestant) close() error {
	if k.system == nil {
		return nil
	}
	err := k.system.Close()
	k.system = nil
	return err
}

// open makes ready for the frames of a cell.
func (k *contestant) open(cell report.Cell, octets []int, run uint32) error {
	return k.system.Open(k.config.profile(octets, cell.Direction), run)
}

// trial sends load through the contestant and returns what became of it.
func (k *contestant) trial(ctx context.Context, cell report.Cell, kind report.Kind, load system.Load) (report.PathTrial, error) {
	t, err := measure(ctx, k.system, kind, load)
	if err != nil {
		return report.PathTrial{}, fmt.Errorf("%d sessions, payload %s: %w", cell.Sessions, cell.Payload, err)
	}
	if kind != report.Paced {
		t.LatencyNS, t.LatencyCurve, t.LatencyHistogram = report.Latency{}, nil, "" // the sender's
	}
	return report.PathTrial{Payload: cell.Payload, Trial: t}, nil
}
