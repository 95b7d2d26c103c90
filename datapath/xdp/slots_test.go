package xdp

import "testing"

// TestSlots: who asks for a home gets it; who does not, one of the others as long
// as there are any; and what is given back is taken again last, or after a grace.
func TestSlots(t *testing.T) {
	s := newSlots(8, 2, 5) // homes 2, 3, 4; others 5, 6, 7
	take := func(home, want uint32) {
		t.Helper()
		if got, ok := s.take(home); got != want || ok != (want != 0) {
			t.Fatalf("take(%d) = %d, %v, want %d", home, got, ok, want)
		}
	}
	take(3, 3)
	take(3, 5) // its home is taken
	take(0, 6)
	s.give(5)
	take(0, 7)
	take(0, 5)
	take(0, 2) // of homes the first
	take(4, 4)
	take(4, 0)
	s.give(3)
	take(3, 0) // a packet may still count there
	if n := s.free(); n != 1 {
		t.Errorf("%d are free, want 1", n)
	}
	s.late.slots[0].freed -= uint64(grace)
	take(3, 3)
	take(0, 0)
	if n := s.free(); n != 0 {
		t.Errorf("%d are free, want none", n)
	}
}

// TestSlotsAdopt: what is in use is not handed out, and what is not is.
func TestSlotsAdopt(t *testing.T) {
	s := newSlots(8, 1, 4)
	s.adopt(func(slot uint32) bool { return slot == 2 || slot == 6 })
	if n := s.free(); n != 5 {
		t.Errorf("%d are free, want 5", n)
	}
	got := map[uint32]bool{}
	for range 5 {
		slot, ok := s.take(1)
		if !ok || slot == 2 || slot == 6 || got[slot] {
			t.Fatalf("take: %d, %v after %v", slot, ok, got)
		}
		got[slot] = true
	}
	if slot, ok := s.take(0); ok {
		t.Errorf("take: %d of a full table", slot)
	}
}
