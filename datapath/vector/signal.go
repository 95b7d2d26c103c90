package vector

import (
	"sync"

	"plumbline/datapath"
	"plumbline/datapath/model"
)

// answer sends what a GTP-U message asks for that the stages did not forward, but
// not too much of it. The engine's lock is held for reading.
func (w *Worker) answer(m model.Datagram, reason datapath.Reason) {
	if reason != datapath.PassSignalling && !w.e.settled {
		return // the session may yet come back
	}
	for _, d := range w.e.stages.Signal(m, reason) {
		if w.e.answers.allow(w.e.cfg.Now()) {
			w.signal(d)
		}
	}
}

// limiter is a [model.Limiter] for several goroutines.
type limiter struct {
	mu sync.Mutex
	model.Limiter
}

func (l *limiter) allow(nowNs uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Allow(nowNs)
}
