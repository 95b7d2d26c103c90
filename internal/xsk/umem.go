package xsk

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// UMEM is the memory of frames. Sockets may share it, so that a packet leaves from where
// it arrived, without a copy. It is for one goroutine.
//
// A frame belongs to the kernel (in a fill ring, or in an RX ring and not taken
// yet; in a TX or completion ring), to what is treated, or it is free. Owners say so, so
// that no frame is given away twice, whatever becomes of packets.
type UMEM struct {
	Memory []byte
	Frame  uint64   // octets, a power of two
	Unused []uint64 // offsets of frames, the one that was used last on top: its lines are in the cache

	own   bool    // Memory is to be unmapped
	owner []Owner // by frame
}

// Owner says whose a frame is.
type Owner byte

// Owners.
const (
	Free   Owner = iota
	Kernel       // to be filled
	Held         // treated
	Sent         // to be sent, or sent and not given back
)

// NewUMEM allocates the frames. Errors: those of mmap(2).
func NewUMEM(frames, octets int) (*UMEM, error) {
	mem, err := unix.Mmap(-1, 0, frames*octets, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
	if err != nil {
		return nil, fmt.Errorf("memory for %d frames of %d octets: %w", frames, octets, err)
	}
	u := NewUMEMOver(mem, octets)
	u.own = true
	return u, nil
}

// NewUMEMOver makes frames of memory that stays its owner's.
func NewUMEMOver(mem []byte, octets int) *UMEM {
	frames := len(mem) / octets
	u := &UMEM{Memory: mem, Frame: uint64(octets), owner: make([]Owner, frames)}
	for i := range frames {
		u.Unused = append(u.Unused, uint64(frames-1-i)*u.Frame)
	}
	return u
}

// Close gives the memory back.
func (u *UMEM) Close() error {
	if u == nil || u.Memory == nil {
		return nil
	}
	mem := u.Memory
	u.Memory = nil
	if !u.own {
		return nil
	}
	return unix.Munmap(mem)
}

// Base returns the offset of the frame in which an offset lies.
func (u *UMEM) Base(offset uint64) uint64 { return offset &^ (u.Frame - 1) }

// OwnerOf returns the owner of the frame that contains an offset.
func (u *UMEM) OwnerOf(offset uint64) Owner { return u.owner[offset/u.Frame] }

// Give records the owner of the frame that contains an offset.
func (u *UMEM) Give(offset uint64, to Owner) { u.owner[offset/u.Frame] = to }

// Bytes returns the frame in which an offset lies.
func (u *UMEM) Bytes(offset uint64) []byte {
	at := u.Base(offset)
	return u.Memory[at : at+u.Frame : at+u.Frame]
}

// Take returns a free frame for a packet that is made here. ok: there was one.
func (u *UMEM) Take() (offset uint64, ok bool) {
	if len(u.Unused) == 0 {
		return 0, false
	}
	offset = u.Unused[len(u.Unused)-1]
	u.Unused = u.Unused[:len(u.Unused)-1]
	u.Give(offset, Held)
	return offset, true
}

// Put makes the frame free in which an offset lies.
func (u *UMEM) Put(offset uint64) {
	u.Give(offset, Free)
	u.Unused = append(u.Unused, u.Base(offset))
}

// Reclaim makes frames free that the kernel gives back, sent or not.
//
// Errors: if it gives back what it does not have.
func (u *UMEM) Reclaim(offset uint64) error {
	if offset >= uint64(len(u.Memory)) {
		return fmt.Errorf("the kernel gives back a frame at %d of %d octets", offset, len(u.Memory))
	}
	if o := u.OwnerOf(offset); o != Sent {
		return fmt.Errorf("the kernel gives back frame %d, which is of owner %d: %w", offset/u.Frame, o, errOwner)
	}
	u.Put(offset)
	return nil
}

var errOwner = errors.New("not the kernel's")

// Census counts frames by owner.
func (u *UMEM) Census() (n [4]int) {
	for _, o := range u.owner {
		n[o]++
	}
	return n
}
