package dut

import (
	"io"
	"sync"
)

// tail keeps the end of a log, and passes all of it on.
type tail struct {
	also io.Writer // may be nil

	mu  sync.Mutex
	end []byte
}

const tailOctets = 8 << 10

// Write never fails, so that the process never waits for its log to be read.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.also != nil {
		_, _ = t.also.Write(b) // the process must not suffer from a full disk
	}
	t.end = append(t.end, b...)
	if excess := len(t.end) - tailOctets; excess > 0 {
		t.end = append(t.end[:0], t.end[excess:]...)
	}
	return len(b), nil
}

// String returns what is kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.end)
}
