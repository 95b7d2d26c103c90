package vnf

import (
	"time"

	"github.com/plumbline-upf/plumbline/nfapi/slot"
)

// pace says how long a tick has waited where node sync does not: ticks come a slot apart,
// so one that is later than the earliest ones say has been in the PNF, on the way, or in
// the socket while this process stood still.
type pace struct {
	begun  bool
	n      slot.Number
	at     time.Time // when tick n was to come
	behind time.Time // since when all ticks have waited too long; zero: the last one had not
}

const (
	// paceDrift is by which part of what ticks are late the line through the earliest ones
	// follows them: clocks differ by less than a slot in 256.
	paceDrift = 256
	// paceSet is after how long a PNF's clock is believed to have been set: ticks that
	// waited in the socket are worked off in less.
	paceSet = time.Second
)

// waited is how long tick n has, which is taken now. What is longer than most moves the
// line only if it stays so.
func (p *pace) waited(mu slot.Numerology, n slot.Number, now time.Time, most time.Duration) time.Duration {
	expected := p.at.Add(time.Duration(mu.Distance(n, p.n)) * mu.Duration())
	late := now.Sub(expected)
	set := !p.behind.IsZero() && now.Sub(p.behind) > paceSet
	if !p.begun || late <= 0 || late > most && set {
		*p = pace{begun: true, n: n, at: now}
		return 0
	}
	p.n, p.at = n, expected
	switch {
	case late <= most:
		p.at, p.behind = expected.Add(late/paceDrift), time.Time{}
	case p.behind.IsZero():
		p.behind = now
	}
	return late
}
