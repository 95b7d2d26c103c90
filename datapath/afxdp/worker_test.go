package afxdp

import "testing"

// TestLentFrames: all of a ring while a worker has pauses, few once it has had none for long.
func TestLentFrames(t *testing.T) {
	for _, tc := range []struct {
		entries, unbroken, want int
	}{
		{4096, 0, 4096},
		{4096, overloaded * 16384, 4096},
		{4096, overloaded*16384 + 1, overloadedLent},
		{512, overloaded*16384 + 1, 512},
	} {
		w := &worker{m: &machine{frames: 16384, entries: tc.entries}, unbroken: tc.unbroken}
		if got := w.most(); got != tc.want {
			t.Errorf("ring of %d, %d frames without a pause: %d, want %d", tc.entries, tc.unbroken, got, tc.want)
		}
	}
}
