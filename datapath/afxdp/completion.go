package afxdp

// completionRing brings back frames that have been sent.
type completionRing struct {
	ring
	entries []uint64 // offsets in the UMEM, as they stood in the TX ring
}

// take moves offsets into frames and returns how many.
func (r *completionRing) take(frames []uint64) int {
	n := r.waiting(uint32(len(frames)))
	for i := range n {
		frames[i] = r.entries[(r.own+i)&(r.size-1)]
	}
	if n > 0 {
		r.release(n)
	}
	return int(n)
}
