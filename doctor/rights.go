package doctor

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"plumbline/verifier"
)

// capability is one that some part of Plumbline needs.
type capability struct {
	name      string
	bit       uint
	neededFor string
	required  bool
}

var capabilities = []capability{
	{"CAP_NET_ADMIN", unix.CAP_NET_ADMIN, "attaching XDP, resolving next hops", true},
	{"CAP_BPF", unix.CAP_BPF, "loading eBPF programs, writing their tables", true},
	{"CAP_PERFMON", unix.CAP_PERFMON, "eBPF programs that compute with packet pointers", true},
	{"CAP_NET_RAW", unix.CAP_NET_RAW, "packets that the slow path finishes", true},
	{"CAP_SYS_ADMIN", unix.CAP_SYS_ADMIN, "namespaces of plumb bench and plumb gnb", false},
	{"CAP_SYS_RESOURCE", unix.CAP_SYS_RESOURCE, "raising RLIMIT_MEMLOCK, on kernels before 5.11 only", false},
}

// MissingCapabilities are those without which no eBPF program of the UPF can be judged: the
// verifier refuses for want of them what it else takes.
func MissingCapabilities() (missing []string) {
	for _, c := range capabilityChecks(readFile("/proc/self/status")) {
		if c.Required && c.Status == Missing {
			missing = append(missing, c.Name)
		}
	}
	return missing
}

// rights looks at the capabilities and limits of this process.
func rights() []Check {
	var limit unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit)
	checks := capabilityChecks(readFile("/proc/self/status"))
	return append(checks, memlock(limit.Cur, err, verifier.KernelRelease()))
}

// capabilityChecks reads the effective capabilities from /proc/self/status.
func capabilityChecks(status string) []Check {
	effective, err := strconv.ParseUint(field(status, "CapEff"), 16, 64)
	var checks []Check
	for _, want := range capabilities {
		c := Check{Area: AreaRights, Name: want.name, NeededFor: want.neededFor, Required: want.required}
		switch {
		case err != nil:
			c.Status, c.Found, c.Advice = Warn, "CapEff: "+err.Error(), "mount procfs on /proc"
		case effective&(1<<want.bit) != 0, want.impliedBySysAdmin() && effective&(1<<unix.CAP_SYS_ADMIN) != 0:
			c.Status, c.Found = OK, "effective"
		case want.required:
			c.Status, c.Found = Missing, "not effective"
			c.Advice = "run as root, or setcap cap_net_admin,cap_bpf,cap_perfmon,cap_net_raw+ep on plumb"
		default:
			c.Status, c.Found, c.Advice = Warn, "not effective", "run as root; a container has to be given it"
		}
		checks = append(checks, c)
	}
	return checks
}

// impliedBySysAdmin: CAP_SYS_ADMIN still grants what CAP_BPF and CAP_PERFMON
// were split off from it for (Linux 5.8).
func (c capability) impliedBySysAdmin() bool {
	return c.bit == unix.CAP_BPF || c.bit == unix.CAP_PERFMON
}

// memlock judges RLIMIT_MEMLOCK: since Linux 5.11 eBPF memory is charged to
// the cgroup instead.
func memlock(limit uint64, err error, release string) Check {
	c := Check{Area: AreaRights, Name: "locked memory", Status: OK, NeededFor: "eBPF maps, on kernels before 5.11 only"}
	switch {
	case err != nil:
		c.Status, c.Found = Warn, err.Error()
		c.Advice = "see getrlimit(2)"
	case limit == unix.RLIM_INFINITY:
		c.Found = "unlimited"
	default:
		c.Found = fmt.Sprintf("%d KiB", limit/1024)
		if !releaseAtLeast(release, 5, 11) {
			c.Status, c.Advice = Warn, "ulimit -l unlimited"
		}
	}
	return c
}

// releaseAtLeast: is a release like "6.1.0-18-amd64" major.minor or later?
// What it cannot read is not.
func releaseAtLeast(release string, major, minor int) bool {
	parts := strings.SplitN(release, ".", 3)
	if len(parts) < 2 {
		return false
	}
	gotMajor, err := strconv.Atoi(parts[0])
	if err != nil {
		return false
	}
	digits := strings.IndexFunc(parts[1], func(r rune) bool { return r < '0' || r > '9' })
	if digits < 0 {
		digits = len(parts[1])
	}
	gotMinor, err := strconv.Atoi(parts[1][:digits])
	if err != nil {
		return false
	}
	return gotMajor > major || gotMajor == major && gotMinor >= minor
}
