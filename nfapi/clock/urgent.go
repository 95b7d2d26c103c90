package clock

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// A real-time thread is looked at so often, loses its priority if it had more than
// hogging of a CPU meanwhile, and gets it back after a rest.
const (
	governEvery = 100 * time.Millisecond
	hogging     = 0.85
	rest        = time.Second
)

// Urgent locks the goroutine that calls it to its OS thread, for good, and makes that
// thread SCHED_FIFO, below the threads that keep slots, if the machine allows that. It
// is for threads that wait for messages.
//
// A sender that overloads the thread would occupy a CPU. The thread's CPU use is therefore
// monitored: if it hardly sleeps, it becomes an ordinary thread for a second. release ends the
// monitoring; call it when the goroutine is done.
func Urgent() (release func()) {
	runtime.LockOSThread()
	release, err := realtime(priority - 1)
	if err != nil {
		_ = unix.Setpriority(unix.PRIO_PROCESS, 0, -20) // better than nothing, if allowed
		return func() {}
	}
	return release
}

// realtime makes the calling thread SCHED_FIFO, and watches it until release is called.
func realtime(priority int) (release func(), err error) {
	tid := unix.Gettid()
	if err := schedule(tid, unix.SCHED_FIFO, priority); err != nil {
		return nil, err
	}
	done := make(chan struct{})
	go govern(tid, priority, done)
	return func() { close(done) }, nil
}

// govern watches a thread until done is closed.
func govern(tid, priority int, done <-chan struct{}) {
	watch(done, 1, func() time.Duration { return cpuTime(tid) }, func(hogs bool) {
		if hogs {
			_ = schedule(tid, unix.SCHED_NORMAL, 0)
		} else {
			_ = schedule(tid, unix.SCHED_FIFO, priority)
		}
	})
}

// watch calls change when used grows by almost this number of CPUs, and when it no longer does
// after a pause, until done is closed.
func watch(done <-chan struct{}, cpus float64, used func() time.Duration, change func(hogs bool)) {
	ticker := time.NewTicker(governEvery)
	defer ticker.Stop()
	last, at := used(), time.Now()
	var free time.Time // when he is to be real time again; zero: he is
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
		}
		sum, now := used(), time.Now()
		hogs := sum-last > time.Duration(hogging*cpus*float64(now.Sub(at)))
		last, at = sum, now
		switch {
		case free.IsZero() && hogs:
			free = now.Add(rest)
			change(true)
		case !free.IsZero() && now.After(free) && !hogs:
			free = time.Time{}
			change(false)
		}
	}
}

// cpuTime is how long a thread of this process has had a CPU; 0: there is none.
func cpuTime(tid int) time.Duration {
	const perThread, scheduled = 4, 2 // Source: linux/posix-timers.h, CPUCLOCK_PERTHREAD_MASK, CPUCLOCK_SCHED
	var ts unix.Timespec
	if unix.ClockGettime(int32(^tid)<<3|perThread|scheduled, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
