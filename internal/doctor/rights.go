package doctor

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/caps"
	"github.com/plumbline-upf/plumbline/internal/verifier"
)

// capability is one that some part of Plumbline needs.
type capability struct {
	name      string
	bit       int
	neededFor string
	required  bool
}

var capabilities = []capability{
	{"CAP_NET_ADMIN", unix.CAP_NET_ADMIN, "attaching XDP, resolving next hops", true},
	{"CAP_BPF", unix.CAP_BPF, "loading eBPF programs, writing their tables", true},
	{"CAP_PERFMON", unix.CAP_PERFMON, "eBPF programs that compute with packet pointers", true},
	{"CAP_NET_RAW", unix.CAP_NET_RAW, "packets that the slow path finishes", true},
	{"CAP_SYS_ADMIN", unix.CAP_SYS_ADMIN, "namespaces of plumb bench and plumb gnb", false},
}

// memlockCapability raises RLIMIT_MEMLOCK, to which eBPF memory is charged before 5.11.
var memlockCapability = capability{"CAP_SYS_RESOURCE", unix.CAP_SYS_RESOURCE, "raising RLIMIT_MEMLOCK for eBPF maps", false}

// MissingCapabilities are those without which no eBPF program of the UPF can be judged: the
// verifier refuses for want of them what it else takes.
func MissingCapabilities() (missing []string) {
	for _, c := range capabilityChecks(caps.Effective()) {
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
	release := verifier.KernelRelease()
	have, capsErr := caps.Effective()
	checks := capabilityChecks(have, capsErr)
	if !releaseAtLeast(release, 5, 11) {
		checks = append(checks, memlockCapability.check(have, capsErr))
	}
	return append(checks, memlock(limit.Cur, err, release, have.Has(unix.CAP_IPC_LOCK)))
}

// capabilityChecks judges the effective capabilities.
func capabilityChecks(have caps.Set, err error) []Check {
	var checks []Check
	for _, c := range capabilities {
		checks = append(checks, c.check(have, err))
	}
	return checks
}

// check says whether the capability is effective.
func (c capability) check(have caps.Set, err error) Check {
	row := Check{Area: AreaRights, Name: c.name, NeededFor: c.neededFor, Required: c.required}
	switch {
	case err != nil:
		row.Status, row.Found, row.Advice = Warn, err.Error(), "see capget(2)"
	case have.Has(c.bit), c.impliedBySysAdmin() && have.Has(unix.CAP_SYS_ADMIN):
		row.Status, row.Found = OK, "effective"
	case c.required:
		row.Status, row.Found = Missing, "not effective"
		row.Advice = "run as root, or setcap cap_net_admin,cap_bpf,cap_perfmon,cap_net_raw+ep on plumb"
	default:
		row.Status, row.Found, row.Advice = Warn, "not effective", "run as root; a container has to be given it"
	}
	return row
}

// impliedBySysAdmin: CAP_SYS_ADMIN still grants what CAP_BPF and CAP_PERFMON
// were split off from it for (Linux 5.8).
func (c capability) impliedBySysAdmin() bool {
	return c.bit == unix.CAP_BPF || c.bit == unix.CAP_PERFMON
}

// framesOctets is what one worker of the afxdp datapath locks by default: afxdp.frames of
// 2048 octets.
const framesOctets = 16384 * 2048

// memlock judges RLIMIT_MEMLOCK. The frames of AF_XDP are charged to it, unless
// CAP_IPC_LOCK is effective (unlimited); eBPF memory is before Linux 5.11, and to the
// cgroup since.
func memlock(limit uint64, err error, release string, unlimited bool) Check {
	c := Check{Area: AreaRights, Name: "locked memory", Status: OK, NeededFor: "frames of the afxdp datapath"}
	old := !releaseAtLeast(release, 5, 11)
	if old {
		c.NeededFor = "eBPF maps, frames of the afxdp datapath"
	}
	switch {
	case err != nil:
		c.Status, c.Found = Warn, err.Error()
		c.Advice = "see getrlimit(2)"
	case limit == unix.RLIM_INFINITY:
		c.Found = "unlimited"
	default:
		c.Found = fmt.Sprintf("%d KiB", limit/1024)
		if old || limit < framesOctets && !unlimited {
			c.Status, c.Advice = Warn, "ulimit -l unlimited; LimitMEMLOCK=infinity of systemd"
		} else if unlimited {
			c.Found += ", which CAP_IPC_LOCK lifts"
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
