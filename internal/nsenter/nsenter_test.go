package nsenter

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/vishvananda/netns"
)

// inode is that of the calling thread's namespace.
func inode(t *testing.T) string {
	t.Helper()
	link, err := os.Readlink("/proc/thread-self/ns/net")
	if err != nil {
		t.Error(err)
	}
	return link
}

// TestOpen: a namespace that is not there says how to create one; the others are the caller's.
func TestOpen(t *testing.T) {
	for _, name := range []string{"plt-nosuch", "/run/netns/plt-nosuch"} {
		if _, err := Open(name); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "ip netns add") {
			t.Errorf("%s: %v", name, err)
		}
		if err := In(name, func() error { t.Error("it runs"); return nil }); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, name := range []string{"", "/proc/thread-self/ns/net"} {
		h, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		own, _ := netns.Get()
		if !h.Equal(own) {
			t.Errorf("%q is %v, want that of the thread, %v", name, h, own)
		}
		_, _ = h.Close(), own.Close()
	}
}

// TestDo enters a namespace that exists only for the test, and comes back, whatever f does.
func TestDo(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("not root: no network namespace")
	}
	before := inode(t)
	var h netns.NsHandle
	if err := OnThread(func() (err error) { h, err = netns.New(); return err }); err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	failed := errors.New("failed")
	inside := ""
	if err := Do(h, func() error { inside = inode(t); return failed }); !errors.Is(err, failed) {
		t.Errorf("%v, want %v", err, failed)
	}
	if inside == before {
		t.Errorf("f ran in %s", inside)
	}
	if err := Do(h, func() error { runtime.Goexit(); return nil }); err == nil || !strings.Contains(err.Error(), "Goexit") {
		t.Errorf("Goexit: %v", err)
	}
	if after := inode(t); after != before {
		t.Errorf("afterwards it is %s, want %s", after, before)
	}
}
