package generator

import (
	"runtime"
	"testing"

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
