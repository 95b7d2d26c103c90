package stopwatch

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// maxSequences is how many PHYs are followed in each direction: what a stranger sends
// takes no memory.
const maxSequences = 8

// sequences follows the sequence numbers of one direction.
type sequences struct {
	mu    sync.Mutex // of those that receive, mostly one; who reads figures does not take it
	known [maxSequences]sequence
	used  int

	received, lost, duplicate, reordered atomic.Uint64
}

// sequence is the numbers of one PHY: the newest, and which of the 64 up to it came.
type sequence struct {
	phy    uint16
	newest uint8
	here   uint64 // bit i: newest-i came
	missed uint64 // bit i: newest-i is counted as lost
}

func (s *sequences) add(phy uint16, number uint8) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.of(phy, number)
	if one == nil {
		return
	}
	s.received.Add(1)
	switch ahead := int8(number - one.newest); {
	case one.here == 0:
		one.here = 1
	case ahead > 0:
		s.forward(one, uint(ahead))
		one.newest = number
	case ahead <= -64:
		s.begin(one, number) // the sender has restarted
	case one.here>>uint(-ahead)&1 != 0:
		s.duplicate.Add(1)
	default:
		s.fill(one, uint(-ahead))
	}
}

// of is the sequence of a PHY, nil if there are too many of them.
func (s *sequences) of(phy uint16, number uint8) *sequence {
	for i := range s.used {
		if s.known[i].phy == phy {
			return &s.known[i]
		}
	}
	if s.used == maxSequences {
		return nil
	}
	s.known[s.used] = sequence{phy: phy, newest: number}
	s.used++
	return &s.known[s.used-1]
}

// forward moves on by some numbers, of which the last one came.
func (s *sequences) forward(one *sequence, by uint) {
	if by >= 64 {
		s.lost.Add(uint64(by - 1))
		one.here, one.missed = 1, ^uint64(1)
		return
	}
	gap := uint64(1)<<by - 2 // bits 1 to by-1
	s.lost.Add(uint64(bits.OnesCount64(gap)))
	one.here = one.here<<by | 1
	one.missed = one.missed<<by | gap
}

// fill is for a number that came after a newer one.
func (s *sequences) fill(one *sequence, back uint) {
	s.reordered.Add(1)
	one.here |= 1 << back
	if one.missed>>back&1 != 0 {
		one.missed &^= 1 << back
		s.lost.Add(^uint64(0)) // one less
	}
}

func (s *sequences) begin(one *sequence, number uint8) {
	one.newest, one.here, one.missed = number, 1, 0
}

func (s *sequences) restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used = 0
}

func (s *sequences) figures() Sequences {
	return Sequences{Received: s.received.Load(), Lost: s.lost.Load(), Duplicate: s.duplicate.Load(), Reordered: s.reordered.Load()}
}
