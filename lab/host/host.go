// Package host says what machine the figures of the laboratory belong to, and
// what its CPUs did meanwhile.
package host

import (
	"bufio"
	"bytes"
	"os"
	"runtime"
	"strconv"
	"strings"

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
	return report.Host{
		OS:           osName(readFile("/etc/os-release")),
		Kernel:       kernel,
		Arch:         runtime.GOARCH,
		CPUModel:     keyed(readFile("/proc/cpuinfo"), "model name", ":"),
		CPUs:         runtime.NumCPU(),
		MemoryOctets: memoryOctets(readFile("/proc/meminfo")),
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

// keyed returns what stands behind the first "key<separator>" of a file of such
// lines.
func keyed(text, key, separator string) string {
	lines := bufio.NewScanner(bytes.NewReader([]byte(text)))
	for lines.Scan() {
		k, v, ok := strings.Cut(lines.Text(), separator)
		if ok && strings.TrimSpace(k) == key {
			return orUnknown(strings.TrimSpace(v))
		}
	}
	return "unknown"
}

func osName(release string) string {
	return strings.Trim(keyed(release, "PRETTY_NAME", "="), `"`)
}

func memoryOctets(meminfo string) uint64 {
	kib, err := strconv.ParseUint(strings.TrimSuffix(keyed(meminfo, "MemTotal", ":"), " kB"), 10, 50)
	if err != nil {
		return 0
	}
	return kib << 10
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
