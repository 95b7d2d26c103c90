package afxdp

import (
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// txRing takes what is to be sent.
type txRing struct {
	ring
	entries []unix.XDPDesc
}

// put gives as many of the descriptors as there is room for, and returns how many.
func (r *txRing) put(leaving []unix.XDPDesc) int {
	n := r.room(uint32(len(leaving)))
	for i := range n {
		r.entries[(r.own+i)&(r.size-1)] = leaving[i]
	}
	if n > 0 {
		r.publish(n)
	}
	return int(n)
}

// left returns how many entries the kernel has not taken yet. Unlike the others it is
// for any goroutine.
func (r *txRing) left() uint32 {
	return atomic.LoadUint32(r.producer) - atomic.LoadUint32(r.consumer)
}
