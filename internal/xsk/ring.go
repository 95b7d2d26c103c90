package xsk

import (
	"fmt"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Ring is what the four rings of a socket have in common: two counters that only
// grow, of which the kernel moves one and we the other. What stands between them
// is the reader's. A counter is stored after the entries are written, or read, and
// loaded before: Go's atomic operations order both on every machine.
//
// Source: Linux, Documentation/networking/af_xdp.rst; net/xdp/xsk_queue.h.
type Ring struct {
	Producer, Consumer *uint32
	Flags              *uint32
	Size               uint32 // entries, a power of two
	Own                uint32 // our counter, as last stored

	other uint32 // the kernel's, as last loaded
	mem   []byte // the mapping; nil in tests
}

// mapRing maps the ring at an offset of the socket and returns what of it is ours.
func mapRing(fd int, page int64, o unix.XDPRingOffset, entries, lenEntry int) (Ring, error) {
	mem, err := unix.Mmap(fd, page, int(o.Desc)+entries*lenEntry, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return Ring{}, fmt.Errorf("map a ring of %d entries: %w", entries, err)
	}
	return Ring{
		mem: mem, Producer: word(mem, o.Producer), Consumer: word(mem, o.Consumer), Flags: word(mem, o.Flags), Size: uint32(entries),
	}, nil
}

func (r *Ring) unmap() error {
	if r.mem == nil {
		return nil
	}
	mem := r.mem
	*r = Ring{}
	return unix.Munmap(mem)
}

// Room returns how many entries we may write, at least as many as wanted if there
// are: the kernel's counter is looked at only where what is known does not do. For
// a ring that we fill.
func (r *Ring) Room(want uint32) uint32 {
	free := r.Size - (r.Own - r.other)
	if free < want {
		r.other = atomic.LoadUint32(r.Consumer)
		free = r.Size - (r.Own - r.other)
	}
	return min(free, want)
}

// Waiting returns how many entries we may read, likewise. For a ring that the
// kernel fills.
func (r *Ring) Waiting(want uint32) uint32 {
	if r.other == r.Own {
		r.other = atomic.LoadUint32(r.Producer)
	}
	return min(r.other-r.Own, want)
}

// Publish hands n entries that we have written to the kernel.
func (r *Ring) Publish(n uint32) {
	r.Own += n
	atomic.StoreUint32(r.Producer, r.Own)
}

// Release gives n entries that we have read back to the kernel.
func (r *Ring) Release(n uint32) {
	r.Own += n
	atomic.StoreUint32(r.Consumer, r.Own)
}

// Asleep reports whether the kernel looks at the ring only when it is woken.
// Source: XDP_USE_NEED_WAKEUP.
func (r *Ring) Asleep() bool { return atomic.LoadUint32(r.Flags)&unix.XDP_RING_NEED_WAKEUP != 0 }

// Written returns how many entries the kernel has written since the ring was mapped,
// modulo 2^32. For a ring that the kernel fills.
func (r *Ring) Written() uint32 { return atomic.LoadUint32(r.Producer) }

// Unread returns how many entries that we wrote the kernel has not taken yet.
func (r *Ring) Unread() uint32 {
	r.other = atomic.LoadUint32(r.Consumer)
	return r.Own - r.other
}

// NewRing returns a ring in memory of the caller's, who is the kernel: for tests. Both counters
// begin at start.
func NewRing(producer, consumer, flags *uint32, size int, start uint32) Ring {
	*producer, *consumer = start, start
	return Ring{Producer: producer, Consumer: consumer, Flags: flags, Size: uint32(size), Own: start, other: start}
}
