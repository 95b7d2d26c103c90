package vector

import (
	"context"
	"time"
)

const (
	// tendInterval is how often is looked at what time asks for.
	tendInterval = 50 * time.Millisecond
	// superviseRound is how often is looked which GTP-U peer is due to be asked.
	superviseRound = time.Second
	// scanShare is the part of the time that looking for sessions may take that an
	// Error Indication is about: one in so many.
	scanShare = 20
)

// Tend does what time asks for until ctx is done: it gives up packets that have
// waited too long, and mappings of NATs that nobody uses, asks peers, and looks for
// the sessions that Error Indications are about.
func (e *Engine) Tend(ctx context.Context) {
	tick, round := time.NewTicker(tendInterval), time.NewTicker(superviseRound)
	defer tick.Stop()
	defer round.Stop()
	var rest time.Time // of looking for sessions
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			e.tend()
			if now.After(rest) {
				e.findErrored()
				rest = time.Now().Add(scanShare * time.Since(now))
			}
		case now := <-round.C:
			if e.cfg.Echo > 0 {
				e.supervise(now)
			}
		}
	}
}

// TendNow does at once what Tend does in its turn, but for Echo Requests: for who has a
// clock of his own.
func (e *Engine) TendNow() { e.tend(); e.findErrored() }

func (e *Engine) tend() {
	e.mu.RLock()
	defer e.mu.RUnlock()
	e.stages.Sweep()
	e.stages.N6.Expire(e.cfg.Now())
}

// supervise sends Echo Requests that are due.
func (e *Engine) supervise(now time.Time) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	e.paths.Round(e.peersInUse(), now)
}
