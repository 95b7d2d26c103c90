package afxdp

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// progRun is union bpf_attr of BPF_PROG_TEST_RUN. Source: linux/bpf.h.
type progRun struct {
	program, returned, octets, octetsOut uint32
	in, out                              uint64
	repeat, duration                     uint32
	contextOctets, contextOctetsOut      uint32
	context, contextOut                  uint64
	flags, cpu, batch                    uint32
	_                                    uint32
}

// runProgram makes the kernel run a program. RawSyscall hides the call from the runtime's
// scheduler: it does not sleep, but takes long enough that the runtime would hand off the
// processor.
func runProgram(r *progRun) error {
	_, _, errno := unix.RawSyscall(unix.SYS_BPF, unix.BPF_PROG_TEST_RUN, uintptr(unsafe.Pointer(r)), unsafe.Sizeof(*r))
	if errno != 0 {
		return errno
	}
	return nil
}
