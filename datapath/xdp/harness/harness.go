// Package harness measures an XDP program by BPF_PROG_RUN, in ns per packet,
// with the packet restored before each run and the harness's own cost taken
// off. It is linked into benchmarks only.
package harness

import (
	"fmt"
	"time"

	"github.com/cilium/ebpf"
)

//go:generate go tool bpf2go -cc clang-19 -target bpfel -go-package harness harness ../../../bpf/upf/harness.bpf.c -- -O2 -g -Wall -Wextra -Werror -Wshadow -mcpu=v3 -I../../../bpf/include -I/usr/include/x86_64-linux-gnu

// Packet is what a program under test is given, again and again.
type Packet struct {
	Frame    []byte // at least 96 octets; only the first 96 are restored
	Sessions uint32
	Random   bool // a session at random for each packet, else always the first
	// Offsets in the frame where the session's number is added to TEID and
	// Address; 0: nowhere.
	TEIDAt, AddressAt uint32
	TEID, Address     uint32 // of the first session
}

// Harness runs programs. It is not safe for concurrent use.
type Harness struct{ objs harnessObjects }

// Open loads the harness.
func Open() (*Harness, error) { return OpenClock(nil) }

// OpenClock loads the harness with the clock that the programs under test have: an
// array of one word, in ns. Nil: they have the kernel's.
func OpenClock(clock *ebpf.Map) (*Harness, error) {
	h, opts := &Harness{}, &ebpf.CollectionOptions{}
	if clock != nil {
		opts.MapReplacements = map[string]*ebpf.Map{"clock": clock}
	}
	if err := loadHarnessObjects(&h.objs, opts); err != nil {
		return nil, fmt.Errorf("harness: %w", err)
	}
	return h, nil
}

// Close frees the harness.
func (h *Harness) Close() error { return h.objs.Close() }

const xdpRedirect = 4

// Measure returns the mean time of one run of prog over n runs, without the
// harness, and an error if the last run did not redirect the packet.
func (h *Harness) Measure(prog *ebpf.Program, p Packet, n int) (time.Duration, error) {
	if err := h.set(p); err != nil {
		return 0, err
	}
	empty, _, err := h.run(h.objs.Nothing, p.Frame, n)
	if err != nil {
		return 0, err
	}
	whole, action, err := h.run(prog, p.Frame, n)
	if err != nil {
		return 0, err
	}
	if action != xdpRedirect {
		return 0, fmt.Errorf("harness: the program under test returns %d, want %d", action, xdpRedirect)
	}
	return whole - empty, nil
}

func (h *Harness) set(p Packet) error {
	var random uint32
	if p.Random {
		random = 1
	}
	for _, v := range []struct {
		variable *ebpf.Variable
		value    any
	}{
		{h.objs.Frame, [96]byte(p.Frame)},
		{h.objs.FrameOctets, uint32(len(p.Frame))},
		{h.objs.Sessions, p.Sessions},
		{h.objs.Random, random},
		{h.objs.TeidAt, p.TEIDAt},
		{h.objs.AddressAt, p.AddressAt},
		{h.objs.Teid, p.TEID},
		{h.objs.Address, p.Address},
	} {
		if err := v.variable.Set(v.value); err != nil {
			return fmt.Errorf("harness: set %v: %w", v.variable, err)
		}
	}
	return nil
}

func (h *Harness) run(prog *ebpf.Program, frame []byte, n int) (time.Duration, uint32, error) {
	if err := h.objs.Target.Put(uint32(0), prog); err != nil {
		return 0, 0, fmt.Errorf("harness: program under test: %w", err)
	}
	action, mean, err := h.objs.Restore.Benchmark(frame, n, nil)
	if err != nil {
		return 0, 0, fmt.Errorf("harness: run: %w", err)
	}
	return mean, action, nil
}
