package xsk

import (
	"errors"
	"testing"
)

// TestUMEM: every frame is somebody's, and none comes back from whom it was not given.
func TestUMEM(t *testing.T) {
	const frames, octets = 16, 2048
	u, err := NewUMEM(frames, octets)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := u.Close(); err != nil {
			t.Error(err)
		}
	})
	var taken []uint64
	for {
		offset, ok := u.Take()
		if !ok {
			break
		}
		taken = append(taken, offset)
	}
	if len(taken) != frames || u.Census() != [4]int{Held: frames} {
		t.Fatalf("took %d frames of %d: %v", len(taken), frames, u.Census())
	}
	for i, offset := range taken {
		b := u.Bytes(offset + 300)
		if len(b) != octets || cap(b) != octets || u.Base(offset+300) != offset {
			t.Fatalf("frame at %d has %d octets", offset, len(b))
		}
		if at, ok := OffsetIn(u.Memory, b[100:]); !ok || at != offset+100 {
			t.Errorf("frame at %d is found at %d, %v", offset, at, ok)
		}
		if err := u.Reclaim(offset); !errors.Is(err, errOwner) {
			t.Errorf("a frame of ours comes back from the kernel: %v", err)
		}
		if i%2 == 0 {
			u.Give(offset, Sent)
			if err := u.Reclaim(offset + 64); err != nil { // where the packet began
				t.Error(err)
			}
			if err := u.Reclaim(offset); !errors.Is(err, errOwner) {
				t.Errorf("a frame comes back twice: %v", err)
			}
		}
	}
	if err := u.Reclaim(frames * octets); err == nil {
		t.Error("a frame comes back that is none")
	}
	if u.Census() != [4]int{Free: frames / 2, Held: frames / 2} || len(u.Unused) != frames/2 {
		t.Errorf("got %v, %d free", u.Census(), len(u.Unused))
	}
	if _, ok := OffsetIn(u.Memory, make([]byte, 10)); ok {
		t.Error("other memory is taken for a frame")
	}
	if _, ok := OffsetIn(u.Memory, nil); ok {
		t.Error("no memory is taken for a frame")
	}
}
