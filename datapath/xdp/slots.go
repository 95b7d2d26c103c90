package xdp

import (
	"math/bits"

	"github.com/plumbline-upf/plumbline/datapath"
)

// slots hands out the slots of a table, but for some at its begin. Those below
// homes are for who asks for one of them; they are given to others only when
// there are no more. What is given back is used again last, and a home after a
// grace, so that a packet that is still on its way does not count for another
// session.
type slots struct {
	taken bitmap
	size  uint32
	homes uint32    // the first slot that is nobody's home
	next  uint32    // the first one from there on that was never used
	freed queue     // of those that were
	late  lateQueue // of homes

	cursor uint32 // where the search for a free home goes on
}

// newSlots is of a table of size slots, of which those below first are not handed
// out.
func newSlots(size, first, homes uint32) slots {
	s := slots{taken: newBitmap(int(size)), size: size, homes: homes, next: homes}
	for slot := range first {
		s.taken.add(slot)
	}
	return s
}

// take returns a free slot: home if it is one, unless it is 0.
func (s *slots) take(home uint32) (slot uint32, ok bool) {
	if home != 0 && s.taken.has(home) {
		s.settle()
	}
	switch {
	case home != 0 && !s.taken.has(home):
		slot, ok = home, true
	case s.next < s.size:
		slot, ok = s.next, true
		s.next++
	default:
		if slot, ok = s.freed.take(); !ok {
			slot, ok = s.freeHome()
		}
	}
	if ok {
		s.taken.add(slot)
	}
	return slot, ok
}

// freeHome returns a home that nobody has taken.
func (s *slots) freeHome() (uint32, bool) {
	s.settle()
	words := (s.homes + 63) / 64
	for range words {
		w := s.cursor % words
		if slot := w*64 + uint32(bits.TrailingZeros64(^s.taken[w])); slot < min(w*64+64, s.homes) {
			return slot, true
		}
		s.cursor++
	}
	return 0, false
}

// give gives a slot back.
func (s *slots) give(slot uint32) {
	if slot < s.homes {
		s.late.put(slot, monotonic())
		return
	}
	s.taken.remove(slot)
	s.freed.put(slot)
}

// settle frees the homes whose grace is over.
func (s *slots) settle() {
	for slot, ok := s.late.take(); ok; slot, ok = s.late.take() {
		s.taken.remove(slot)
	}
}

// adopt takes all slots that are in use, of which there are none yet.
func (s *slots) adopt(used func(slot uint32) bool) {
	for slot := uint32(1); slot < s.size; slot++ {
		if !used(slot) {
			continue
		}
		s.taken.add(slot)
		for ; slot >= s.homes && s.next < slot; s.next++ {
			s.freed.put(s.next)
		}
		if slot >= s.homes {
			s.next = slot + 1
		}
	}
}

// free is how many slots can be taken.
func (s *slots) free() int {
	n := int(s.size) + s.late.held()
	for _, w := range s.taken {
		n -= bits.OnesCount64(w)
	}
	return n
}

// use is how full the table is, of which those below first are not handed out.
func (s *slots) use(name string, first uint32) datapath.TableUse {
	most := int(s.size - first)
	return datapath.TableUse{Name: name, Used: most - s.free(), Max: most}
}

// queue gives back first what was put in first.
type queue struct {
	slots []uint32
	head  int
}

func (q *queue) put(slot uint32) { q.slots = append(q.slots, slot) }

func (q *queue) take() (uint32, bool) {
	if q.head == len(q.slots) {
		return 0, false
	}
	slot := q.slots[q.head]
	q.head++
	if q.head > 1024 && q.head*2 > len(q.slots) {
		q.slots = append(q.slots[:0], q.slots[q.head:]...)
		q.head = 0
	}
	return slot, true
}
