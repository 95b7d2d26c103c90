package xsk

import (
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// TXRing takes what is to be sent.
type TXRing struct {
	Ring
	Entries []unix.XDPDesc
}

// Put gives as many of the descriptors as there is room for, and returns how many.
func (r *TXRing) Put(leaving []unix.XDPDesc) int {
	n := r.Room(uint32(len(leaving)))
	for i := range n {
		r.Entries[(r.Own+i)&(r.Size-1)] = leaving[i]
	}
	if n > 0 {
		r.Publish(n)
	}
	return int(n)
}

// Left returns how many entries the kernel has not taken yet. Unlike the others it is
// for any goroutine.
func (r *TXRing) Left() uint32 {
	return atomic.LoadUint32(r.Producer) - atomic.LoadUint32(r.Consumer)
}
