package generator

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// elevate gives the calling thread the lowest real-time priority, which is above
// that of every ordinary program, and returns how to take it away again. It
// returns false where that is not permitted (CAP_SYS_NICE, cgroup).
//
// Other programs then run on other CPUs, or in what the kernel keeps back for
// them: 50 ms of each second. Without that, a machine that is not at rest is
// measured rather than the path. Kernels before 6.12 keep back as much even if
// nobody needs it.
// Source: Linux Documentation/scheduler/sched-rt-group.rst, sched/deadline.c
// (fair server).
func elevate() (relax func(), ok bool) {
	before, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		return func() {}, false
	}
	lowest := &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}
	if unix.SchedSetAttr(0, lowest, 0) != nil {
		return func() {}, false
	}
	return func() { _ = unix.SchedSetAttr(0, before, 0) }, true
}

// elevates reports whether this kernel leaves the path its due when a real-time thread sends.
func (l Load) elevates() bool {
	var uts unix.Utsname
	if !l.Realtime || unix.Uname(&uts) != nil {
		return false
	}
	release := unix.ByteSliceToString(uts.Release[:])
	return receivesBeside(release) && (l.Rate == 0 || keepsCPU(release))
}

// receivesBeside reports whether a kernel of that release goes on receiving on a CPU whose
// ksoftirqd waits for it. Before Linux 6.5 only ksoftirqd receives from when it was woken
// until it has run, which a real-time thread does not let it but for those 50 ms: the
// frames of the rest of each second are lost before the path.
// Source: Linux, kernel/softirq.c, commit d15121be7485 (Revert "softirq: Let ksoftirqd do its job").
func receivesBeside(release string) bool { return since(release, 6, 5) }

// keepsCPU reports whether a kernel of that release leaves a real-time thread its CPU as long
// as nobody else wants it: since Linux 6.12, or if there is no limit. Otherwise it has none
// for 50 ms of each second, after which paced frames would come in a burst.
func keepsCPU(release string) bool {
	limit, err := os.ReadFile("/proc/sys/kernel/sched_rt_runtime_us")
	if err == nil && strings.TrimSpace(string(limit)) == "-1" {
		return true
	}
	return hasFairServer(release)
}

// hasFairServer reports whether a kernel of that release has sched/deadline.c's.
func hasFairServer(release string) bool { return since(release, 6, 12) }

// since reports whether a release is that version or later. One that cannot be read is not.
func since(release string, wantMajor, wantMinor int) bool {
	var major, minor int
	if _, err := fmt.Sscanf(release, "%d.%d", &major, &minor); err != nil {
		return false
	}
	return major > wantMajor || major == wantMajor && minor >= wantMinor
}
