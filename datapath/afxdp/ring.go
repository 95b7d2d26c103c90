package afxdp

import (
	"fmt"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// ring is what the four rings of a socket have in common: two counters that only
// grow, of which the kernel moves one and we the other. What stands between them
// is the reader's. A counter is stored after the entries are written, or read, and
// loaded before: Go's atomic operations order both on every machine.
//
// Source: Linux, Documentation/networking/af_xdp.rst; net/xdp/xsk_queue.h.
type ring struct {
	mem                []byte // the mapping; nil in tests
	producer, consumer *uint32
	flags              *uint32
	size               uint32 // entries, a power of two
	own                uint32 // our counter, as last stored
	other              uint32 // the kernel's, as last loaded
}

// mapRing maps the ring at an offset of the socket and returns what of it is ours.
func mapRing(fd int, page int64, o unix.XDPRingOffset, entries, lenEntry int) (ring, error) {
	mem, err := unix.Mmap(fd, page, int(o.Desc)+entries*lenEntry, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return ring{}, fmt.Errorf("map a ring of %d entries: %w", entries, err)
	}
	return ring{
		mem: mem, producer: word(mem, o.Producer), consumer: word(mem, o.Consumer), flags: word(mem, o.Flags), size: uint32(entries),
	}, nil
}

func (r *ring) unmap() error {
	if r.mem == nil {
		return nil
	}
	mem := r.mem
	*r = ring{}
	return unix.Munmap(mem)
}

// room returns how many entries we may write, at least as many as wanted if there
// are: the kernel's counter is looked at only where what is known does not do. For
// a ring that we fill.
func (r *ring) room(want uint32) uint32 {
	free := r.size - (r.own - r.other)
	if free < want {
		r.other = atomic.LoadUint32(r.consumer)
		free = r.size - (r.own - r.other)
	}
	return min(free, want)
}

// waiting returns how many entries we may read, likewise. For a ring that the
// kernel fills.
func (r *ring) waiting(want uint32) uint32 {
	if r.other == r.own {
		r.other = atomic.LoadUint32(r.producer)
	}
	return min(r.other-r.own, want)
}

// publish hands n entries that we have written to the kernel.
func (r *ring) publish(n uint32) {
	r.own += n
	atomic.StoreUint32(r.producer, r.own)
}

// release gives n entries that we have read back to the kernel.
func (r *ring) release(n uint32) {
	r.own += n
	atomic.StoreUint32(r.consumer, r.own)
}

// asleep reports whether the kernel looks at the ring only when it is woken.
// Source: XDP_USE_NEED_WAKEUP.
func (r *ring) asleep() bool { return atomic.LoadUint32(r.flags)&unix.XDP_RING_NEED_WAKEUP != 0 }

// written returns how many entries the kernel has written since the ring was mapped,
// modulo 2^32. For a ring that the kernel fills.
func (r *ring) written() uint32 { return atomic.LoadUint32(r.producer) }

// unread returns how many entries that we wrote the kernel has not taken yet.
func (r *ring) unread() uint32 {
	r.other = atomic.LoadUint32(r.consumer)
	return r.own - r.other
}
