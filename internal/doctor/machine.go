package doctor

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
)

const (
	gibibyte = 1 << 30
	// lowMemory is where a million sessions and a kernel no longer fit.
	lowMemory = 2 * gibibyte
)

// machine looks at processors and memory.
func machine() []Check {
	var cpus []procfs.CPUInfo
	var octets procfs.Meminfo
	proc, err := procfs.NewDefaultFS()
	if err == nil {
		cpus, _ = proc.CPUInfo() // the model is not worth a warning
		octets, err = proc.Meminfo()
	}
	return []Check{
		processors(readFile("/sys/devices/system/cpu/online"), readFile("/sys/devices/system/node/online"), cpus),
		memory(octets.MemAvailableBytes, err),
	}
}

// readFile returns the text of a file under /proc or /sys, or "": every caller
// treats an absent file and an empty one alike.
func readFile(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

func processors(online, nodes string, info []procfs.CPUInfo) Check {
	c := Check{Area: AreaMachine, Name: "CPUs", Status: OK, NeededFor: "packets per second: one receive queue is one CPU's work"}
	cpus, err := countList(online)
	if err != nil {
		c.Status, c.Found = Warn, err.Error()
		c.Advice = "mount sysfs on /sys"
		return c
	}
	c.Found = fmt.Sprintf("%d online", cpus)
	if n, err := countList(nodes); err == nil {
		c.Found += fmt.Sprintf(", %d NUMA node(s)", n)
	}
	if len(info) > 0 && info[0].ModelName != "" {
		c.Found += ", " + info[0].ModelName
	}
	if cpus < 2 {
		c.Status = Warn
		c.Advice = "two CPUs at least for measurements: on one, the generator takes its share from the UPF"
	}
	return c
}

// memory judges what is available, of which nil is not known.
func memory(available *uint64, err error) Check {
	c := Check{Area: AreaMachine, Name: "memory", Status: OK, NeededFor: "session tables, which are allocated whole at the start"}
	if err == nil && available == nil {
		err = errors.New("/proc/meminfo does not say")
	}
	if err != nil {
		c.Status, c.Found, c.Advice = Warn, "MemAvailable: "+err.Error(), "mount procfs on /proc"
		return c
	}
	c.Found = fmt.Sprintf("%.1f GiB available", float64(*available)/gibibyte)
	if *available < lowMemory {
		c.Status, c.Advice = Warn, "lower sessions.max in the configuration"
	}
	return c
}

// countList counts the members of a kernel list like "0-3,8".
func countList(list string) (n int, err error) {
	for part := range strings.SplitSeq(strings.TrimSpace(list), ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		first, err := strconv.ParseUint(low, 10, 16)
		if err != nil {
			return 0, fmt.Errorf("list %q: %w", list, err)
		}
		last, err := strconv.ParseUint(high, 10, 16)
		if err != nil {
			return 0, fmt.Errorf("list %q: %w", list, err)
		}
		if last < first {
			return 0, fmt.Errorf("list %q: %d before %d", list, first, last)
		}
		n += int(last-first) + 1
	}
	return n, nil
}
