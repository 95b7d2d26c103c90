package session

import (
	"errors"
	"testing"
)

// at are the addresses of the F-TEIDs here.
const at locals = 0x0a030001 << 32

func TestTEIDsUniqueAndDense(t *testing.T) {
	a, err := newTEIDs(1000) // 1024 slots
	if err != nil {
		t.Fatal(err)
	}
	slots := make(map[uint32]uint32)
	for range 1024 {
		teid, err := a.allocate(at, 1)
		if err != nil {
			t.Fatal(err)
		}
		if other, taken := slots[teid&1023]; taken || teid == 0 {
			t.Fatalf("TEID %#x shares a slot with %#x", teid, other)
		}
		slots[teid&1023] = teid
	}
	if _, err := a.allocate(at, 1); !errors.Is(err, errSlots) {
		t.Errorf("TEID 1025 of 1024: %v, want %v", err, errSlots)
	}
	for _, teid := range slots {
		a.free(teid, at)
	}
	checkFree(t, "TEIDs", &a.slots)
}

func TestTEIDsReusedLastAndChanged(t *testing.T) {
	a, err := newTEIDs(16)
	if err != nil {
		t.Fatal(err)
	}
	first, err := a.allocate(at, 1)
	if err != nil {
		t.Fatal(err)
	}
	a.free(first, at)
	for i := range 15 {
		teid, err := a.allocate(at, 1)
		if err != nil || a.slot(teid) == a.slot(first) {
			t.Fatalf("TEID %d after the free: %#x, %v: slot of %#x used early", i, teid, err, first)
		}
	}
	again, err := a.allocate(at, 1)
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
		if got := a.reserve(teid, at, holder); got != want || a.holder(teid, at) != want {
			t.Errorf("reserve(%#x, %d) = %d, holder %d; want %d", teid, holder, got, a.holder(teid, at), want)
		}
	}
	take(0x101, 7, 7) // slot 1
	take(0x201, 8, 8) // slot 1 once more
	take(0x101, 8, 7) // held
	take(0x201, 9, 8)
	take(0x101, 7, 7) // twice: one call of free is enough
	take(0x201, 8, 8)
	var ours []uint32
	for range 3 {
		teid, err := a.allocate(at, 5)
		if err != nil || a.slot(teid) == 1 {
			t.Fatalf("allocated %#x, %v; want any but slot 1", teid, err)
		}
		ours = append(ours, teid)
	}
	if _, err := a.allocate(at, 5); !errors.Is(err, errSlots) {
		t.Errorf("4th of 3 free slots: %v, want %v", err, errSlots)
	}
	take(ours[0], 6, 5)
	beside := ours[0] ^ 1<<20 // the same slot
	take(beside, 6, 6)
	for _, teid := range []uint32{ours[0], 0x101} {
		if a.free(teid, at); a.holder(teid, at) != 0 {
			t.Errorf("%#x is held by %d after it was given back", teid, a.holder(teid, at))
		}
	}
	take(0x201, 9, 8) // it has not moved into the free slot, and is still held
	if teid, err := a.allocate(at, 4); err != nil || a.slot(teid) != a.slot(ours[0]) || teid == beside || teid == ours[0] {
		t.Errorf("allocated %#x, %v; want the slot of %#x, which has been free for longest", teid, err, ours[0])
	} else {
		a.free(teid, at)
	}
	for _, teid := range []uint32{0x201, beside, ours[1], ours[2]} {
		a.free(teid, at)
	}
	checkFree(t, "TEIDs", &a.slots)
	if len(a.others) != 0 {
		t.Errorf("%d TEIDs beside the slots, want 0", len(a.others))
	}
}

// TestTEIDsOfSeveralAddresses: one TEID at two addresses is two F-TEIDs.
func TestTEIDsOfSeveralAddresses(t *testing.T) {
	const n3, n3v6, n9 = locals(0x0a030001) << 32, locals(0xf0000001), locals(0x0a090001) << 32
	a, err := newTEIDs(4)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		at           locals
		holder, want uint32
	}{
		{n3 | n3v6, 1, 1}, {n3, 2, 1}, {n3v6, 2, 1}, {n9, 2, 2}, {n9 | n3v6, 3, 1}, {n9, 1, 2}, {0xf0000002, 3, 3},
	} {
		if got := a.reserve(7, c.at, c.holder); got != c.want {
			t.Errorf("reserve(7, %#x, %d) = %d, want %d", c.at, c.holder, got, c.want)
		}
	}
	for range 3 {
		if teid, err := a.allocate(n9, 9); err != nil || teid == 7 {
			t.Errorf("allocated %#x, %v; 7 is held", teid, err)
		}
	}
	holders := func() [5]uint32 {
		return [5]uint32{a.holder(7, n3), a.holder(7, n3v6), a.holder(7, n9), a.holder(7, 0xf0000002), a.holder(7, 0x0a090002<<32)}
	}
	if got, want := holders(), [5]uint32{1, 1, 2, 3, 0}; got != want {
		t.Errorf("holders %d, want %d", got, want)
	}
	a.free(7, n9)
	if got, want := holders(), [5]uint32{1, 1, 0, 3, 0}; got != want {
		t.Errorf("holders after one was given back: %d, want %d", got, want)
	}
	a.free(7, n3|n3v6)
	if got, want := holders(), [5]uint32{0, 0, 0, 3, 0}; got != want || a.holder(7, 0) != 3 {
		t.Errorf("holders after two were given back: %d and %d of any, want %d and 3", got, a.holder(7, 0), want)
	}
	a.free(7, 0xf0000002)
	if a.holder(7, 0) != 0 || len(a.others) != 0 {
		t.Errorf("%d holds what was given back; %v", a.holder(7, 0), a.others)
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
		teid, err := a.allocate(at, 1)
		if err != nil || teid == 0 {
			t.Fatalf("allocate: %#x, %v", teid, err)
		}
		a.free(teid, at)
	}
}
