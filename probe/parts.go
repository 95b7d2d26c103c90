package probe

import (
	"errors"
	"fmt"
	"maps"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// Parts are what delays consist of where a UPF reads packets from a socket or a TUN
// device, on the thread that sends them:
//
//	comes in ──── Queued ────► read returns ──── Inside ────► leaves
//
// Packets of one read share the time of its return, so Inside has in it what the packets
// before took that were read with it.
type Parts struct {
	Queued *hdrhistogram.Histogram // ns, like Series.Delay
	Inside *hdrhistogram.Histogram // ns, likewise; as many as Queued

	// Unknown packets are matched ones that cannot be taken apart: another thread sent
	// them than the one that read them, or it was not seen reading.
	Unknown uint64
	// Batched packets were not the first to leave of those that were read at once.
	Batched uint64
}

// Reader is a file that a UPF reads packets from.
type Reader struct {
	PID       int // of the process, as the first PID namespace has it
	FD        int
	Direction Direction // of the packets: Uplink for GTP-U sockets, Downlink for TUN devices
}

// maxReaders is the room for them: bpf/probe_parts.h.
const maxReaders = 1024

// ErrNoParts is returned where Config.Parts is not set.
var ErrNoParts = errors.New("delays are not taken apart")

// Follow says which files the UPFs read packets from, all of them: others are followed
// no more. [Readers] finds them; call it again now and then, since a UPF may open other
// ones. The system calls of all processes cost a little more while Config.Parts is set.
//
// Errors: ErrNoParts, and those of the kernel's table, which has room for 1024.
func (p *Probe) Follow(readers []Reader) error {
	if !p.cfg.Parts {
		return fmt.Errorf("probe: follow readers: %w", ErrNoParts)
	}
	if len(readers) > maxReaders {
		return fmt.Errorf("probe: follow readers: %d: there is room for %d", len(readers), maxReaders)
	}
	wanted := map[probeReader]uint32{}
	for _, r := range readers {
		wanted[probeReader{Tgid: uint32(r.PID), Fd: int32(r.FD)}] = uint32(r.Direction)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	table := p.base.Maps["direction_by_reader"]
	for old := range p.readers {
		if _, stays := wanted[old]; stays {
			continue
		}
		if err := table.Delete(old); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return fmt.Errorf("probe: follow readers: %w", err)
		}
		delete(p.readers, old)
	}
	for reader, direction := range wanted {
		if p.readers[reader] == direction+1 {
			continue
		}
		if err := table.Put(reader, direction); err != nil {
			return fmt.Errorf("probe: follow readers: %w", err)
		}
		p.readers[reader] = direction + 1
	}
	return nil
}

// partMaps have a value for each series if Config.Parts is set.
var partMaps = []string{"queued_by_series", "inside_by_series", "parts_by_series"}

// partConstants are those of bpf/probe_parts.h.
func (c *Config) partConstants(constants map[string]any) {
	maps.Copy(constants, map[string]any{
		"parting":    flag(c.Parts),
		"read_calls": [...]uint32{unix.SYS_READ, unix.SYS_READV, unix.SYS_RECVFROM, unix.SYS_RECVMSG, unix.SYS_RECVMMSG},
	})
}

// watchReads attaches the program that sees reads return.
func (p *Probe) watchReads() error {
	if !p.cfg.Parts {
		return nil
	}
	p.readers = map[probeReader]uint32{}
	reads, err := link.AttachTracing(link.TracingOptions{Program: p.base.Programs["read_returned"]})
	if err != nil {
		return fmt.Errorf("see reads return: %w", err)
	}
	p.reads = reads
	return nil
}

// parts reads what the delays of a series consist of.
func (p *Probe) parts(n uint32, matched uint64) (*Parts, error) {
	if !p.cfg.Parts {
		return nil, nil
	}
	var perCPU []probeParts
	if err := p.base.Maps["parts_by_series"].Lookup(n, &perCPU); err != nil {
		return nil, err
	}
	parts := &Parts{}
	for _, cpu := range perCPU {
		parts.Unknown += cpu.Unknown
		parts.Batched += cpu.Batched
	}
	var err error
	if parts.Queued, err = p.histogram("queued_by_series", n, matched); err != nil {
		return nil, err
	}
	parts.Inside, err = p.histogram("inside_by_series", n, matched)
	return parts, err
}
