package pnf

import (
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/cell"
	"github.com/plumbline-upf/plumbline/nfapi/clock"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
)

// timing is what TIMING_INFO reports: how long before their slots requests came, since
// the last report.
type timing struct {
	mu       clock.Mutex
	mode     cell.TimingInfo
	arrivals [len(kinds)]arrivals
	late     bool // since the last report
	elapsed  int  // slots since the last report
	total    uint64
}

// arrivals are those of one kind of request. Leads are us; negative: too late.
type arrivals struct {
	seen        bool // since the last report
	least, most time.Duration

	before bool // there was one before
	last   time.Duration
	jitter time.Duration // x 16. Source: RFC 3550, 6.4.1 and A.8
}

// arrived takes note of a request that came lead before its slot.
func (t *timing) arrived(kind int, lead time.Duration, late bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.late = t.late || late
	a := &t.arrivals[kind]
	if !a.seen {
		a.seen, a.least, a.most = true, lead, lead
	}
	a.least, a.most = min(a.least, lead), max(a.most, lead)
	if a.before {
		// Slots are the media clock: what leads differ by is what transit times do.
		a.jitter += (lead - a.last).Abs() - (a.jitter+8)/16
	}
	a.before, a.last = true, lead
}

// due fills m if the PNF is to report now, at the end of slot n.
func (t *timing) due(mu slot.Numerology, n slot.Number, m *nfapi.TimingInfo) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.elapsed++
	periodic := t.mode.Periodic && t.elapsed >= int(max(t.mode.Period, 1))
	if !periodic && !(t.mode.Aperiodic && t.late) {
		return false
	}
	sfn, s := mu.Split(n)
	m.LastSFN, m.LastSlot = uint32(sfn), uint32(s)
	m.TimeSinceLastTimingInfo = uint32(time.Duration(t.elapsed) * mu.Duration() / time.Millisecond)
	for k, to := range [...]struct {
		jitter           *uint32
		latest, earliest *int32
	}{
		{&m.DLTTIJitter, &m.DLTTILatestDelay, &m.DLTTIEarliestArrival},
		{&m.TXDataRequestJitter, &m.TXDataRequestLatestDelay, &m.TXDataRequestEarliestArrival},
		{&m.ULTTIJitter, &m.ULTTILatestDelay, &m.ULTTIEarliestArrival},
		{&m.ULDCIJitter, &m.ULDCILatestDelay, &m.ULDCIEarliestArrival},
	} {
		a := &t.arrivals[k]
		*to.jitter, *to.latest, *to.earliest = uint32(a.jitter/16/time.Microsecond), 0, 0
		if a.seen {
			*to.latest, *to.earliest = microsAfter(a.least), microsAfter(a.most)
		}
		a.seen = false
	}
	t.late, t.elapsed = false, 0
	t.total++
	return true
}

// microsAfter is a lead in the encoding of TIMING_INFO: us after the start of the slot, negative
// before. 0 means "no request", so a request at exactly that moment is 1.
func microsAfter(lead time.Duration) int32 {
	if us := int32(-lead / time.Microsecond); us != 0 {
		return us
	}
	return 1
}
