package xdp

import (
	"time"

	"golang.org/x/sys/unix"
)

// Go's monotonic clock is the kernel's, without a system call and from another
// beginning.
var clockBegin, clockOffset = alignClocks()

// monotonic is the clock of bpf_ktime_get_ns().
func monotonic() uint64 { return clockOffset + uint64(time.Since(clockBegin)) }

// alignClocks returns a time and what the kernel's clock said then. Of several
// tries the one is taken between whose ends the least time passed.
func alignClocks() (begin time.Time, offset uint64) {
	least := time.Duration(-1)
	for range 16 {
		var ts unix.Timespec
		before := time.Now()
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
			panic(err) // the clock exists on every Linux
		}
		if took := time.Since(before); least < 0 || took < least {
			// Not ahead of the kernel's: what has been given back is not free too early.
			begin, offset, least = before.Add(took), uint64(ts.Nano()), took
		}
	}
	return begin, offset
}
