package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"plumbline/lab/generator"
	"plumbline/lab/report"
	"plumbline/lab/topology"
	"plumbline/upf"
)

// contestant is a datapath in a test bed of its own, or the bed alone. While others
// have their turn its process is stopped.
type contestant struct {
	*run
	path report.Path
	bed  *topology.Bed // nil: it is a UPF
	// lossy: it is expected to lose frames at the highest rate, so that its throughput
	// must be searched.
	lossy bool
	out   bool // of the run: see path.Missing
}

// newContestant does not start anything yet.
func newContestant(c *CompareConfig, name string, cpus []int) *contestant {
	config := c.Config
	config.Datapath, config.OnStep = name, nil
	// Devices and neighbours are the same for all payloads.
	config.PayloadOctets, config.Mix = slices.Max(slices.Concat(c.octets()...)), nil
	k := &contestant{
		run: &run{
			Config: config, result: &report.Result{},
			place: place{name: runName + "-" + strings.ReplaceAll(name, " ", ""), offloads: takesOffloads(name), packets: onBuffers(name), cpus: cpus},
		},
		path: report.Path{Name: name, Offloads: offloadsOff},
	}
	if k.offloads {
		k.path.Offloads = offloadsOn
	}
	if k.packets {
		k.path.Offloads += "; meter: tcx"
	}
	k.lossy = !slices.Contains([]string{report.PathBed, report.PathBedTC, upf.DatapathXDP, upf.DatapathTC}, name)
	return k
}

// onBuffers reports whether a path is of TC, on socket buffers.
func onBuffers(path string) bool { return path == upf.DatapathTC || path == report.PathBedTC }

// takesOffloads reports whether a datapath leaves it to the kernel to read and
// write frames, so that a user leaves the offloads of its neighbours on. XDP
// programs and AF_XDP sockets see a frame as it was handed to the device.
func takesOffloads(datapath string) bool {
	return !slices.Contains([]string{report.PathBed, upf.DatapathXDP, upf.DatapathAFXDP}, datapath)
}

const (
	offloadsOn  = "checksum, TSO and GRO on"
	offloadsOff = "checksum and TSO off, GRO on"
)

// start builds the bed, and starts the UPF, or the program that only redirects.
func (k *contestant) start(ctx context.Context) error {
	err := k.buildTopology()
	if err != nil {
		return err
	}
	switch k.path.Name {
	case report.PathBed:
		k.bed, err = k.topology.AttachBed()
		return err
	case report.PathBedTC:
		k.bed, err = k.topology.AttachBedTC()
		return err
	}
	if err := k.startUPF(ctx); err != nil {
		return err
	}
	k.path.Mode, k.path.Configuration = k.mode, k.dut.File
	return k.rest(ctx)
}

// rest waits until the process has done what it still has to do after a start or
// many new sessions, lest that be in what is measured first. A datapath that never
// rests is not waited for for long.
func (k *contestant) rest(ctx context.Context) error {
	const often, most, idle = 250 * time.Millisecond, 5 * time.Second, 10 * time.Millisecond
	last := time.Duration(0)
	for waited := time.Duration(0); waited < most; waited += often {
		used, err := k.dut.CPUTime()
		if err != nil || used-last <= idle {
			return err
		}
		last = used
		select {
		case <-time.After(often):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// establishUpTo brings the sessions up to n and notes the memory.
func (k *contestant) establishUpTo(ctx context.Context, n int) error {
	if k.bed != nil {
		t := k.template()
		k.sessions = t.Sessions(0, n)
		return nil
	}
	if err := k.establish(ctx, n); err != nil {
		return err
	}
	i := &k.result.Install
	k.path.Memory = append(k.path.Memory, report.PathMemory{
		Sessions: i.Sessions, ResidentOctets: i.DUTMemoryOctets, MapOctets: i.MapMemoryOctets, InstallPerSec: i.SessionsPerSec,
	})
	return k.rest(ctx)
}

// turn lets the contestant run while f measures it. If the UPF ends meanwhile, that
// is the error.
func (k *contestant) turn(ctx context.Context, f func(ctx context.Context) error) (err error) {
	if k.dut == nil {
		if err := f(ctx); err != nil || k.dut == nil {
			return err
		}
		return k.dut.Park() // it was a start
	}
	if err := k.dut.Resume(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-k.dut.Done():
			cancel(k.dut.Err())
		case <-ctx.Done():
		}
	}()
	err = f(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errors.Join(err, k.dut.Park())
}

// leave takes the contestant out of the run, and says why in the result.
func (k *contestant) leave(why error) {
	k.path.Missing, k.out = why.Error(), true
	if err := k.close(); err != nil {
		k.path.Missing += "\n" + err.Error()
	}
}

// close undoes what there is of start.
func (k *contestant) close() error {
	var err error
	if k.bed != nil {
		err = k.bed.Close()
		k.bed = nil
	}
	err = errors.Join(err, k.run.close())
	k.n4, k.dut, k.topology = nil, nil, nil
	return err
}

// open makes the lane of a cell.
func (k *contestant) open(cell report.Cell, octets []int, id uint32) error {
	k.Mix = octets
	l, err := k.newLane(cell.Direction, id)
	if err != nil {
		return err
	}
	k.lanes = []*lane{l}
	return nil
}

// trial sends load through the contestant and returns what became of it.
func (k *contestant) trial(ctx context.Context, cell report.Cell, kind report.Kind, load generator.Load) (report.PathTrial, error) {
	l := k.lanes[0]
	m, err := k.measureLane(ctx, l, load, k.bed != nil)
	if err != nil {
		return report.PathTrial{}, fmt.Errorf("%s, %d sessions, payload %s: %w", cell.Direction, cell.Sessions, cell.Payload, err)
	}
	t := k.run.trial(l, &m, kind, 1, load.Rate)
	if kind != report.Paced {
		t.LatencyNS, t.LatencyCurve = report.Latency{}, nil // the sender's
	}
	return report.PathTrial{Payload: cell.Payload, Trial: t}, nil
}
