// Package host says what machine the figures of the laboratory belong to, and
// what its CPUs did meanwhile.
package host

import (
	"os"
	"runtime"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/verifier"
	"github.com/plumbline-upf/plumbline/lab/report"
)

// Describe collects what the figures belong to: this machine, and what was
// run on it. What the machine does not say is "unknown": no measurement fails
// for it.
func Describe(version, commit, commandLine string) report.Host {
	var uts unix.Utsname
	kernel := "unknown"
	if unix.Uname(&uts) == nil {
		kernel = unix.ByteSliceToString(uts.Release[:])
	}
	model, octets := cpuAndMemory()
	return report.Host{
		OS:           osName(readFile("/etc/os-release")),
		Kernel:       kernel,
		Arch:         runtime.GOARCH,
		CPUModel:     model,
		CPUs:         runtime.NumCPU(),
		MemoryOctets: octets,
		BPFJIT:       bpfJIT(readFile("/proc/sys/net/core/bpf_jit_enable"), readFile("/proc/sys/net/core/bpf_jit_harden"), verifier.Compiled),
		SpectreV2:    orUnknown(readFile("/sys/devices/system/cpu/vulnerabilities/spectre_v2")),
		GoVersion:    runtime.Version(),
		Version:      version,
		Commit:       commit,
		CommandLine:  commandLine,
	}
}

func readFile(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

func osName(release string) string {
	for line := range strings.Lines(release) {
		if name, ok := strings.CutPrefix(line, "PRETTY_NAME="); ok {
			return orUnknown(strings.Trim(strings.TrimSpace(name), `"`))
		}
	}
	return "unknown"
}

// cpuAndMemory returns the model of the first CPU, and all octets of memory; "unknown" and
// 0 if /proc does not say.
func cpuAndMemory() (model string, octets uint64) {
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return "unknown", 0
	}
	if cpus, err := proc.CPUInfo(); err == nil && len(cpus) > 0 {
		model = cpus[0].ModelName
	}
	if memory, err := proc.Meminfo(); err == nil && memory.MemTotalBytes != nil {
		octets = *memory.MemTotalBytes
	}
	return orUnknown(model), octets
}

// bpfJIT puts net.core.bpf_jit_enable and _harden into words. Network namespaces other than
// the initial one have neither. Then compiled says whether programs become machine code, and
// how they are hardened is left out.
// Source: Documentation/admin-guide/sysctl/net.rst of the kernel.
func bpfJIT(enable, harden string, compiled func() (bool, error)) string {
	text := map[string]string{"0": "off", "1": "on", "2": "on, with traces"}[enable]
	if text == "" {
		text = "unknown"
		if is, err := compiled(); is {
			text = "on"
		} else if err == nil {
			text = "off"
		}
	}
	if h := map[string]string{"0": "off", "1": "for unprivileged users", "2": "for all users"}[harden]; h != "" {
		text += ", hardening " + h
	}
	return text
}
