package afxdp

// fillRing gives frames to the kernel, into which it puts what arrives.
type fillRing struct {
	ring
	entries []uint64 // offsets in the UMEM
}

// put gives as many of the frames as there is room for, and returns how many.
func (r *fillRing) put(frames []uint64) int {
	n := r.room(uint32(len(frames)))
	for i := range n {
		r.entries[(r.own+i)&(r.size-1)] = frames[i]
	}
	if n > 0 {
		r.publish(n)
	}
	return int(n)
}
