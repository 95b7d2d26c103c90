package probe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/inet"
	"github.com/plumbline-upf/plumbline/internal/stats"
	"github.com/plumbline-upf/plumbline/probe/hook"
)

// Programs measured alone, with tables of their own: packets that differ in a number
// come in, some thousand at a time, and then leave.

// trialPackets are in flight at once; fewer if there is room for less.
const trialPackets = 4096

// trialRounds are as many as it takes for the median to be left alone by others on the
// machine.
const trialRounds = 15

// MeasureCost measures what a packet costs at points, which [PointCount].Cost.Alone says
// from then on. It takes about half a second of a CPU.
func (p *Probe) MeasureCost() error {
	var alone [2][3]time.Duration
	for _, d := range []Direction{Uplink, Downlink} {
		in, out, err := p.try(d)
		if err != nil {
			return fmt.Errorf("probe: cost of %v: %w", d, err)
		}
		if d == Uplink {
			alone[In][N3], alone[In][Both], alone[Out][N6] = in, in, out
		} else {
			alone[In][N6], alone[Out][N3], alone[Out][Both] = in, out, out
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.alone = alone
	return nil
}

// try measures the programs of both ends of a direction.
func (p *Probe) try(d Direction) (in, out time.Duration, err error) {
	user := trialUser()
	entry, exit := Point{Way: In, Side: N3}, Point{Way: Out, Side: N6}
	entryFrame, exitFrame := trialTunnel(user), trialEther(user)
	if d == Downlink {
		entry.Side, exit.Side = N6, N3
		entryFrame, exitFrame = exitFrame, entryFrame
	}
	tables, programs, err := p.trialPrograms(entry, exit)
	if err != nil {
		return 0, 0, err
	}
	defer tables.Close()
	nothing, err := classifier(asm.Mov.Imm(asm.R0, passOn), asm.Return())
	if err != nil {
		return 0, 0, err
	}
	programs = append(programs, nothing, nothing)
	frames := [][]byte{entryFrame, exitFrame, entryFrame, exitFrame}
	took, err := timed(programs, frames, trialBehind, int(min(trialPackets, p.cfg.sets()/2+1)), trialRounds)
	for _, x := range programs[:3] {
		err = errors.Join(err, x.Close())
	}
	if err != nil {
		return 0, 0, err
	}
	return stats.Middle(took[0]) - stats.Middle(took[2]), stats.Middle(took[1]) - stats.Middle(took[3]), nil
}

// trialPrograms loads the programs of two points over tables of their own.
func (p *Probe) trialPrograms(points ...Point) (tables *ebpf.Collection, programs []*ebpf.Program, err error) {
	spec := p.spec.Copy()
	for _, name := range []string{"account_by_series", "matched_by_series", "swept_by_series"} {
		spec.Maps[name].MaxEntries = 2
	}
	spec.Programs = nil
	if tables, err = ebpf.NewCollection(spec); err != nil {
		return nil, nil, err
	}
	shared := maps.Clone(tables.Maps)
	delete(shared, ".rodata")
	for i, at := range points {
		spec := spec.Copy()
		spec.Programs = map[string]*ebpf.ProgramSpec{"probe": p.spec.Programs["probe"].Copy()}
		c := p.constants(&pointState{point: at, number: uint32(i)}, UPF{}, hook.Device{Tun: true})
		if err := spec.Variables["here"].Set(c); err != nil {
			return nil, nil, errors.Join(err, closeAll(tables, programs))
		}
		coll, err := ebpf.NewCollectionWithOptions(spec, ebpf.CollectionOptions{MapReplacements: shared})
		if err != nil {
			return nil, nil, errors.Join(err, closeAll(tables, programs))
		}
		programs = append(programs, coll.DetachProgram("probe"))
		coll.Close()
	}
	return tables, programs, nil
}

func closeAll(tables *ebpf.Collection, programs []*ebpf.Program) error {
	tables.Close()
	var errs []error
	for _, p := range programs {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}

// timed has each program in turn see the packets of its frame, so often, and returns the
// times for one packet of each turn. Before the last octets of a frame, so many, is the
// number of the packet.
func timed(programs []*ebpf.Program, frames [][]byte, behind, packets, rounds int) (took [][]time.Duration, err error) {
	took = make([][]time.Duration, len(programs))
	counted := make([]*numbering, len(programs))
	for i, program := range programs {
		if counted[i], err = counting(program, len(frames[i])-behind); err != nil {
			return nil, err
		}
		defer counted[i].Close()
	}
	err = quietly(func() error {
		for range rounds {
			for i := range counted {
				_, once, err := counted[i].Benchmark(frames[i], packets, nil)
				if err != nil {
					return err
				}
				took[i] = append(took[i], once)
			}
		}
		return nil
	})
	return took, err
}

// quietly keeps the runtime's signals off the thread: the kernel begins a run anew that
// is interrupted.
func quietly(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, before unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^uint64(0)
	}
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &all, &before); err != nil {
		return fmt.Errorf("mask signals: %w", err)
	}
	return errors.Join(f(), unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil))
}

