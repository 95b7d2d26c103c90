package doctor

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/features"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/verifier"
)

// feature is something that the kernel's eBPF has or has not, found out by
// trying.
type feature struct {
	name      string
	neededFor string
	since     version // kernel that brought it
	required  bool
	try       func() error
}

// version of the kernel.
type version struct{ major, minor int }

var ebpfFeatureTable = []feature{
	{"XDP programs", "the xdp datapath", version{4, 8}, true, func() error { return features.HaveProgramType(ebpf.XDP) }},
	{
		"redirect between devices", "the xdp datapath: bpf_redirect",
		version{4, 14},
		true,
		func() error { return features.HaveProgramHelper(ebpf.XDP, asm.FnRedirect) },
	},
	{
		"memory-mapped arrays", "session tables, written without a system call",
		version{5, 5},
		true,
		func() error { return features.HaveMapFlag(features.BPF_F_MMAPABLE) },
	},
	{
		"instruction set v3", "every eBPF object: it is built with -mcpu=v3",
		version{5, 1},
		true,
		features.HaveV3ISA,
	},
	{
		"ring buffer", "events to the slow path",
		version{5, 8},
		true,
		func() error { return features.HaveMapType(ebpf.RingBuf) },
	},
	{
		"per-CPU arrays", "counters and histograms",
		version{4, 6},
		true,
		func() error { return features.HaveMapType(ebpf.PerCPUArray) },
	},
	{"live frames", "the generator of the laboratory: BPF_PROG_RUN with BPF_F_TEST_XDP_LIVE_FRAMES", version{5, 18}, false, tryLiveFrames},
	{
		"AF_XDP socket maps", "the afxdp datapath, AF_XDP senders of plumb lab",
		version{4, 18},
		false,
		func() error { return features.HaveMapType(ebpf.XSKMap) },
	},
	{"BTF tracepoints", "plumb probe --parts, and the xdp datapath with xdp.spread", version{5, 5}, false, tryTracepoint},
}

// ebpfFeatures tries each feature with programs and maps that are attached to
// nothing and closed at once.
func ebpfFeatures() []Check {
	checks := make([]Check, 0, len(ebpfFeatureTable))
	for _, f := range ebpfFeatureTable {
		checks = append(checks, f.check(AreaEBPF))
	}
	return checks
}

func (f feature) check(area Area) Check {
	otherwise := Warn
	if f.required {
		otherwise = Missing
	}
	err := f.try()
	return Check{Area: area, Name: f.name, NeededFor: f.neededFor, Required: f.required}.
		tried(err, "works", otherwise, f.advice(err, verifier.KernelRelease()))
}

// advice says what to do about err on a kernel of that release.
func (f feature) advice(err error, release string) string {
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return "run as root; if this is root, the kernel's policy forbids it"
	case !releaseAtLeast(release, f.since.major, f.since.minor):
		return fmt.Sprintf("Linux %d.%d or later", f.since.major, f.since.minor)
	default:
		return "a kernel that is built with it, or its module loaded"
	}
}

// verdictProgram returns an XDP program that gives every packet one verdict.
// verdict is XDP_PASS (2) or XDP_DROP (1).
func verdictProgram(verdict int64) (*ebpf.Program, error) {
	return ebpf.NewProgram(&ebpf.ProgramSpec{
		Name:         "plumb_doctor",
		Type:         ebpf.XDP,
		License:      "Apache-2.0",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, int32(verdict)), asm.Return()},
	})
}

// XDP verdicts, enum xdp_action of linux/bpf.h.
const (
	xdpDrop = 1
	xdpPass = 2
)

// tryLiveFrames lets the kernel make one frame and drops it.
func tryLiveFrames() error {
	prog, err := verdictProgram(xdpDrop)
	if err != nil {
		return err
	}
	defer prog.Close()
	_, err = prog.Run(&ebpf.RunOptions{Data: make([]byte, 64), Repeat: 1, Flags: unix.BPF_F_TEST_XDP_LIVE_FRAMES})
	return err
}

// tryTracepoint attaches to what happens only where XDP hands packets to other CPUs.
func tryTracepoint() error {
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name:         "plumb_doctor",
		Type:         ebpf.Tracing,
		AttachType:   ebpf.AttachTraceRawTp,
		AttachTo:     "xdp_cpumap_enqueue",
		License:      "GPL",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()},
	})
	if err != nil {
		return err
	}
	defer prog.Close()
	attached, err := link.AttachTracing(link.TracingOptions{Program: prog})
	if err != nil {
		return err
	}
	return attached.Close()
}
