package vector

import (
	"context"
	"time"
)

// tendInterval is how often is looked at what time asks for.
const tendInterval = 50 * time.Millisecond

// Tend does what time asks for until ctx is done: it gives up packets that have
// waited too long, and mappings of NATs that nobody uses.
func (e *Engine) Tend(ctx context.Context) {
	tick := time.NewTicker(tendInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			e.tend()
		}
	}
}

func (e *Engine) tend() {
	e.mu.RLock()
	defer e.mu.RUnlock()
	e.stages.Sweep()
	e.stages.N6.Expire(e.cfg.Now())
}
