package pnf

import (
	"sync/atomic"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi/slot"
)

// lateness is how late the last ticks were: how long after its slot began a SLOT.indication
// was sent. The clock's goroutine writes it, that of P7
// reads it.
type lateness struct {
	mu    slot.Numerology
	ticks [latenessTicks]atomic.Int64 // slot<<40 | us
}

const (
	latenessTicks = 256
	latenessBits  = 40
)

// tick is slot n, late; skipped slots before it were left out, and are later still.
func (l *lateness) tick(n slot.Number, late time.Duration, skipped int) {
	for i := range min(skipped, latenessTicks-1) + 1 {
		at := l.mu.Add(n, -i)
		us := (late + time.Duration(i)*l.mu.Duration()).Microseconds()
		l.ticks[at%latenessTicks].Store(int64(at)<<latenessBits | max(us, 0))
	}
}

// of is how late the tick of a slot was, 0 if that is not known.
func (l *lateness) of(n slot.Number) time.Duration {
	v := l.ticks[n%latenessTicks].Load()
	if slot.Number(v>>latenessBits) != n {
		return 0
	}
	return time.Duration(v&(1<<latenessBits-1)) * time.Microsecond
}
