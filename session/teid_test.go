package session

import (
	"errors"
	"testing"
)

func TestTEIDsUniqueAndDense(t *testing.T) {
	a, err := newTEIDs(1000) // 1024 slots
	if err != nil {
		t.Fatal(err)
	}
	slots := make(map[uint32]uint32)
	for range 1024 {
		teid, err := a.allocate()
		if err != nil {
			t.Fatal(err)
		}
		if other, taken := slots[teid&1023]; taken || teid == 0 {
			t.Fatalf("TEID %#x shares a slot with %#x", teid, other)
		}
		slots[teid&1023] = teid
	}
	if _, err := a.allocate(); !errors.Is(err, errSlots) {
		t.Errorf("TEID 1025 of 1024: %v, want %v", err, errSlots)
	}
	for _, teid := range slots {
		a.free(teid)
	}
	if got := queued(t, a); got != 1024 {
		t.Errorf("%d slots free, want 1024", got)
	}
}

func TestTEIDsReusedLastAndChanged(t *testing.T) {
	a, err := newTEIDs(16)
	if err != nil {
		t.Fatal(err)
	}
	first, err := a.allocate()
	if err != nil {
		t.Fatal(err)
	}
	a.free(first)
	for i := range 15 {
		teid, err := a.allocate()
		if err != nil || a.slot(teid) == a.slot(first) {
			t.Fatalf("TEID %d after the free: %#x, %v: slot of %#x used early", i, teid, err, first)
		}
	}
	again, err := a.allocate()
	if err != nil || a.slot(again) != a.slot(first) || again == first {
		t.Errorf("TEID 16 after the free: %#x, %v; want the slot of %#x with other random bits", again, err, first)
	}
}

func TestTEIDsOfTheCPFunction(t *testing.T) {
	a, err := newTEIDs(4)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.reserve(0x101); err != nil { // slot 1
		t.Fatal(err)
	}
	if err := a.reserve(0x201); err != nil { // slot 1 once more
		t.Fatal(err)
	}
	var ours []uint32
	for range 3 {
		teid, err := a.allocate()
		if err != nil || a.slot(teid) == 1 {
			t.Fatalf("allocated %#x, %v; want any but slot 1", teid, err)
		}
		ours = append(ours, teid)
	}
	if _, err := a.allocate(); !errors.Is(err, errSlots) {
		t.Errorf("4th of 3 free slots: %v, want %v", err, errSlots)
	}
	if err := a.reserve(ours[0]); !errors.Is(err, ErrHeld) {
		t.Errorf("reserve(%#x), which is allocated: %v, want %v", ours[0], err, ErrHeld)
	}
	beside := ours[0] ^ 1<<20 // the same slot
	if err := a.reserve(beside); err != nil {
		t.Fatal(err)
	}
	a.free(ours[0])
	a.free(0x101)
	if got := queued(t, a); got != 0 {
		t.Errorf("%d slots free, want 0: TEIDs of the CP function are still in both", got)
	}
	a.free(0x201)
	a.free(beside)
	if got := queued(t, a); got != 2 {
		t.Errorf("%d slots free, want 2", got)
	}
}

func TestNewTEIDsBounds(t *testing.T) {
	for _, n := range []int{-1, 0, 1<<24 + 1} {
		if _, err := newTEIDs(n); err == nil {
			t.Errorf("newTEIDs(%d): no error", n)
		}
	}
	a, err := newTEIDs(1)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		teid, err := a.allocate()
		if err != nil || teid == 0 {
			t.Fatalf("allocate: %#x, %v", teid, err)
		}
		a.free(teid)
	}
}
