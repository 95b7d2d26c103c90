package afxdp

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Mode says what a worker does while nothing arrives.
type Mode string

// Modes.
const (
	// Adaptive: it looks on for a little, then sleeps until something arrives.
	Adaptive Mode = "adaptive"
	// Poll: it looks on, and has the device polled for it: a CPU for each worker.
	Poll Mode = "poll"
	// Interrupt: it sleeps at once.
	Interrupt Mode = "interrupt"
)

// attention is how long an adaptive worker looks on.
const attention = 50 * time.Microsecond

// longestRest is how long a worker sleeps at most: frames that have been sent come
// back without waking it.
const longestRest = 200 // milliseconds

// retryRest is how long it sleeps while a device takes nothing, such as one that is down.
const retryRest = 1 // milliseconds

// rests says whether a worker that has had nothing to do since a time is to sleep.
func (m *machine) rests(since time.Time) bool {
	switch m.d.cfg.Mode {
	case Poll:
		return false
	case Interrupt:
		return true
	}
	return time.Since(since) > attention
}

// rest sleeps until something arrives or the machine stops. What a TX ring still has
// is sent meanwhile.
func (w *worker) rest() error {
	timeout := longestRest
	for _, s := range w.sockets {
		if s.TX.Unread() == 0 {
			continue
		}
		if s.Wake() == nil {
			return nil
		}
		timeout = retryRest
	}
	_, err := unix.Poll(w.polled, timeout)
	if err != nil && !errors.Is(err, unix.EINTR) {
		return fmt.Errorf("afxdp: worker %d: poll: %w", w.number, err)
	}
	return nil
}
