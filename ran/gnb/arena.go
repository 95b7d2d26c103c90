package gnb

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// batchSize is how many packets are moved at a time.
const batchSize = 128

// mostMessages is how many messages are received at a time: each may be many
// datagrams, and what is not written soon is no more in the CPU's caches.
const mostMessages = 32

// mostWritten is how many packets a UE's device is given at a time.
const mostWritten = 1024

// slotSize has room for the largest UDP payload, and for what a reader of a device
// asks for with headers in front. It is a multiple of a page.
const slotSize = 17 << 12

// arena is memory for one batch outside of the garbage collector's heap. Only
// the pages that packets have touched are resident: with an MTU of 1456 that is
// one of the 17 pages of a slot.
type arena []byte

func newArena() (arena, error) {
	a, err := unix.Mmap(-1, 0, batchSize*slotSize, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("gnb: %d octets of packet memory: %w", batchSize*slotSize, err)
	}
	return a, nil
}

// slot returns the memory of the ith packet.
func (a arena) slot(i int) []byte {
	return a[i*slotSize : (i+1)*slotSize : (i+1)*slotSize]
}

func (a arena) free() { _ = unix.Munmap(a) }
