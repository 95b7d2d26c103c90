package meter

import (
	"fmt"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

// BenchmarkFrame measures what a frame costs the meter, without links: a
// program that counts the sequence number up and goes on to the meter. Its own
// cost is the baseline, to be subtracted.
func BenchmarkFrame(b *testing.B) {
	for _, d := range []generator.Direction{generator.Uplink, generator.Downlink} {
		for _, payload := range []int{64, 1400} {
			b.Run(fmt.Sprintf("%v/%d", d, payload), func(b *testing.B) { benchmarkFrame(b, d, payload) })
		}
	}
}

func benchmarkFrame(b *testing.B, d generator.Direction, payload int) {
	r := newRig(b, topology.Config{Name: "plt-cost"}, generator.Config{
		Direction: d, PayloadOctets: payload, Sessions: sessions(1, false),
	}, Config{})
	frame := frameFor(b, r.bed, d, generator.Stamp{Run: testRun}, sessions(1, false)[0], payload)
	for _, next := range []struct {
		name    string
		program *ebpf.Program
	}{
		{"baseline", mustProgram(b, asm.Mov.Imm(asm.R0, xdpDrop), asm.Return())},
		{"meter", r.meter.objects.Meter},
	} {
		counter := countUp(b, next.program, len(frame)-payload+8)
		b.Run(next.name, func(b *testing.B) {
			if err := r.meter.Reset(); err != nil { // else the numbers would not be new
				b.Fatal(err)
			}
			_, took, err := counter.Benchmark(frame, b.N, b.ResetTimer)
			if err != nil {
				b.Fatal(err)
			}
			// The kernel's figure: it leaves out what the system call costs to begin.
			b.ReportMetric(float64(took.Nanoseconds()), "ns/op")
		})
	}
	s, err := r.meter.Read()
	if err != nil {
		b.Fatal(err)
	}
	got := s.Streams[0]
	got.Misdelivered[Payload] = 0 // the number counts up, the checksum does not
	if got.Received == 0 || got.Duplicated+got.Stale+got.MisdeliveredTotal() != 0 {
		b.Errorf("got %+v, want frames that are new and right but for their checksum", got)
	}
}

func mustProgram(t testing.TB, instructions ...asm.Instruction) *ebpf.Program {
	t.Helper()
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, AttachType: ebpf.AttachXDP, License: "GPL", Instructions: instructions})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// countUp returns a program that increments the 64-bit number at offset of the
// frame and goes on to next.
func countUp(t testing.TB, next *ebpf.Program, offset int) *ebpf.Program {
	t.Helper()
	calls, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.ProgramArray, KeySize: 4, ValueSize: 4, MaxEntries: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { calls.Close() })
	if err := calls.Put(uint32(0), next); err != nil {
		t.Fatal(err)
	}
	at := int16(offset)
	return mustProgram(t,
		asm.LoadMem(asm.R2, asm.R1, 0, asm.Word), // data
		asm.LoadMem(asm.R3, asm.R1, 4, asm.Word), // data_end
		asm.Mov.Reg(asm.R4, asm.R2),
		asm.Add.Imm(asm.R4, int32(offset)+8),
		asm.JGT.Reg(asm.R4, asm.R3, "out"),
		asm.LoadMem(asm.R5, asm.R2, at, asm.DWord),
		asm.Add.Imm(asm.R5, 1),
		asm.StoreMem(asm.R2, at, asm.R5, asm.DWord),
		asm.LoadMapPtr(asm.R2, calls.FD()),
		asm.Mov.Imm(asm.R3, 0),
		asm.FnTailCall.Call(),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("out"),
		asm.Return(),
	)
}
