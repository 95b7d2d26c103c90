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

// runProgram has the kernel run a program. The runtime is not told of the system call:
// it does not sleep, and takes long enough for the processor to be given away.
func runProgram(r *progRun) error {
	_, _, errno := unix.RawSyscall(unix.SYS_BPF, unix.BPF_PROG_TEST_RUN, uintptr(unsafe.Pointer(r)), unsafe.Sizeof(*r))
	if errno != 0 {
		return errno
	}
	return nil
}
