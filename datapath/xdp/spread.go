package xdp

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// Spreading over CPUs: bpf/upf/spread.h says how.

const (
	maxSpread   = 64   // SPREAD_MAX in bpf/upf/maps.h
	maxCPU      = 1023 // the highest number of a CPU
	spreadQueue = 2048 // packets that wait for a CPU at most
)

// cpuEntry is struct bpf_cpumap_val of Linux.
type cpuEntry struct {
	QueueSize uint32
	Program   int32 // file descriptor
}

func checkSpread(cpus []int) error {
	if len(cpus) > maxSpread {
		return fmt.Errorf("xdp: spread over %d CPUs: want at most %d", len(cpus), maxSpread)
	}
	for i, cpu := range cpus {
		if cpu < 0 || cpu > maxCPU || slices.Contains(cpus[:i], cpu) {
			return fmt.Errorf("xdp: spread over CPU %d: want numbers up to %d, each once", cpu, maxCPU)
		}
	}
	return nil
}

// setSpread makes the programs those of a UPF that spreads, or leaves out what is
// for that alone.
func (d *Driver) setSpread(spec *ebpf.CollectionSpec) error {
	if len(d.cfg.Spread) == 0 {
		for _, name := range []string{"upf_spread_xdp", "upf_gtpu_cpu", "upf_n6_cpu", "upf_again_cpu"} {
			leaveOut(spec.Programs[name], xdpVerdictPass)
		}
		return nil
	}
	if err := checkSpread(d.cfg.Spread); err != nil {
		return err
	}
	var cpus [maxSpread]uint32
	for i, cpu := range d.cfg.Spread {
		cpus[i] = uint32(cpu)
	}
	opaque := uint32(0)
	if len(d.routed()) < len(d.ports.n6) {
		opaque = 1
	}
	for name, value := range map[string]any{"spread_opaque": opaque, "spread_count": uint32(len(d.cfg.Spread)), "spread_cpus": cpus} {
		if err := spec.Variables[name].Set(value); err != nil {
			return fmt.Errorf("xdp: set %s: %w", name, err)
		}
	}
	for _, name := range []string{"spread_gtpu", "spread_n6"} {
		spec.Maps[name].MaxEntries = uint32(slices.Max(d.cfg.Spread)) + 1
	}
	return nil
}

// startSpread makes the queues of the CPUs, and lets what finds no room in them be
// counted.
func (d *Driver) startSpread() error {
	if len(d.cfg.Spread) == 0 {
		return nil
	}
	if err := d.countSpread(); err != nil {
		// A kernel without BTF, or one that lets nobody look at tracepoints.
		d.log.Warn("packets that find no room in the queue of a CPU are not counted", "err", err)
	}
	for _, cpu := range d.cfg.Spread {
		err := errors.Join(
			d.objs.SpreadGtpu.Put(uint32(cpu), cpuEntry{spreadQueue, int32(d.objs.UpfGtpuCpu.FD())}),
			d.objs.SpreadN6.Put(uint32(cpu), cpuEntry{spreadQueue, int32(d.objs.UpfN6Cpu.FD())}),
		)
		if err != nil {
			return fmt.Errorf("xdp: spread to CPU %d: %w", cpu, err)
		}
	}
	return nil
}

// countSpread attaches the program that counts at the queues.
func (d *Driver) countSpread() error {
	spec, err := loadSpread()
	if err != nil {
		return fmt.Errorf("xdp: spread program: %w", err)
	}
	var ids [2]uint32
	for i, m := range []*ebpf.Map{d.objs.SpreadGtpu, d.objs.SpreadN6} {
		info, err := m.Info()
		if err != nil {
			return fmt.Errorf("xdp: queues of CPUs: %w", err)
		}
		id, _ := info.ID()
		ids[i] = uint32(id)
	}
	if err := spec.Variables["spread_maps"].Set(ids); err != nil {
		return fmt.Errorf("xdp: set spread_maps: %w", err)
	}
	var objs spreadObjects
	err = spec.LoadAndAssign(&objs, &ebpf.CollectionOptions{MapReplacements: map[string]*ebpf.Map{"counts": d.objs.Counts}})
	if err != nil {
		return loadError(err)
	}
	l, err := link.AttachTracing(link.TracingOptions{Program: objs.SpreadEnqueued})
	if err != nil {
		return errors.Join(fmt.Errorf("xdp: count at the queues of CPUs: %w", err), objs.Close())
	}
	d.spreadCounts = objs.SpreadCounts
	d.detach = append(d.detach, func() error { return errors.Join(l.Close(), objs.Close()) })
	return nil
}

// Spread returns how many packets each CPU was given, in the order of
// [Config.Spread]; nil if packets are not spread, or not counted.
func (d *Driver) Spread() ([]uint64, error) {
	if d.spreadCounts == nil {
		return nil, nil
	}
	given := make([]uint64, len(d.cfg.Spread))
	var perCPU []uint64
	for i, cpu := range d.cfg.Spread {
		if err := d.spreadCounts.Lookup(uint32(cpu), &perCPU); err != nil {
			return nil, fmt.Errorf("xdp: packets of CPU %d: %w", cpu, err)
		}
		for _, n := range perCPU {
			given[i] += n
		}
	}
	return given, nil
}
