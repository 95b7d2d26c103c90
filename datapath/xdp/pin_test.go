package xdp

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPinElsewhere: a directory of pins outside a bpffs is refused with what to do,
// and not made.
func TestPinElsewhere(t *testing.T) {
	dir := t.TempDir()
	for _, pin := range []string{dir, filepath.Join(dir, "a", "b")} {
		err := makeIn(pin)
		if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "mount -t bpf") {
			t.Errorf("%s: %v", pin, err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
