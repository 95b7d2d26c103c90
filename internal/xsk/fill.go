package xsk

// FillRing gives frames to the kernel, into which it puts what arrives.
type FillRing struct {
	Ring
	Entries []uint64 // offsets in the UMEM
}

// Put gives as many of the frames as there is room for, and returns how many.
func (r *FillRing) Put(frames []uint64) int {
	n := r.Room(uint32(len(frames)))
	for i := range n {
		r.Entries[(r.Own+i)&(r.Size-1)] = frames[i]
	}
	if n > 0 {
		r.Publish(n)
	}
	return int(n)
}