// passOn is TC_ACT_UNSPEC: the next program is asked.
const passOn = -1

func classifier(instructions ...asm.Instruction) (*ebpf.Program, error) {
	return ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, License: "GPL", Instructions: instructions})
}

// numbering is a program that gives each packet a number and goes on to another program.
type numbering struct {
	*ebpf.Program
	next *ebpf.Map // the kernel empties it when nobody has it open
}

// Close implements [io.Closer].
func (n *numbering) Close() error { return errors.Join(n.Program.Close(), n.next.Close()) }

// counting returns a program that counts the number at an offset of the frame up and goes
// on to next.
func counting(next *ebpf.Program, offset int) (*numbering, error) {
	calls, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.ProgramArray, KeySize: 4, ValueSize: 4, MaxEntries: 1, Contents: []ebpf.MapKV{{Key: uint32(0), Value: next}}})
	if err != nil {
		return nil, err
	}
	at := int16(offset)
	program, err := classifier(
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.LoadMem(asm.R2, asm.R1, 76, asm.Word), // data
		asm.LoadMem(asm.R3, asm.R1, 80, asm.Word), // data_end
		asm.Mov.Reg(asm.R4, asm.R2),
		asm.Add.Imm(asm.R4, int32(offset)+4),
		asm.JGT.Reg(asm.R4, asm.R3, "out"),
		asm.LoadMem(asm.R5, asm.R2, at, asm.Word),
		asm.Add.Imm(asm.R5, 1),
		asm.StoreMem(asm.R2, at, asm.R5, asm.Word),
		asm.Mov.Reg(asm.R1, asm.R6),
		asm.LoadMapPtr(asm.R2, calls.FD()),
		asm.Mov.Imm(asm.R3, 0),
		asm.FnTailCall.Call(),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("out"),
		asm.Return(),
	)
	if err != nil {
		return nil, errors.Join(err, calls.Close())
	}
	return &numbering{program, calls}, nil
}

// trialBehind is how many octets of a user packet there are from its number on.
const trialBehind = 72

// trialUser is a UDP packet.
func trialUser() []byte {
	b := make([]byte, inet.LenIPv4+8+trialBehind)
	trialIP(b)
	binary.BigEndian.PutUint16(b[inet.LenIPv4+4:], 8+trialBehind)
	return b
}

// trialIP writes the header of an IPv4 packet with UDP, as far as programs look at it.
func trialIP(b []byte) {
	b[0], b[9] = 0x45, unix.IPPROTO_UDP
	binary.BigEndian.PutUint16(b[2:], uint16(len(b)))
	copy(b[12:], []byte{192, 0, 2, 1, 192, 0, 2, 2})
}

// trialTunnel is the frame of a user packet in a G-PDU with a PDU Session Container.
// Source: TS 29.281 V18.1.0, 5.1.
func trialTunnel(user []byte) []byte {
	b := make([]byte, inet.LenIPv4+8, inet.LenIPv4+24+len(user))
	b = append(b, 0x34, 255)
	b = binary.BigEndian.AppendUint16(b, uint16(8+len(user)))
	b = append(append(b, 0, 0, 0, 1, 0, 0, 0, 0x85, 1, 0x10, 9, 0), user...)
	trialIP(b)
	binary.BigEndian.PutUint16(b[inet.LenIPv4+2:], gtpu.Port)
	return trialEther(b)
}

// trialEther puts an Ethernet header before a packet.
func trialEther(packet []byte) []byte {
	return append([]byte{12: 8, 13: 0}, packet...)
}
