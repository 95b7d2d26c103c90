package system

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

// Program sends a load in a direction while the kernel adds up the run time of the XDP program
// that takes the frames, which slows it a little, and returns what a run takes. The name is empty
// if there is no program, or the kernel does not account: BPF_ENABLE_STATS came with Linux 5.8.
func (s *System) Program(ctx context.Context, d report.Direction, l Load) (name string, nsPerRun float64, err error) {
	port := s.topology.N3.UPF
	if d == report.Downlink {
		port = s.topology.N6.UPF
	}
	program, name, err := attachedProgram(port)
	if program == nil || err != nil {
		return "", 0, err
	}
	defer func() { err = errors.Join(err, program.Close()) }()
	stats, err := ebpf.EnableStats(uint32(unix.BPF_STATS_RUN_TIME))
	if errors.Is(err, ebpf.ErrNotSupported) || errors.Is(err, unix.EPERM) {
		return "", 0, nil
	}
	if err != nil {
		return "", 0, err
	}
	defer func() { err = errors.Join(err, stats.Close()) }()

	before, err := program.Stats()
	if err != nil {
		return "", 0, err
	}
	if _, err := s.Trial(ctx, l.In(d)); err != nil {
		return "", 0, fmt.Errorf("%s with BPF statistics: %w", d, err)
	}
	after, err := program.Stats()
	if err != nil {
		return "", 0, err
	}
	runs, spent := after.RunCount-before.RunCount, after.Runtime-before.Runtime
	if runs == 0 {
		return "", 0, nil
	}
	return name, float64(spent/time.Nanosecond) / float64(runs), nil
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
