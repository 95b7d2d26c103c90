package doctor

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
)

const (
	gibibyte = 1 << 30
	// lowMemory is where a million sessions and a kernel no longer fit.
	lowMemory = 2 * gibibyte
)

// machine looks at processors and memory.
func machine() []Check {
	return []Check{processors(readFile("/sys/devices/system/cpu/online"), readFile("/sys/devices/system/node/online"),
		readFile("/proc/cpuinfo")), memory(readFile("/proc/meminfo"))}
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

func processors(online, nodes, cpuinfo string) Check {
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
	if model := field(cpuinfo, "model name"); model != "" {
		c.Found += ", " + model
	}
	if cpus < 2 {
		c.Status = Warn
		c.Advice = "two CPUs at least for measurements: on one, the generator takes its share from the UPF"
	}
	return c
}

func memory(meminfo string) Check {
	c := Check{Area: AreaMachine, Name: "memory", Status: OK, NeededFor: "session tables, which are allocated whole at the start"}
	octets, err := kibibytes(field(meminfo, "MemAvailable"))
	if err != nil {
		c.Status, c.Found, c.Advice = Warn, "MemAvailable: "+err.Error(), "mount procfs on /proc"
		return c
	}
	c.Found = fmt.Sprintf("%.1f GiB available", float64(octets)/gibibyte)
	if octets < lowMemory {
		c.Status, c.Advice = Warn, "lower sessions.max in the configuration"
	}
	return c
}

// field returns the value of the first "key : value" line of text, or "".
func field(text, key string) string {
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, 1<<20) // a "flags" line of /proc/cpuinfo is long
	for lines.Scan() {
		k, v, found := strings.Cut(lines.Text(), ":")
		if found && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// kibibytes parses "12345 kB" of /proc/meminfo into octets.
func kibibytes(value string) (octets uint64, err error) {
	number, unit, _ := strings.Cut(value, " ")
	if unit != "kB" {
		return 0, fmt.Errorf("%q is not in kB", value)
	}
	n, err := strconv.ParseUint(number, 10, 54)
	return n * 1024, err
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
