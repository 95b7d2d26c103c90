package dut

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
)

// tick is the unit of times in /proc: the kernel's USER_HZ is 100 on every
// architecture that Go runs on. Source: proc(5), /proc/pid/stat.
const tick = time.Second / 100

// CPUTime returns the user and system time that the UPF's processes have used, 0
// of an External kind. XDP programs run in softirq, and kernel modules wherever
// the packet is, so their time is not in it.
func (d *Instance) CPUTime() (time.Duration, error) {
	pids, err := d.processes()
	if err != nil {
		return 0, fmt.Errorf("dut: %w", err)
	}
	var sum time.Duration
	for _, pid := range pids {
		used, err := ProcessTime(pid)
		if ended(err) && pid != d.PID() {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("dut: %w", err)
		}
		sum += used
	}
	return sum, nil
}

// ended says whether err is that of reading about a process that is no more.
func ended(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) }

// processes returns the process ids of the group, the program's first.
func (d *Instance) processes() ([]int, error) {
	if d.cmd == nil {
		return nil, nil
	}
	list := []int{d.PID()}
	names, err := filepath.Glob("/proc/[1-9]*/stat")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err != nil || pid == d.PID() {
			continue
		}
		if group, err := syscall.Getpgid(pid); err == nil && group == d.PID() {
			list = append(list, pid)
		}
	}
	return list, nil
}

// ProcessTime returns the user and system time that a process has used.
func ProcessTime(pid int) (time.Duration, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0, err
	}
	stat, err := p.Stat()
	return time.Duration(stat.UTime+stat.STime) * tick, err
}

// Memory is what the UPF's processes occupy.
type Memory struct {
	// ResidentOctets is the resident set. BPF maps that a process has mapped into its
	// memory are in it as far as it touched them.
	ResidentOctets uint64
	// AnonymousOctets is what of it is the processes' own: heap and stacks.
	AnonymousOctets uint64
	MapOctets       uint64 // all BPF maps that they hold, by the kernel's account, each once
}

// Memory returns what the UPF's processes occupy now: nothing, of an External kind.
func (d *Instance) Memory() (Memory, error) {
	pids, err := d.processes()
	if err != nil {
		return Memory{}, fmt.Errorf("dut: %w", err)
	}
	var sum Memory
	maps := map[uint64]uint64{} // octets by map id
	for _, pid := range pids {
		err := addMemory(pid, &sum, maps)
		if ended(err) && pid != d.PID() {
			continue
		}
		if err != nil {
			return Memory{}, fmt.Errorf("dut: %w", err)
		}
	}
	for _, octets := range maps {
		sum.MapOctets += octets
	}
	return sum, nil
}

// addMemory adds what a process occupies.
func addMemory(pid int, sum *Memory, maps map[uint64]uint64) error {
	status, err := os.ReadFile(proc(pid, "status"))
	if err != nil {
		return err
	}
	kib, ok := field(string(status), "VmRSS:")
	if !ok {
		return fmt.Errorf("%s has no VmRSS", proc(pid, "status"))
	}
	anonymous, ok := field(string(status), "RssAnon:")
	if !ok {
		return fmt.Errorf("%s has no RssAnon", proc(pid, "status"))
	}
	sum.ResidentOctets += kib << 10
	sum.AnonymousOctets += anonymous << 10
	return addMaps(pid, maps)
}

// addMaps notes the memlock of the BPF maps among the process's files.
func addMaps(pid int, maps map[uint64]uint64) error {
	files, err := os.ReadDir(proc(pid, "fdinfo"))
	if err != nil {
		return err
	}
	for _, f := range files {
		info, err := os.ReadFile(filepath.Join(proc(pid, "fdinfo"), f.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // closed since
		}
		if err != nil {
			return err
		}
		id, isMap := field(string(info), "map_id:")
		if memlock, ok := field(string(info), "memlock:"); ok && isMap {
			maps[id] = memlock
		}
	}
	return nil
}

// field returns the number after name at the start of a line.
func field(text, name string) (uint64, bool) {
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, name)
		if !ok {
			continue
		}
		words := strings.Fields(rest)
		if len(words) == 0 {
			return 0, false
		}
		n, err := strconv.ParseUint(words[0], 10, 64)
		return n, err == nil
	}
	return 0, false
}

func proc(pid int, name string) string { return filepath.Join("/proc", strconv.Itoa(pid), name) }
