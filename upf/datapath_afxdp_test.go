package upf

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// locking is a datapath that locks so many octets.
type locking uint64

func (l locking) LockedOctets() (uint64, error) { return uint64(l), nil }

// TestCheckLocked: more memory than may be locked is an error, unless the process may lock all.
func TestCheckLocked(t *testing.T) {
	const limit = 8 << 20
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &before); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{Cur: limit, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Setrlimit(unix.RLIMIT_MEMLOCK, &before) })
	if err := checkLocked(DatapathP4, locking(limit+1)); err != nil {
		t.Errorf("with CAP_IPC_LOCK: %v", err)
	}
	fits, exceeds := make(chan error, 1), make(chan error, 1)
	go func() {
		runtime.LockOSThread() // it ends with the goroutine, and with it what it may not
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var have [2]unix.CapUserData
		err := unix.Capget(&header, &have[0])
		have[unix.CAP_IPC_LOCK/32].Effective &^= 1 << (unix.CAP_IPC_LOCK % 32)
		if err = errors.Join(err, unix.Capset(&header, &have[0])); err != nil {
			fits <- err
			exceeds <- err
			return
		}
		fits <- checkLocked(DatapathP4, locking(limit))
		exceeds <- checkLocked(DatapathP4, locking(limit+1))
	}()
	if err := <-fits; err != nil {
		t.Errorf("what may be locked: %v", err)
	}
	if err := <-exceeds; !errors.Is(err, unix.ENOBUFS) || !strings.Contains(err.Error(), "p4: frames of 8388609 octets") || !strings.Contains(err.Error(), "LimitMEMLOCK=") {
		t.Errorf("one octet more: %v", err)
	}
}
