package pdcp

import "math/bits"

// The buffers of packets have sizes of powers of two, of 2^leastBits octets at least.
const (
	leastBits = 6
	classes   = 15 - leastBits // 2^14 is above MaxSDU
)

// store keeps the buffers of packets that wait, to use them again. Together they take no
// more than twice the octets of the packets, and limit octets.
type store struct {
	limit int // octets of buffers that are kept without use
	spare int // what those have
	free  [classes][][]byte
	done  [][]byte // delivered, and still in use
}

// class is that of the buffers for n octets.
func class(n int) int { return max(bits.Len(uint(n-1)), leastBits) - leastBits }

// keep copies a packet.
func (s *store) keep(packet []byte) []byte {
	c := class(len(packet))
	list := s.free[c]
	var b []byte
	if n := len(list); n > 0 {
		b, s.free[c] = list[n-1], list[:n-1]
		s.spare -= cap(b)
	} else {
		b = make([]byte, 1<<(leastBits+c))
	}
	b = b[:len(packet)]
	copy(b, packet)
	return b
}

// release says that a packet is being delivered: its buffer is free after recycle.
func (s *store) release(packet []byte) { s.done = append(s.done, packet) }

// drop says that a packet is not in use.
func (s *store) drop(packet []byte) {
	if s.spare+cap(packet) > s.limit {
		return
	}
	s.spare += cap(packet)
	c := class(cap(packet))
	s.free[c] = append(s.free[c], packet)
}

func (s *store) recycle() {
	for _, b := range s.done {
		s.drop(b)
	}
	s.done = s.done[:0]
}
