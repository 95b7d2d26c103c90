package probe

import (
	"fmt"
	"time"

	"github.com/cilium/ebpf"
)

// sweepOften looks through the table four times in Config.Timeout, so that nothing is in
// it for much longer, and begins epochs.
func (p *Probe) sweepOften() {
	tick := time.NewTicker(min(max(p.cfg.Timeout/4, 10*time.Millisecond), epochTime))
	defer tick.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-tick.C:
		}
		// It failed when the probe was opened or never does; Read says so.
		_, _ = p.sweep()
		p.mu.Lock()
		if time.Since(p.begun) >= epochTime {
			p.nextEpoch()
		}
		p.mu.Unlock()
	}
}

// sweep takes what is lost out of the table, and returns how many packets stay.
func (p *Probe) sweep() (held uint64, err error) {
	p.sweeping.Lock()
	defer p.sweeping.Unlock()
	if _, err := p.base.Programs["sweep"].Run(&ebpf.RunOptions{}); err != nil {
		return 0, fmt.Errorf("sweep: %w", err)
	}
	return held, p.base.Variables["held"].Get(&held)
}
