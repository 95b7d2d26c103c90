package xsk

import "golang.org/x/sys/unix"

// RXRing brings what has arrived.
type RXRing struct {
	Ring
	Entries []unix.XDPDesc
}

// Take moves descriptors into arrived and returns how many.
func (r *RXRing) Take(arrived []unix.XDPDesc) int {
	n := r.Waiting(uint32(len(arrived)))
	for i := range n {
		arrived[i] = r.Entries[(r.Own+i)&(r.Size-1)]
	}
	if n > 0 {
		r.Release(n)
	}
	return int(n)
}
