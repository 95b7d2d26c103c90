package tun

import (
	"fmt"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath/vector"
	"github.com/plumbline-upf/plumbline/internal/mmsg"
	"github.com/plumbline-upf/plumbline/internal/vnet"
)

// slotSize has room for the headroom and the largest packet, datagram or super-packet.
const slotSize = (vector.Headroom + max(vnet.MaxPacket, mmsg.MaxMessage) + 63) &^ 63

// slotStride is slotSize and some pages and cache lines, so that the beginnings of
// packets do not compete for the same places of the caches.
const slotStride = slotSize + 4096 + 1472

// arena is memory for packets outside of the garbage collector's heap. Only pages that
// packets have touched are resident: of most slots one, or two.
type arena struct {
	memory []byte
	slots  [][]byte
}

func newArena(slots int) (*arena, error) {
	memory, err := unix.Mmap(-1, 0, slots*slotStride, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("%d octets of packet memory: %w", slots*slotStride, err)
	}
	a := &arena{memory: memory}
	for i := range slots {
		at := i * slotStride
		a.slots = append(a.slots, memory[at:at+slotSize:at+slotSize])
	}
	return a, nil
}

func (a *arena) free() { _ = unix.Munmap(a.memory) }
