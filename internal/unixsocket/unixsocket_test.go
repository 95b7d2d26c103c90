package unixsocket

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
)

func TestListen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	for range 2 { // the second time over what the first one has left
		l, err := Listen(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Listen(t.Context(), path); !errors.Is(err, ErrListens) {
			t.Errorf("where a process listens: %v, want %v", err, ErrListens)
		}
		unix, ok := l.(*net.UnixListener)
		if !ok {
			t.Fatalf("a %T", l)
		}
		unix.SetUnlinkOnClose(false)
		l.Close()
		if _, err := os.Lstat(path); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(t.Context(), file); !errors.Is(err, ErrNotSocket) {
		t.Errorf("a file: %v, want %v", err, ErrNotSocket)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "text" {
		t.Errorf("the file has %q now: %v", text, err)
	}
}
