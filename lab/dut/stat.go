package dut

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"plumbline/upf"
)

// tick is the unit of times in /proc: the kernel's USER_HZ is 100 on every
// architecture that Go runs on. Source: proc(5), /proc/pid/stat.
const tick = time.Second / 100

// CPUTime returns the user and system time that the process has used. XDP
// programs run in softirq, so their time is not in it.
func (d *DUT) CPUTime() (time.Duration, error) {
	b, err := os.ReadFile(d.proc("stat"))
	if err != nil {
		return 0, fmt.Errorf("dut: %w", err)
	}
	return parseCPUTime(string(b))
}

// parseCPUTime reads fields 14 (utime) and 15 (stime) of /proc/pid/stat. The
// second field, the program's name in parentheses, may hold anything.
func parseCPUTime(stat string) (time.Duration, error) {
	const state, utime, stime = 3, 14, 15
	after := stat[strings.LastIndexByte(stat, ')')+1:]
	fields := strings.Fields(after)
	if len(fields) <= stime-state {
		return 0, fmt.Errorf("dut: /proc/pid/stat of %d fields: want %d", len(fields), stime-state+1)
	}
	var ticks uint64
	for _, s := range []string{fields[utime-state], fields[stime-state]} {
		n, err := strconv.ParseUint(s, 10, 62)
		if err != nil {
			return 0, fmt.Errorf("dut: /proc/pid/stat: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * tick, nil
}

// Memory is what the DUT occupies.
type Memory struct {
	// ResidentOctets is the resident set of the process. Maps that it has
	// mapped into its memory are in it as far as it touched them.
	ResidentOctets uint64
	// AnonymousOctets is what of it is the process's own: heap and stacks.
	AnonymousOctets uint64
	MapOctets       uint64 // all BPF maps that it holds, by the kernel's account
}

// Memory returns what the DUT occupies now.
func (d *DUT) Memory() (Memory, error) {
	status, err := os.ReadFile(d.proc("status"))
	if err != nil {
		return Memory{}, fmt.Errorf("dut: %w", err)
	}
	kib, ok := field(string(status), "VmRSS:")
	if !ok {
		return Memory{}, errors.New("dut: /proc/pid/status has no VmRSS")
	}
	anonymous, ok := field(string(status), "RssAnon:")
	if !ok {
		return Memory{}, errors.New("dut: /proc/pid/status has no RssAnon")
	}
	maps, err := d.mapOctets()
	return Memory{ResidentOctets: kib << 10, AnonymousOctets: anonymous << 10, MapOctets: maps}, err
}

// mapOctets adds up the memlock of the BPF maps among the process's files, each
// map once.
func (d *DUT) mapOctets() (uint64, error) {
	files, err := os.ReadDir(d.proc("fdinfo"))
	if err != nil {
		return 0, fmt.Errorf("dut: %w", err)
	}
	octets := map[uint64]uint64{} // by map id
	for _, f := range files {
		info, err := os.ReadFile(filepath.Join(d.proc("fdinfo"), f.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // closed since
		}
		if err != nil {
			return 0, fmt.Errorf("dut: %w", err)
		}
		id, isMap := field(string(info), "map_id:")
		if memlock, ok := field(string(info), "memlock:"); ok && isMap {
			octets[id] = memlock
		}
	}
	var sum uint64
	for _, n := range octets {
		sum += n
	}
	return sum, nil
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

func (d *DUT) proc(name string) string {
	return filepath.Join("/proc", strconv.Itoa(d.PID()), name)
}

// Drops returns how many packets the DUT says that it dropped, by reason.
func (d *DUT) Drops(ctx context.Context) (map[string]uint64, error) {
	answer, err := d.client.Drops(ctx)
	if err != nil {
		return nil, fmt.Errorf("dut: drops: %w", err)
	}
	drops := make(map[string]uint64, len(answer.Drops))
	for _, r := range answer.Drops {
		drops[r.Reason] = r.Packets
	}
	return drops, nil
}

// Datapath returns what the DUT says forwards its packets.
func (d *DUT) Datapath(ctx context.Context) (*upf.Datapath, error) {
	answer, err := d.client.Datapath(ctx)
	if err != nil {
		return nil, fmt.Errorf("dut: datapath: %w", err)
	}
	return answer, nil
}

// Session returns what the DUT says of a session of its own, by its SEID there.
func (d *DUT) Session(ctx context.Context, seid uint64) (*upf.Session, error) {
	answer, err := d.client.Session(ctx, upf.SEID(seid))
	if err != nil {
		return nil, fmt.Errorf("dut: session %#x: %w", seid, err)
	}
	return answer, nil
}
