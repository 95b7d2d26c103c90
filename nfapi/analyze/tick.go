package analyze

import (
	"fmt"
	"slices"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi/slot"
)

// missingBefore is a finding, noneMissing its replacement if all came later.
const (
	missingBefore = "%d SLOT.indications are missing before"
	noneMissing   = "0 SLOT.indications are missing before"
)

// gap is slots without a tick.
type gap struct {
	from, to int64 // the first slot, and that behind the last one
	missing  int   // of them, that did not come later
	finding  int   // index of the finding; negative: there was no room for it
}

// tick is a SLOT.indication.
func (c *cell) tick(n slot.Number, at time.Time) {
	t := &c.result.Ticks
	t.Count++
	if !c.ticking {
		c.ticking = true
		c.newest = int64(n) + int64(c.mu.PerCycle()) // so that slots before are not negative
		c.first, c.last, c.at = c.newest, c.newest-ringSlots, at
		c.came[c.newest%ringSlots] = c.newest
		c.claim(c.newest).tick = at
		return
	}
	ahead := int64(c.mu.Distance(n, slot.Number(c.newest%int64(c.mu.PerCycle()))))
	if ahead <= 0 {
		c.tickAgain(c.newest+ahead, at)
		return
	}
	if ahead > 1 {
		c.gap(c.newest+1, c.newest+ahead, at)
	} else {
		c.interval.Record(at.Sub(c.at))
	}
	c.newest += ahead
	c.at, c.cutTicks = at, 0
	c.claim(c.newest).tick = at
	c.came[c.newest%ringSlots] = c.newest
}

// gap records missing ticks, except those that are cut off.
func (c *cell) gap(from, to int64, at time.Time) {
	missing := int(to-from) - c.cutTicks
	if missing <= 0 {
		return
	}
	c.result.Ticks.Missing += missing
	g := gap{from, to, missing, len(c.result.Findings)}
	if g.finding == maxFindings {
		g.finding = -1
	}
	c.note(at, c.number(to), missingBefore, missing)
	c.gaps = append(slices.DeleteFunc(c.gaps, func(g gap) bool { return g.to <= to-ringSlots }), g)
}

// tickAgain is a tick that is not newer than the newest: one that came before, or out of order.
func (c *cell) tickAgain(n int64, at time.Time) {
	t := &c.result.Ticks
	switch {
	case n > c.newest-ringSlots && c.came[n%ringSlots] == n:
		t.Repeated++
		c.note(at, c.number(n), "SLOT.indication again")
		return
	case n > c.newest-ringSlots && n > c.first:
		c.came[n%ringSlots] = n
		c.late(n)
	}
	t.Backwards++
	c.note(at, c.number(n), "SLOT.indication %d slots back", c.newest-n)
}

// late takes back that a tick is missing.
func (c *cell) late(n int64) {
	for i := range c.gaps {
		g := &c.gaps[i]
		if n < g.from || n >= g.to || g.missing == 0 {
			continue
		}
		g.missing--
		c.result.Ticks.Missing--
		switch {
		case g.finding >= 0:
			c.result.Findings[g.finding].Text = fmt.Sprintf(missingBefore, g.missing)
		case g.missing == 0:
			c.result.Further--
		}
	}
}
