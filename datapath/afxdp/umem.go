package afxdp

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// umem is the memory of a worker's frames. All its sockets share it, so that a
// packet leaves from where it arrived, without a copy.
//
// A frame belongs to the kernel (in a fill ring, or in an RX ring and not taken
// yet; in a TX or completion ring), to the vector that is treated, or it is free.
// Owners say so, so that no frame is given away twice, whatever the stages return.
type umem struct {
	mem   []byte
	own   bool     // mem is to be unmapped
	frame uint64   // octets, a power of two
	free  []uint64 // offsets of frames, the one that was used last on top: its lines are in the cache
	owner []owner  // by frame
}

// owner says whose a frame is.
type owner byte

const (
	ownFree   owner = iota
	ownKernel       // to be filled
	ownVector       // treated
	ownSent         // to be sent, or sent and not given back
)

// newUMEM makes so many frames. Errors: those of mmap(2).
func newUMEM(frames, octets int) (*umem, error) {
	mem, err := unix.Mmap(-1, 0, frames*octets, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
	if err != nil {
		return nil, fmt.Errorf("afxdp: memory for %d frames of %d octets: %w", frames, octets, err)
	}
	u := newUMEMOver(mem, octets)
	u.own = true
	return u, nil
}

// newUMEMOver makes frames of memory that stays its owner's.
func newUMEMOver(mem []byte, octets int) *umem {
	frames := len(mem) / octets
	u := &umem{mem: mem, frame: uint64(octets), owner: make([]owner, frames)}
	for i := range frames {
		u.free = append(u.free, uint64(frames-1-i)*u.frame)
	}
	return u
}

func (u *umem) close() error {
	if u == nil || u.mem == nil {
		return nil
	}
	mem := u.mem
	u.mem = nil
	if !u.own {
		return nil
	}
	return unix.Munmap(mem)
}

// base returns the offset of the frame in which an offset lies.
func (u *umem) base(offset uint64) uint64 { return offset &^ (u.frame - 1) }

// ownerOf returns who has the frame in which an offset lies.
func (u *umem) ownerOf(offset uint64) owner { return u.owner[offset/u.frame] }

func (u *umem) give(offset uint64, to owner) { u.owner[offset/u.frame] = to }

// bytes returns the frame in which an offset lies.
func (u *umem) bytes(offset uint64) []byte {
	at := u.base(offset)
	return u.mem[at : at+u.frame : at+u.frame]
}

// take returns a free frame for a packet that is made here. ok: there was one.
func (u *umem) take() (offset uint64, ok bool) {
	if len(u.free) == 0 {
		return 0, false
	}
	offset = u.free[len(u.free)-1]
	u.free = u.free[:len(u.free)-1]
	u.give(offset, ownVector)
	return offset, true
}

// put makes the frame free in which an offset lies.
func (u *umem) put(offset uint64) {
	u.give(offset, ownFree)
	u.free = append(u.free, u.base(offset))
}

// reclaim makes frames free that the kernel gives back, sent or not.
//
// Errors: if it gives back what it does not have.
func (u *umem) reclaim(offset uint64) error {
	if offset >= uint64(len(u.mem)) {
		return fmt.Errorf("afxdp: the kernel gives back a frame at %d of %d octets", offset, len(u.mem))
	}
	if o := u.ownerOf(offset); o != ownSent {
		return fmt.Errorf("afxdp: the kernel gives back frame %d, which is of owner %d: %w", offset/u.frame, o, errOwner)
	}
	u.put(offset)
	return nil
}

var errOwner = errors.New("not the kernel's")
