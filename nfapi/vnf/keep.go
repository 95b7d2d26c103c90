package vnf

import (
	"context"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi/clock"
)

// autonomous reports whether the VNF's own clock says what is scheduled when.
func (p *phy) autonomous() bool { return p.ahead.Mode == AheadAdaptive && p.sync.ok() }

// keep is the VNF's own clock: it schedules each slot some time before it begins at the
// PNF, as long as node sync knows when that is.
func (p *phy) keep(ctx context.Context) {
	thread, err := clock.NewThread()
	defer thread.Release()
	if err != nil {
		p.log.Info("slot thread without real-time priority", "reason", err)
	}
	for ctx.Err() == nil {
		if at, ok := p.next(p.now()); ok {
			thread.Sleep(ctx, at)
			p.due(p.now())
			continue
		}
		select {
		case <-p.woken:
		case <-ctx.Done():
		}
	}
}

// next is when there may be something to schedule; false: only after the next wake.
func (p *phy) next(now time.Time) (time.Time, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.on || !p.autonomous() {
		return time.Time{}, false
	}
	n := p.cell.Numerology.Add(p.scheduled, 1)
	at := p.sync.clock().Begin(n, now).Add(-p.lead.now)
	// Meanwhile the lead may grow, the PHY stop.
	if soon := now.Add(p.cell.Slot()); at.After(soon) {
		at = soon
	}
	return at, true
}

// due schedules what is due by the VNF's own clock.
func (p *phy) due(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.on || !p.autonomous() {
		return
	}
	mu := p.cell.Numerology
	n, _ := p.sync.clock().Slot(now.Add(p.lead.now))
	if d := mu.Distance(n, p.scheduled); !near(mu, n, p.scheduled) {
		if d > 0 { // this process has stood still
			p.count.Skipped += uint64(d - 1)
		} else {
			p.count.Jumps++
		}
		p.scheduled = mu.Add(n, -1)
	}
	p.scheduleTo(n, now)
}
