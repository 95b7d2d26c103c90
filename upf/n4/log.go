package n4

import (
	"context"
	"log/slog"
	"sync/atomic"

	"golang.org/x/time/rate"
)

// limitedLog logs what others cause, but not more often than a person can
// read: who sends many bad requests must not fill a disk. Each kind of event
// has its own limit, so that one cannot hide another.
type limitedLog struct {
	*slog.Logger
	kinds [kindMax]struct {
		limit      *rate.Limiter
		suppressed atomic.Uint64
	}
}

// kind is a kind of event.
type kind int

const (
	kindRefused     kind = iota // a session request was refused
	kindMalformed               // a request could not be decoded
	kindAssociation             // an association came, went or was refused
	kindStranger                // somebody who is not on the list of peers
	kindStore                   // the store failed
	kindReport                  // a CP function did not take a session report
	kindMax
)

// Log lines of one kind: so many at once, and so many per second in the long run.
const logBurst, logPerSecond = 20, 5

func newLimitedLog(l *slog.Logger) *limitedLog {
	out := &limitedLog{Logger: l}
	for i := range out.kinds {
		out.kinds[i].limit = rate.NewLimiter(logPerSecond, logBurst)
	}
	return out
}

// event logs a line of that kind, or counts that it did not.
func (l *limitedLog) event(k kind, level slog.Level, msg string, args ...any) {
	if !l.Enabled(context.Background(), level) {
		return
	}
	e := &l.kinds[k]
	if !e.limit.Allow() {
		e.suppressed.Add(1)
		return
	}
	if n := e.suppressed.Swap(0); n > 0 {
		args = append(args, "suppressed", n)
	}
	l.Log(context.Background(), level, msg, args...)
}
