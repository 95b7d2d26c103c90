package bench

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"plumbline/lab/report"
)

// cpuTimes are the times of all CPUs together since boot, from /proc/stat, and
// that of the DUT's process. Their resolution is 10 ms.
type cpuTimes struct {
	at                                  time.Time
	user, system, irq, softirq, process time.Duration
}

// process says how much CPU time the DUT's process has used.
type process interface {
	CPUTime() (time.Duration, error)
}

// readCPU reads the clock, the CPUs and the DUT, which may be nil.
func readCPU(dut process) (cpuTimes, error) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return cpuTimes{}, err
	}
	t, err := parseStat(string(b))
	if err != nil {
		return cpuTimes{}, err
	}
	if dut != nil {
		if t.process, err = dut.CPUTime(); err != nil {
			return cpuTimes{}, err
		}
	}
	t.at = time.Now()
	return t, nil
}

// parseStat reads the line "cpu" of /proc/stat: user nice system idle iowait irq
// softirq ..., in hundredths of a second. Source: proc(5).
func parseStat(stat string) (cpuTimes, error) {
	const user, nice, system, irq, softirq, fields = 1, 2, 3, 6, 7, 8
	line, _, _ := strings.Cut(stat, "\n")
	f := strings.Fields(line)
	if len(f) < fields || f[0] != "cpu" {
		return cpuTimes{}, fmt.Errorf("/proc/stat begins %q: want cpu and %d numbers", line, fields-1)
	}
	var times [fields]time.Duration
	for i := 1; i < fields; i++ {
		n, err := strconv.ParseUint(f[i], 10, 53)
		if err != nil {
			return cpuTimes{}, fmt.Errorf("/proc/stat: %w", err)
		}
		times[i] = time.Duration(n) * (time.Second / 100)
	}
	return cpuTimes{
		user: times[user] + times[nice], system: times[system], irq: times[irq], softirq: times[softirq],
	}, nil
}

// since returns the shares of one CPU's time between before and t.
func (t cpuTimes) since(before cpuTimes) report.CPU {
	elapsed := t.at.Sub(before.at)
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
