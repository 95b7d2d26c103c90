package afxdp

import "golang.org/x/sys/unix"

// rxRing brings what has arrived.
type rxRing struct {
	ring
	entries []unix.XDPDesc
}

// take moves descriptors into arrived and returns how many.
func (r *rxRing) take(arrived []unix.XDPDesc) int {
	n := r.waiting(uint32(len(arrived)))
	for i := range n {
		arrived[i] = r.entries[(r.own+i)&(r.size-1)]
	}
	if n > 0 {
		r.release(n)
	}
	return int(n)
}
