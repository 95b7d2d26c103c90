package generator

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestElevateAndRelax(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	policy := func() uint32 {
		t.Helper()
		attr, err := unix.SchedGetAttr(0, 0)
		if err != nil {
			t.Fatal(err)
		}
		return attr.Policy
	}
	before := policy()
	relax, ok := elevate()
	if got := policy(); ok && got != unix.SCHED_FIFO || !ok && got != before {
		t.Errorf("elevate: %v, policy %d, was %d", ok, got, before)
	}
	relax()
	if got := policy(); got != before {
		t.Errorf("relax: policy %d, want %d", got, before)
	}
}

func TestHasFairServer(t *testing.T) {
	for release, want := range map[string]bool{
		"6.18.5": true, "6.12.0-rc1": true, "7.0.1-arch1": true, "6.11.9": false, "6.1.0-28-amd64": false, "5.15": false, "unknown": false,
	} {
		if got := hasFairServer(release); got != want {
			t.Errorf("%s: got %v, want %v", release, got, want)
		}
	}
}

func TestReceivesBeside(t *testing.T) {
	for release, want := range map[string]bool{
		"6.18.5": true, "6.12.118+deb13-cloud-amd64": true, "6.5.0-45-generic": true, "6.1.0-56-cloud-amd64": false, "5.19": false, "unknown": false,
	} {
		if got := receivesBeside(release); got != want {
			t.Errorf("%s: got %v, want %v", release, got, want)
		}
	}
}

// Before Linux 6.5 a real-time thread takes the CPU from what receives its frames.
func TestElevates(t *testing.T) {
	var uts unix.Utsname
	if err := unix.Uname(&uts); err != nil {
		t.Fatal(err)
	}
	want := receivesBeside(unix.ByteSliceToString(uts.Release[:]))
	if got := (Load{Realtime: true}).elevates(); got != want {
		t.Errorf("at the highest rate: %v, want %v", got, want)
	}
	if (Load{}).elevates() {
		t.Error("elevated without being asked for")
	}
}

// Two threads that want the same CPU wait for each other.
func TestHeld(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ready := make(chan struct{})
	var stop atomic.Bool
	defer stop.Store(true)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		restore, err := pin(LastCPU())
		if err != nil {
			t.Error(err)
		}
		defer restore()
		close(ready)
		for !stop.Load() {
		}
	}()
	<-ready
	restore, err := pin(LastCPU())
	if err != nil {
		t.Fatal(err)
	}
	defer restore()
	before := held()
	for deadline := time.Now().Add(10 * time.Second); held()-before < 10*time.Millisecond; {
		if time.Now().After(deadline) {
			t.Fatalf("held for %v of 10 s beside another thread on the same CPU", held()-before)
		}
	}
}
