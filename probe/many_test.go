package probe

import (
	"runtime"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"
)

// Many packets at once, by programs that count a number in them up.

// quietThread keeps the runtime's signals off the thread: a run that is interrupted
// begins anew.
func quietThread(b testing.TB) {
	b.Helper()
	runtime.LockOSThread()
	var all, before unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^uint64(0)
	}
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &all, &before); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil)
		runtime.UnlockOSThread()
	})
}

func classifier(b testing.TB, instructions ...asm.Instruction) *ebpf.Program {
	b.Helper()
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, License: "GPL", Instructions: instructions})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { p.Close() })
	return p
}

// counting returns a program that counts the number at an offset of the frame up and goes
// on to next.
func counting(b testing.TB, next *ebpf.Program, offset int) *ebpf.Program {
	b.Helper()
	calls, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.ProgramArray, KeySize: 4, ValueSize: 4, MaxEntries: 1})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { calls.Close() })
	if err := calls.Put(uint32(0), next); err != nil {
		b.Fatal(err)
	}
	at := int16(offset)
	return classifier(b,
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
}
