package generator

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// All that goes around Go's types for [xdpOutput]: memory that is shared with the kernel,
// and options that package unix has no function for.

const (
	xdpAddressOctets    = 8
	xdpDescriptorOctets = int(unsafe.Sizeof(unix.XDPDesc{}))
)

// xdpRing is a ring of xdpFrames entries: two counters that only grow, of which one is the
// kernel's. Source: Linux net/xdp/xsk_queue.h.
type xdpRing struct {
	memory                    []byte
	producer, consumer, flags *uint32
	entries                   unsafe.Pointer
	own                       uint32 // our counter, as last stored
}

// mapXDPRing maps the ring at an offset of the socket.
func mapXDPRing(fd int, page int64, at unix.XDPRingOffset, entryOctets int) (xdpRing, error) {
	memory, err := unix.Mmap(fd, page, int(at.Desc)+xdpFrames*entryOctets, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return xdpRing{}, fmt.Errorf("map a ring of %d entries: %w", xdpFrames, err)
	}
	word := func(offset uint64) *uint32 { return (*uint32)(unsafe.Pointer(&memory[offset])) }
	return xdpRing{
		memory: memory, producer: word(at.Producer), consumer: word(at.Consumer), flags: word(at.Flags),
		entries: unsafe.Pointer(&memory[at.Desc]),
	}, nil
}

// setDescriptor writes the n-th entry after those that are published.
func (r *xdpRing) setDescriptor(n uint32, at uint64, octets uint32) {
	entries := unsafe.Slice((*unix.XDPDesc)(r.entries), xdpFrames)
	entries[(r.own+n)%xdpFrames] = unix.XDPDesc{Addr: at, Len: octets}
}

// publish hands n entries to the kernel.
func (r *xdpRing) publish(n uint32) {
	r.own += n
	atomic.StoreUint32(r.producer, r.own)
}

// unread returns how many entries the kernel has not taken yet.
func (r *xdpRing) unread() uint32 { return r.own - atomic.LoadUint32(r.consumer) }

// takeAddresses appends what the kernel gives back.
func (r *xdpRing) takeAddresses(to []uint64) []uint64 {
	entries := unsafe.Slice((*uint64)(r.entries), xdpFrames)
	for end := atomic.LoadUint32(r.producer); r.own != end; r.own++ {
		to = append(to, entries[r.own%xdpFrames])
	}
	atomic.StoreUint32(r.consumer, r.own)
	return to
}

// needsWakeup reports whether the kernel looks at the ring only when it is woken.
func (r *xdpRing) needsWakeup() bool {
	return atomic.LoadUint32(r.flags)&unix.XDP_RING_NEED_WAKEUP != 0
}

// registerUMEM makes memory the UMEM of a socket, in frames of so many octets.
func registerUMEM(fd int, memory []byte, frame int) error {
	reg := unix.XDPUmemReg{Addr: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(memory)))), Len: uint64(len(memory)), Size: uint32(frame)}
	_, _, errno := unix.Syscall6(unix.SYS_SETSOCKOPT, uintptr(fd), unix.SOL_XDP, unix.XDP_UMEM_REG, uintptr(unsafe.Pointer(&reg)), unsafe.Sizeof(reg), 0)
	if errno != 0 {
		return fmt.Errorf("UMEM of %d octets: %w", len(memory), errno)
	}
	return nil
}

// xdpOffsets returns where what of the rings is.
func xdpOffsets(fd int) (o unix.XDPMmapOffsets, err error) {
	n := uint32(unsafe.Sizeof(o))
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_XDP, unix.XDP_MMAP_OFFSETS, uintptr(unsafe.Pointer(&o)), uintptr(unsafe.Pointer(&n)), 0)
	if errno != 0 {
		return o, fmt.Errorf("offsets of the rings: %w", errno)
	}
	return o, nil
}

// wakeXDP is sendto(2) without a message.
func wakeXDP(fd int) error {
	_, _, errno := unix.Syscall6(unix.SYS_SENDTO, uintptr(fd), 0, 0, unix.MSG_DONTWAIT, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
