package clock_test

import (
	"sync"
	"testing"

	"github.com/plumbline-upf/plumbline/nfapi/clock"
)

// TestMutex: one at a time has it, however many there are, real-time threads among them.
func TestMutex(t *testing.T) {
	var mu clock.Mutex
	var all sync.WaitGroup
	count := 0 // the race detector looks, too
	const workers, times = 6, 5000
	for i := range workers {
		all.Go(func() {
			if i%2 == 0 {
				defer clock.Urgent()()
			}
			for range times {
				mu.Lock()
				count++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if count != workers*times {
		t.Errorf("counted %d, want %d", count, workers*times)
	}
}

// BenchmarkMutex is what it costs if nobody else has it.
func BenchmarkMutex(b *testing.B) {
	var mu clock.Mutex
	for b.Loop() {
		mu.Lock()
		mu.Unlock() //nolint:staticcheck // nothing else is measured
	}
}
