package clock

import (
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestUrgentIsGoverned: a thread that never sleeps is not real time for long, and is
// again when it sleeps.
func TestUrgentIsGoverned(t *testing.T) {
	tids, done := make(chan int), make(chan struct{})
	var busy, over atomic.Bool
	go func() {
		defer close(done)
		defer Urgent()()
		tids <- unix.Gettid()
		for !over.Load() {
			if !busy.Load() {
				time.Sleep(time.Millisecond)
			}
		}
	}()
	tid := <-tids
	policy := func() uint32 {
		a, err := unix.SchedGetAttr(tid, 0)
		if err != nil {
			t.Fatal(err)
		}
		return a.Policy
	}
	if policy() != unix.SCHED_FIFO {
		over.Store(true)
		<-done
		t.Skip("this machine allows no SCHED_FIFO: it needs CAP_SYS_NICE or RLIMIT_RTPRIO")
	}
	end := time.Now().Add(time.Minute)
	for policy() == unix.SCHED_FIFO {
		if time.Now().After(end) {
			over.Store(true)
			t.Fatal("a thread that does not sleep is still SCHED_FIFO")
		}
		busy.Store(true)
		time.Sleep(10 * time.Millisecond)
	}
	busy.Store(false)
	for policy() != unix.SCHED_FIFO {
		if time.Now().After(end) {
			t.Fatal("a thread that sleeps is not SCHED_FIFO again")
		}
		time.Sleep(10 * time.Millisecond)
	}
	over.Store(true)
	<-done
}
