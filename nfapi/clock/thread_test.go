package clock

import (
	"testing"
	"time"
)

// TestAnchor: whenever a thread loses its CPU while it finds out what time it is, who
// sleeps until a time wakes up then, and never before.
func TestAnchor(t *testing.T) {
	epoch := time.Unix(1_000_000, 0)
	for lost := range 15 { // at which of the readings
		var at time.Duration
		readings := 0
		read := func() time.Duration {
			if at += 50; readings == lost {
				at += 4 * time.Millisecond
			}
			readings++
			return at
		}
		base, ns := anchor(func() time.Time { return epoch.Add(read()) }, func() int64 { return int64(read()) })
		if late := time.Duration(ns) - base.Sub(epoch); late < 0 || late > time.Microsecond {
			t.Errorf("reading %d is late: a sleeper wakes up %v late", lost, late)
		}
	}
}
