package clock

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Process makes all threads of this process, and those to come, SCHED_RR of the lowest
// priority, below slots and messages. On a busy machine that matters to them: the Go
// scheduler hands a goroutine that was preempted back to its thread by way of another one,
// which other processes must not keep waiting.
//
// A process that uses almost all CPUs is an ordinary one for a second. Programs that it
// starts are real time as well, so it should start none. release undoes it.
//
// Errors: the machine does not allow it.
func Process() (release func(), err error) {
	if err := each(unix.SCHED_NORMAL, unix.SCHED_RR, 1); err != nil {
		return nil, err
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		watch(done, float64(runtime.NumCPU()), processTime, func(hogs bool) {
			if hogs {
				_ = each(unix.SCHED_RR, unix.SCHED_NORMAL, 0)
			} else {
				_ = each(unix.SCHED_NORMAL, unix.SCHED_RR, 1)
			}
		})
	}()
	return func() {
		close(done)
		<-ended
		_ = each(unix.SCHED_RR, unix.SCHED_NORMAL, 0)
	}, nil
}

// each changes the policy of all threads that have another one. New ones inherit it from
// those that start them, so it looks until there are no more.
func each(from uint32, to uint32, priority uint32) error {
	for again := true; again; {
		again = false
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return fmt.Errorf("clock: threads: %w", err)
		}
		for _, t := range tasks {
			tid, _ := strconv.Atoi(t.Name())
			a, err := unix.SchedGetAttr(tid, 0)
			if err != nil || a.Policy != from { // it has ended meanwhile, or is one that keeps slots
				continue
			}
			again = true
			if err := unix.SchedSetAttr(tid, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: to, Priority: priority}, 0); err != nil && err != unix.ESRCH {
				return fmt.Errorf("clock: real-time priority %d: %w", priority, err)
			}
		}
	}
	return nil
}

func processTime() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
