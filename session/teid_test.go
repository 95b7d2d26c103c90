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
		teid, err := a.allocate(1)
		if err != nil {
			t.Fatal(err)
		}
		if other, taken := slots[teid&1023]; taken || teid == 0 {
			t.Fatalf("TEID %#x shares a slot with %#x", teid, other)
		}
		slots[teid&1023] = teid
	}
	if _, err := a.allocate(1); !errors.Is(err, errSlots) {
		t.Errorf("TEID 1025 of 1024: %v, want %v", err, errSlots)
	}
	for _, teid := range slots {
		a.free(teid)
	}
	checkFree(t, "TEIDs", &a.slots)
}

func TestTEIDsReusedLastAndChanged(t *testing.T) {
	a, err := newTEIDs(16)
	if err != nil {
		t.Fatal(err)
	}
	first, err := a.allocate(1)
	if err != nil {
		t.Fatal(err)
	}
	a.free(first)
	for i := range 15 {
		teid, err := a.allocate(1)
		if err != nil || a.slot(teid) == a.slot(first) {
			t.Fatalf("TEID %d after the free: %#x, %v: slot of %#x used early", i, teid, err, first)
		}
	}
	again, err := a.allocate(1)
	if err != nil || a.slot(again) != a.slot(first) || again == first {
		t.Errorf("TEID 16 after the free: %#x, %v; want the slot of %#x with other random bits", again, err, first)
	}
}

func TestTEIDsOfTheCPFunction(t *testing.T) {
	a, err := newTEIDs(4)
	if err != nil {
		t.Fatal(err)
	}
	take := func(teid, holder, want uint32) {
		t.Helper()
		if got := a.reserve(teid, holder); got != want || a.holder(teid) != want {
			t.Errorf("reserve(%#x, %d) = %d, holder %d; want %d", teid, holder, got, a.holder(teid), want)
		}
	}
	take(0x101, 7, 7) // slot 1
	take(0x201, 8, 8) // slot 1 once more
	take(0x101, 8, 7) // held
	take(0x201, 9, 8)
	var ours []uint32
	for range 3 {
		teid, err := a.allocate(5)
		if err != nil || a.slot(teid) == 1 {
			t.Fatalf("allocated %#x, %v; want any but slot 1", teid, err)
		}
		ours = append(ours, teid)
	}
	if _, err := a.allocate(5); !errors.Is(err, errSlots) {
		t.Errorf("4th of 3 free slots: %v, want %v", err, errSlots)
	}
	take(ours[0], 6, 5)
	beside := ours[0] ^ 1<<20 // the same slot
	take(beside, 6, 6)
	for _, teid := range []uint32{ours[0], 0x101} {
		if a.free(teid); a.holder(teid) != 0 {
			t.Errorf("%#x is held by %d after it was given back", teid, a.holder(teid))
		}
	}
	take(0x201, 9, 8) // it has not moved into the free slot, and is still held
	if teid, err := a.allocate(4); err != nil || a.slot(teid) != a.slot(ours[0]) || teid == beside || teid == ours[0] {
		t.Errorf("allocated %#x, %v; want the slot of %#x, which has been free for longest", teid, err, ours[0])
	} else {
		a.free(teid)
	}
	for _, teid := range []uint32{0x201, beside, ours[1], ours[2]} {
		a.free(teid)
	}
	checkFree(t, "TEIDs", &a.slots)
	if len(a.others) != 0 {
		t.Errorf("%d TEIDs beside the slots, want 0", len(a.others))
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
		teid, err := a.allocate(1)
		if err != nil || teid == 0 {
			t.Fatalf("allocate: %#x, %v", teid, err)
		}
		a.free(teid)
	}
}
