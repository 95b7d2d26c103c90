// Package bpffs gives a test a file system for pinned eBPF objects.
package bpffs

import (
	"testing"

	"golang.org/x/sys/unix"
)

// New mounts a bpffs for one test and returns where. All that is pinned in it goes
// with it at the end of the test. It needs nothing of the machine: /sys/fs/bpf is
// mounted by systemd, which a container or a minimal machine may not have.
func New(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("bpf", dir, "bpf", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "mode=0700"); err != nil {
		t.Fatalf("mount a bpffs at %s: %v", dir, err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return dir
}
