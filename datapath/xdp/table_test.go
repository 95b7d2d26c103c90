package xdp

import (
	"errors"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// TestTable puts keys in and takes them out at random, many of them with the
// same home: what is in is found, what is not is not, and all slots can be used.
func TestTable(t *testing.T) {
	b := openTables(t, 64)
	tab := b.teids
	rng := rand.New(rand.NewPCG(1, 2))
	slots := map[uint64]uint32{}
	for range 20_000 {
		key := 1<<32 | uint64(rng.Uint32N(4))*64 | uint64(rng.Uint32N(64)) + 1
		slot, held := slots[key]
		switch {
		case held:
			tab.clear(slot)
			tab.release(slot, key)
			delete(slots, key)
		case len(slots) == len(tab.slots):
			if _, err := tab.reserve(key); !errors.Is(err, datapath.ErrFull) {
				t.Fatalf("reserve in a full table: %v, want %v", err, datapath.ErrFull)
			}
		default:
			slot, err := tab.reserve(key)
			if err != nil {
				t.Fatalf("reserve with %d of %d taken: %v", len(slots), len(tab.slots), err)
			}
			tab.write(slot, &upfRule{Key: key, Ctl: ruleForw}, 0)
			slots[key] = slot
		}
		checkTable(t, tab, slots, key)
	}
	guests := 0
	for key, slot := range slots {
		if uint32(key)&tab.mask != slot {
			guests++
		}
	}
	if b.overflows != guests || len(tab.guests) != guests || guests == 0 {
		t.Errorf("%d overflows, %d guests known, %d there", b.overflows, len(tab.guests), guests)
	}
}

// TestTableBehind: guests stand behind the homes as long as there is room, whatever came
// and went before, so that they take nobody's home.
func TestTableBehind(t *testing.T) {
	b := openTables(t, 64)
	tab := b.teids
	homes := tab.mask + 1
	if behind := len(tab.slots) - int(homes); behind == 0 {
		t.Fatal("no slots behind the homes")
	}
	const guests = 32
	for round := range 50 {
		var keys []uint64
		for i := range uint64(guests) {
			for _, key := range []uint64{1<<32 | i + 1, 2<<32 | i + 1} {
				slot, err := tab.reserve(key)
				if err != nil {
					t.Fatal(err)
				}
				if home := key>>32 == 1; home != (slot < homes) {
					t.Fatalf("round %d: key %#x stands in slot %d of %d homes", round, key, slot, homes)
				}
				tab.write(slot, &upfRule{Key: key, Ctl: ruleForw}, 0)
				keys = append(keys, key)
			}
		}
		for _, key := range keys {
			slot, _ := tab.find(key)
			tab.clear(slot)
			tab.release(slot, key)
		}
	}
}

func checkTable(t *testing.T, tab *table, slots map[uint64]uint32, key uint64) {
	t.Helper()
	want, held := slots[key]
	got, found := tab.find(key)
	if found != held || (held && got != want) {
		t.Fatalf("find(%#x) = %d, %v; want %d, %v", key, got, found, want, held)
	}
	used := map[uint32]bool{}
	for k, s := range slots {
		if used[s] || tab.slots[s].Key != k {
			t.Fatalf("slot %d of key %#x is shared or holds %#x", s, k, tab.slots[s].Key)
		}
		used[s] = true
	}
}

// TestLayout: what Go and C share has the same size and places.
func TestLayout(t *testing.T) {
	var (
		m upfMeter
		g stages.Meter
		r upfRule
		c stages.Counters
		u upfUrr
		v stages.Volume
		o upfUrrOwner
		w stages.Owner
	)
	if unsafe.Sizeof(u) != 64 || unsafe.Sizeof(v) != 64 ||
		unsafe.Offsetof(u.Packets) != unsafe.Offsetof(v.Packets) || unsafe.Offsetof(u.Limit) != unsafe.Offsetof(v.Limit) ||
		unsafe.Offsetof(u.Flags) != unsafe.Offsetof(v.Flags) || unsafe.Offsetof(u.Id) != unsafe.Offsetof(v.ID) {
		t.Errorf("struct urr %+v and stages.Volume %+v are laid out differently", u, v)
	}
	if unsafe.Sizeof(o) != unsafe.Sizeof(w) || unsafe.Offsetof(o.Quota) != unsafe.Offsetof(w.Quota) {
		t.Errorf("struct urr_owner %+v and stages.Owner %+v are laid out differently", o, w)
	}
	if unsafe.Sizeof(m) != unsafe.Sizeof(g) {
		t.Errorf("struct meter has %d octets, stages.Meter %d", unsafe.Sizeof(m), unsafe.Sizeof(g))
	}
	if unsafe.Sizeof(r) != 64 {
		t.Errorf("struct rule has %d octets, want one cache line", unsafe.Sizeof(r))
	}
	if unsafe.Offsetof(r.Octets)-unsafe.Offsetof(r.Packets) != unsafe.Offsetof(c.Octets) ||
		unsafe.Offsetof(r.Dropped)-unsafe.Offsetof(r.Packets) != unsafe.Offsetof(c.Dropped) {
		t.Error("counters of struct rule and of stages.Counters are in different places")
	}
}

// TestHops: a slot is shared by those that want the same peer, resolved as a
// whole, and empty when the last one leaves.
func TestHops(t *testing.T) {
	b := openTables(t, 64)
	key := hopKey{0, gnbPort.Addr().Next().Next().Next()}
	first, fresh, err := b.hops.acquire(key, &b.ports.gtpu[0])
	if err != nil || !fresh {
		t.Fatalf("acquire: %v, fresh %v", err, fresh)
	}
	second, fresh, err := b.hops.acquire(key, &b.ports.gtpu[0])
	if err != nil || fresh || second != first {
		t.Fatalf("acquire again: slot %d, %v, fresh %v; want %d", second, err, fresh, first)
	}
	if other, fresh, err := b.hops.acquire(hopKey{1, key.addr}, &b.ports.gtpu[1]); err != nil || !fresh || other == first {
		t.Fatalf("acquire from another endpoint: slot %d, %v, fresh %v; want one of its own", other, err, fresh)
	}
	b.hops.resolve(key, [6]byte{1, 2, 3, 4, 5, 6})
	if got := b.hops.slots[first].Dst; got != 0x060504030201 {
		t.Errorf("MAC address word %#x", got)
	}
	if _, last := b.hops.release(first); last {
		t.Error("release of one of two said the hop is gone")
	}
	if gone, last := b.hops.release(first); !last || gone != key || b.hops.slots[first].Dst != 0 {
		t.Error("release of the last left the hop resolved")
	}
}
