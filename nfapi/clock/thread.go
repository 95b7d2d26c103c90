package clock

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// priority of the threads that keep slots: above everything that is not real time,
// below what the kernel itself runs so.
const priority = 20

// spare is how many processors of the Go scheduler more there are for a clock. With one
// idle the scheduler does not take that of a thread away which sleeps for a slot.
const spare = 4

var reserved sync.Mutex

// Reserve gives the Go scheduler some processors more, for a thread that has to run at
// once when it wakes up. The function that it returns takes them back.
func Reserve() (release func()) {
	change := func(by int) {
		reserved.Lock()
		defer reserved.Unlock()
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + by)
	}
	change(spare)
	return func() { change(-spare) }
}

// Thread is the system's monotonic clock, for the goroutine that made it.
type Thread struct {
	base    time.Time
	mono    int64 // CLOCK_MONOTONIC of base, ns
	release func()
}

// NewThread locks the goroutine that calls it to its OS thread, for good, makes that
// thread SCHED_FIFO and gives it timers without slack. As that of [Urgent] its use of the
// CPU is watched: one that hardly sleeps is an ordinary thread for a second.
//
// The error says why the thread has no real-time priority; the Thread works all the
// same. Threads that it starts have none. Call Release when the goroutine is done.
func NewThread() (*Thread, error) {
	runtime.LockOSThread()
	t := &Thread{release: func() {}}
	if _, err := monotonic(); err != nil {
		return t, fmt.Errorf("clock: clock_gettime: %w", err)
	}
	t.base, t.mono = anchor(time.Now, func() int64 { ns, _ := monotonic(); return ns })
	// Without it, a thread that is not real time may wake up 50 us later.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	release, err := realtime(priority)
	if err == nil {
		t.release = release
	}
	return t, err
}

// monotonic is CLOCK_MONOTONIC in ns.
func monotonic() (int64, error) {
	var ts unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return ts.Nano(), err
}

// anchor returns a time and the corresponding CLOCK_MONOTONIC. A thread may lose its CPU between
// the two readings: the closest of several pairs is used. mono is never before base, so that a
// thread that sleeps until a time does not wake up before it.
func anchor(now func() time.Time, mono func() int64) (base time.Time, ns int64) {
	const pairs = 5
	least := time.Duration(-1)
	for range pairs {
		before, between := now(), mono()
		if gap := now().Sub(before); least < 0 || gap < least {
			base, ns, least = before, between, gap
		}
	}
	return base, ns
}

// Release ends the watch over the thread.
func (t *Thread) Release() { t.release() }

// schedule sets the policy of a thread; 0 is that of the caller. Threads that it starts
// do not inherit it.
func schedule(tid, policy, priority int) error {
	err := unix.SchedSetAttr(tid, &unix.SchedAttr{
		Size: unix.SizeofSchedAttr, Policy: uint32(policy), Priority: uint32(priority), Flags: unix.SCHED_FLAG_RESET_ON_FORK,
	}, 0)
	if err != nil {
		return fmt.Errorf("clock: real-time priority %d: %w", priority, err)
	}
	return nil
}

// Now is the time.
func (t *Thread) Now() time.Time { return time.Now() }

// Sleep returns when at has come; it does not look at ctx.
func (t *Thread) Sleep(_ context.Context, at time.Time) {
	ts := unix.NsecToTimespec(t.mono + int64(at.Sub(t.base)))
	for unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &ts, nil) == unix.EINTR {
	}
}
