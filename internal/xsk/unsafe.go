package xsk

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// All that goes around Go's types is in this file: memory that is shared with the
// kernel, and options of sockets that package unix has no function for.

// word returns a place of a mapping that the kernel and we change with
// atomic loads and stores.
func word(mem []byte, at uint64) *uint32 {
	return (*uint32)(unsafe.Pointer(&mem[at : at+4][0]))
}

// addresses returns the entries of a fill or completion ring.
func addresses(mem []byte, at uint64, n int) []uint64 {
	room := mem[at : at+uint64(n)*8]
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(room))), n)
}

// descriptors returns the entries of an RX or TX ring.
func descriptors(mem []byte, at uint64, n int) []unix.XDPDesc {
	room := mem[at : at+uint64(n)*uint64(unsafe.Sizeof(unix.XDPDesc{}))]
	return unsafe.Slice((*unix.XDPDesc)(unsafe.Pointer(unsafe.SliceData(room))), n)
}

// octets of the entries of rings.
const (
	lenAddress    = 8
	lenDescriptor = int(unsafe.Sizeof(unix.XDPDesc{}))
)

// OffsetIn returns where b begins in mem; ok: b lies in it, whole.
func OffsetIn(mem, b []byte) (offset uint64, ok bool) {
	if len(b) == 0 {
		return 0, false
	}
	from, at := uintptr(unsafe.Pointer(unsafe.SliceData(mem))), uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	if at < from || at+uintptr(len(b)) > from+uintptr(len(mem)) {
		return 0, false
	}
	return uint64(at - from), true
}

// register makes mem the UMEM of a socket, divided into frames of the given size in octets.
func register(fd int, mem []byte, frame int) error {
	reg := unix.XDPUmemReg{
		Addr: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(mem)))), Len: uint64(len(mem)), Size: uint32(frame),
	}
	_, _, errno := unix.Syscall6(unix.SYS_SETSOCKOPT, uintptr(fd), unix.SOL_XDP, unix.XDP_UMEM_REG,
		uintptr(unsafe.Pointer(&reg)), unsafe.Sizeof(reg), 0)
	if errno == unix.ENOBUFS {
		return fmt.Errorf("UMEM of %d octets: more than this process may lock (CAP_IPC_LOCK, or LimitMEMLOCK=): %w", len(mem), errno)
	}
	if errno != 0 {
		return fmt.Errorf("UMEM of %d octets: %w", len(mem), errno)
	}
	return nil
}

// offsets returns where what of the rings is.
func offsets(fd int) (o unix.XDPMmapOffsets, err error) {
	return o, getOption(fd, unix.XDP_MMAP_OFFSETS, unsafe.Pointer(&o), unsafe.Sizeof(o))
}

// Statistics returns what the kernel counted for the socket.
func (s *Socket) Statistics() (n unix.XDPStatistics, err error) {
	return n, getOption(s.FD, unix.XDP_STATISTICS, unsafe.Pointer(&n), unsafe.Sizeof(n))
}

// zeroCopy reports whether the driver of the device uses the UMEM itself.
func zeroCopy(fd int) (bool, error) {
	var options uint32
	err := getOption(fd, unix.XDP_OPTIONS, unsafe.Pointer(&options), unsafe.Sizeof(options))
	return options&unix.XDP_OPTIONS_ZEROCOPY != 0, err
}

func getOption(fd, option int, to unsafe.Pointer, size uintptr) error {
	n := uint32(size)
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_XDP, uintptr(option),
		uintptr(to), uintptr(unsafe.Pointer(&n)), 0)
	if errno != 0 {
		return fmt.Errorf("option %d of an XDP socket: %w", option, errno)
	}
	return nil
}

// Wake lets the kernel look at the TX ring: sendto(2) without a message.
func (s *Socket) Wake() error {
	_, _, errno := unix.Syscall6(unix.SYS_SENDTO, uintptr(s.FD), 0, 0, unix.MSG_DONTWAIT, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// Poke lets the kernel look at the fill ring and, where it may, poll the device for
// us: recvfrom(2) without a buffer.
func (s *Socket) Poke() error {
	_, _, errno := unix.Syscall6(unix.SYS_RECVFROM, uintptr(s.FD), 0, 0, unix.MSG_DONTWAIT, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
