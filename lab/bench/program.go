package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/system"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

// account makes a short trial in which the kernel adds up the run time of BPF
// programs, which slows them a little, and adds what it says of the UPF's
// program to the result. A kernel that cannot, or a datapath without a program
// on the device, adds nothing.
//
// BPF_ENABLE_STATS came with Linux 5.8.
func (r *run) account(ctx context.Context, d report.Direction) (err error) {
	sessions := len(r.system.Sessions())
	r.step(fmt.Sprintf("%s, %s, cost of the BPF program", d, sessionsText(sessions)), r.accountTime())
	port := r.system.Topology().N3.UPF
	if d == report.Downlink {
		port = r.system.Topology().N6.UPF
	}
	program, name, err := attachedProgram(port)
	if program == nil || err != nil {
		return err
	}
	defer func() { err = errors.Join(err, program.Close()) }()
	stats, err := ebpf.EnableStats(uint32(unix.BPF_STATS_RUN_TIME))
	if errors.Is(err, ebpf.ErrNotSupported) || errors.Is(err, unix.EPERM) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stats.Close()) }()

	before, err := program.Stats()
	if err != nil {
		return err
	}
	load := system.At(r.RatePPS, min(accounting, r.Duration)).In(d)
	if _, err := r.trial(ctx, report.Throughput, load); err != nil {
		return fmt.Errorf("%s with BPF statistics: %w", d, err)
	}
	after, err := program.Stats()
	if err != nil {
		return err
	}
	runs, spent := after.RunCount-before.RunCount, after.Runtime-before.Runtime
	if runs > 0 {
		r.result.Program = append(r.result.Program, report.Program{
			Name: name, Direction: d, Sessions: sessions, Runs: runs, RunNS: float64(spent/time.Nanosecond) / float64(runs),
		})
	}
	return nil
}

// attachedProgram returns the XDP program on the port, nil if there is none.
func attachedProgram(port topology.Port) (*ebpf.Program, string, error) {
	id, err := port.XDPProgram()
	if err != nil || id == 0 {
		return nil, "", err
	}
	program, err := ebpf.NewProgramFromID(id)
	if err != nil {
		return nil, "", err
	}
	info, err := program.Info()
	if err != nil {
		return nil, "", errors.Join(err, program.Close())
	}
	return program, info.Name, nil
}
