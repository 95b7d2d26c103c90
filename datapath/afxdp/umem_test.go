package afxdp

import (
	"errors"
	"testing"
)

// TestUMEM: every frame is somebody's, and none comes back from whom it was not given.
func TestUMEM(t *testing.T) {
	const frames, octets = 16, 2048
	u, err := newUMEM(frames, octets)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := u.close(); err != nil {
			t.Error(err)
		}
	})
	var taken []uint64
	for {
		offset, ok := u.take()
		if !ok {
			break
		}
		taken = append(taken, offset)
	}
	if len(taken) != frames || u.census() != [4]int{ownVector: frames} {
		t.Fatalf("took %d frames of %d: %v", len(taken), frames, u.census())
	}
	for i, offset := range taken {
		b := u.bytes(offset + 300)
		if len(b) != octets || cap(b) != octets || u.base(offset+300) != offset {
			t.Fatalf("frame at %d has %d octets", offset, len(b))
		}
		if at, ok := offsetIn(u.mem, b[100:]); !ok || at != offset+100 {
			t.Errorf("frame at %d is found at %d, %v", offset, at, ok)
		}
		if err := u.reclaim(offset); !errors.Is(err, errOwner) {
			t.Errorf("a frame of ours comes back from the kernel: %v", err)
		}
		if i%2 == 0 {
			u.give(offset, ownSent)
			if err := u.reclaim(offset + 64); err != nil { // where the packet began
				t.Error(err)
			}
			if err := u.reclaim(offset); !errors.Is(err, errOwner) {
				t.Errorf("a frame comes back twice: %v", err)
			}
		}
	}
	if err := u.reclaim(frames * octets); err == nil {
		t.Error("a frame comes back that is none")
	}
	if u.census() != [4]int{ownFree: frames / 2, ownVector: frames / 2} || len(u.free) != frames/2 {
		t.Errorf("got %v, %d free", u.census(), len(u.free))
	}
	if _, ok := offsetIn(u.mem, make([]byte, 10)); ok {
		t.Error("other memory is taken for a frame")
	}
	if _, ok := offsetIn(u.mem, nil); ok {
		t.Error("no memory is taken for a frame")
	}
}

// census counts frames by owner.
func (u *umem) census() (n [4]int) {
	for _, o := range u.owner {
		n[o]++
	}
	return n
}
