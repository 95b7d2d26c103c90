package host

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/lab/report"
)

// Times are those of all CPUs together since boot, from /proc/stat, and that of the
// DUT's processes. Their resolution is 10 ms.
type Times struct {
	At time.Time // when they were read

	user, system, irq, softirq, process time.Duration
}

// Process says how much CPU time the DUT has used, user and system.
type Process interface {
	CPUTime() (time.Duration, error)
}

// ReadTimes reads the clock, the CPUs and the DUT, which may be nil.
func ReadTimes(dut Process) (Times, error) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return Times{}, err
	}
	t, err := parseStat(string(b))
	if err != nil {
		return Times{}, err
	}
	if dut != nil {
		if t.process, err = dut.CPUTime(); err != nil {
			return Times{}, err
		}
	}
	t.At = time.Now()
	return t, nil
}

// parseStat reads the line "cpu" of /proc/stat: user nice system idle iowait irq
// softirq ..., in hundredths of a second. Source: proc(5).
func parseStat(stat string) (Times, error) {
	const user, nice, system, irq, softirq, fields = 1, 2, 3, 6, 7, 8
	line, _, _ := strings.Cut(stat, "\n")
	f := strings.Fields(line)
	if len(f) < fields || f[0] != "cpu" {
		return Times{}, fmt.Errorf("/proc/stat begins %q: want cpu and %d numbers", line, fields-1)
	}
	var times [fields]time.Duration
	for i := 1; i < fields; i++ {
		n, err := strconv.ParseUint(f[i], 10, 53)
		if err != nil {
			return Times{}, fmt.Errorf("/proc/stat: %w", err)
		}
		times[i] = time.Duration(n) * (time.Second / 100)
	}
	return Times{
		user: times[user] + times[nice], system: times[system], irq: times[irq], softirq: times[softirq],
	}, nil
}

// Since returns the shares of one CPU's time between before and t.
func (t Times) Since(before Times) report.CPU {
	elapsed := t.At.Sub(before.At)
	share := func(now, then time.Duration) float64 {
		return max(0, 100*float64(now-then)/float64(elapsed))
	}
	user, system := share(t.user, before.user), share(t.system, before.system)
	softirq, irq := share(t.softirq, before.softirq), share(t.irq, before.irq)
	return report.CPU{
		DUTPercent: share(t.process, before.process), SoftirqPercent: softirq, SystemPercent: system,
		BusyPercent: user + system + softirq + irq,
	}
}

// CPUs returns those that this process may run on, ascending.
func CPUs() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("CPUs: %w", err)
	}
	var list []int
	for cpu := range 8 * len(set) * 8 {
		if set.IsSet(cpu) {
			list = append(list, cpu)
		}
	}
	return list, nil
}
