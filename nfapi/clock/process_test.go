package clock

import (
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// policies counts the threads of this process by policy.
func policies(t *testing.T) map[uint32]int {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	found := map[uint32]int{}
	for _, task := range tasks {
		tid, _ := strconv.Atoi(task.Name())
		if a, err := unix.SchedGetAttr(tid, 0); err == nil {
			found[a.Policy]++
		}
	}
	return found
}

// TestProcess: all threads are SCHED_RR meanwhile, but for those that are more; and none
// afterwards.
func TestProcess(t *testing.T) {
	release, err := Process()
	if err != nil {
		t.Skipf("this machine allows no SCHED_RR: it needs CAP_SYS_NICE or RLIMIT_RTPRIO: %v", err)
	}
	urgent, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		defer Urgent()()
		urgent <- struct{}{}
		<-urgent
	}()
	<-urgent
	if got := policies(t); got[unix.SCHED_RR] == 0 || got[unix.SCHED_NORMAL] != 0 || got[unix.SCHED_FIFO] == 0 {
		t.Errorf("policies %v, want SCHED_RR (2) and SCHED_FIFO (1)", got)
	}
	urgent <- struct{}{}
	<-done
	release()
	if got := policies(t); got[unix.SCHED_RR] != 0 {
		t.Errorf("policies %v after all, want no SCHED_RR", got)
	}
}
