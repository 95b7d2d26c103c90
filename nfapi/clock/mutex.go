package clock

import (
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Mutex protects data shared by threads that keep slots or are [Urgent]. They must not wait for a
// [sync.Mutex]: a goroutine that is locked to its thread gets its processor back from another,
// ordinary thread, which may wait for milliseconds on a busy machine. A waiter of a Mutex spins,
// and then sleeps in the kernel, on its own thread.
//
// Hold it for some instructions or one system call, not longer. It is not fair.
type Mutex struct{ held atomic.Bool }

const (
	mutexSpins = 500
	mutexSleep = 20 * time.Microsecond
)

// Lock waits until the Mutex is free, and locks it.
func (m *Mutex) Lock() {
	for spins := 0; !m.held.CompareAndSwap(false, true); spins++ {
		if spins < mutexSpins {
			continue
		}
		spins = 0
		ts := unix.NsecToTimespec(int64(mutexSleep))
		_ = unix.Nanosleep(&ts, nil) // woken early is no harm
	}
}

// Unlock gives it back.
func (m *Mutex) Unlock() { m.held.Store(false) }
