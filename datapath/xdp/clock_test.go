package xdp

import (
	"errors"
	"fmt"
	"testing"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
)

// clock is one that a test moves, for programs and slow path: the call of
// bpf_ktime_get_ns(), and of the coarse one, is replaced by one of a function that reads a map.
type clock struct {
	table *ebpf.Map
	mapped[uint64]
}

const clockFunction = "test_clock"

func newClock(t testing.TB) *clock {
	t.Helper()
	table, err := ebpf.NewMap(&ebpf.MapSpec{
		Name: clockFunction, Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1, Flags: 0x400, // BPF_F_MMAPABLE
	})
	if err != nil {
		t.Fatal(err)
	}
	mem, err := mapMemory[uint64](table)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(mem.unmap(), table.Close()); err != nil {
			t.Error(err)
		}
	})
	mem.slots[0] = 1e9
	return &clock{table, mem}
}

// Pass lets time pass.
func (c *clock) Pass(d time.Duration) { c.slots[0] += uint64(d) }

func (c *clock) read() uint64 { return c.slots[0] }

// edit puts the clock into the programs.
func (c *clock) edit(spec *ebpf.CollectionSpec) error {
	calls := 0
	for _, p := range spec.Programs {
		n := c.replace(p.Instructions)
		if n > 0 {
			// The verifier wants a source line of each function: any will do.
			p.Instructions = append(p.Instructions, c.function(p.Instructions[0].Source())...)
		}
		calls += n
	}
	if calls == 0 {
		return fmt.Errorf("no program asks for the time")
	}
	return nil
}

// replace changes calls of the helper, in their place, so that no jump changes.
func (c *clock) replace(code asm.Instructions) (calls int) {
	for i, ins := range code {
		if !ins.IsBuiltinCall() || ins.Constant != int64(asm.FnKtimeGetNs) && ins.Constant != int64(asm.FnKtimeGetCoarseNs) && ins.Constant != int64(asm.FnJiffies64) {
			continue
		}
		ins.Src, ins.Constant = asm.PseudoCall, -1
		code[i] = ins.WithReference(clockFunction)
		calls++
	}
	return calls
}

func (c *clock) function(line fmt.Stringer) asm.Instructions {
	u64 := &btf.Int{Name: "__u64", Size: uint32(unsafe.Sizeof(uint64(0)))}
	about := &btf.Func{Name: clockFunction, Type: &btf.FuncProto{Return: u64}, Linkage: btf.StaticFunc}
	return asm.Instructions{
		btf.WithFuncMetadata(asm.LoadMapValue(asm.R1, c.table.FD(), 0).WithSymbol(clockFunction).WithSource(line), about),
		asm.LoadMem(asm.R0, asm.R1, 0, asm.DWord),
		asm.Return(),
	}
}

// TestClock: the programs go by the clock of the test, and by no other.
func TestClock(t *testing.T) {
	c := newClock(t)
	b := openConfig(t, Config{MaxSessions: conformance.MaxSessions, now: c.read, edit: c.edit}, bedPorts())
	s := conformance.Sessions()[0]
	s.Qers[0].UplinkMbrBps = 1000
	if err := b.Apply(t.Context(), &api.Change{Seid: s.GetSeid(), Session: s}); err != nil {
		t.Fatal(err)
	}
	frame, _ := conformance.BenchFrames() // 92 octets of user packet, 736 ms of the rate
	for _, step := range []struct {
		pass time.Duration
		want int
	}{{0, 49}, {60 * time.Millisecond, 0}, {10 * time.Millisecond, 1}, {time.Hour, 49}} {
		c.Pass(step.pass)
		n := 0
		for b.Frame(t, conformance.N3, frame).Packet != nil {
			n++
		}
		if n != step.want {
			t.Errorf("%v later %d packets passed, want %d", step.pass, n, step.want)
		}
	}
}
