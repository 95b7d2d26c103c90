package xsk

// CompletionRing brings back frames that have been sent.
type CompletionRing struct {
	Ring
	Entries []uint64 // offsets in the UMEM, as they stood in the TX ring
}

// Take moves offsets into frames and returns how many.
func (r *CompletionRing) Take(frames []uint64) int {
	n := r.Waiting(uint32(len(frames)))
	for i := range n {
		frames[i] = r.Entries[(r.Own+i)&(r.Size-1)]
	}
	if n > 0 {
		r.Release(n)
	}
	return int(n)
}
