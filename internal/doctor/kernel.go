package doctor

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/plumbline-upf/plumbline/internal/verifier"
)

// kernel looks at what the kernel says of itself in files.
func kernel() []Check {
	return []Check{
		release(verifier.KernelRelease()),
		btf("/sys/kernel/btf/vmlinux"),
		jit(readFile("/proc/sys/net/core/bpf_jit_enable"), verifier.Compiled),
		mounted(readFile("/proc/self/mountinfo"), "bpf", "/sys/fs/bpf", "pinned maps and links, which outlive the process"),
		mounted(readFile("/proc/self/mountinfo"), "tracefs", "/sys/kernel/tracing", "tracing of eBPF programs while one debugs them"),
	}
}

func release(release string) Check {
	c := Check{
		Area: AreaKernel, Name: "Linux", Status: OK, Found: release + " " + runtime.GOARCH,
		NeededFor: "5.18 brought live frames under BPF_PROG_RUN, 6.3 XDP features per device, 6.6 tcx",
	}
	if !releaseAtLeast(release, 5, 18) {
		c.Status, c.Advice = Warn, "the laboratory needs Linux 5.18 or later"
	}
	return c
}

func btf(path string) Check {
	c := Check{Area: AreaKernel, Name: "BTF", NeededFor: "programs that read kernel types (CO-RE)"}
	info, err := os.Stat(path)
	if err != nil {
		return c.tried(err, "", Warn, "a kernel with CONFIG_DEBUG_INFO_BTF")
	}
	return c.tried(nil, fmt.Sprintf("%s, %d KiB", path, info.Size()/1024), OK, "")
}

// jit reads net.core.bpf_jit_enable: 0 off, 1 on, 2 on and logging each program. A network
// namespace of a container does not show it; then a program is loaded, which compiled says
// of whether it is machine code.
func jit(value string, compiled func() (bool, error)) Check {
	c := Check{Area: AreaKernel, Name: "eBPF JIT", NeededFor: "speed: without it programs are interpreted"}
	switch value {
	case "1":
		c.Status, c.Found = OK, "on"
		return c
	case "2":
		c.Status, c.Found, c.Advice = Warn, "on, and logs every program", "sysctl net.core.bpf_jit_enable=1"
		return c
	}
	is, err := compiled()
	switch {
	case err != nil:
		c.Status, c.Found, c.Advice = Warn, "not known: "+firstLine(err), "run as root"
	case is:
		c.Status, c.Found = OK, "on"
	case value == "0":
		c.Status, c.Found, c.Advice = Warn, "off", "sysctl net.core.bpf_jit_enable=1"
	default:
		c.Status, c.Found, c.Advice = Warn, "off", "sysctl net.core.bpf_jit_enable=1 on the host, or a kernel with CONFIG_BPF_JIT"
	}
	return c
}

// mounted looks for a file system of type fstype in /proc/self/mountinfo.
//
// Source: proc_pid_mountinfo(5): fields are separated by spaces, the mount
// point is the fifth, the type is the first after the field "-".
func mounted(mountinfo, fstype, usual, neededFor string) Check {
	c := Check{Area: AreaKernel, Name: fstype + " mounted", NeededFor: neededFor}
	for line := range strings.Lines(mountinfo) {
		before, after, found := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		if found && len(fields) >= 5 && strings.HasPrefix(after, fstype+" ") {
			c.Status, c.Found = OK, fields[4]
			return c
		}
	}
	c.Status, c.Found = Warn, "no"
	c.Advice = fmt.Sprintf("mount -t %s %s %s", fstype, fstype, usual)
	return c
}
