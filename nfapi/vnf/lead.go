package vnf

import (
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
)

// lead is how long before its air slot a slot is scheduled, if the VNF's own clock does
// it. It grows at once when requests come late, and becomes shorter step by step when
// nothing was late for a while and the PNF has said that there was more time than the
// margin.
//
// A late request costs one transport block a turn of HARQ, a longer lead each packet
// some time: so a stall that the longest lead would not have bridged changes nothing,
// and a single late request not much. If requests keep coming late, it grows with each report.
type lead struct {
	least, most, margin, calm time.Duration

	now      time.Duration
	grown    time.Time // when it was changed last because of lateness
	since    time.Time // of this calm
	spare    time.Duration
	spared   bool // spare is known: the least time before its slot of any request since
	informed bool // TIMING_INFO has values
}

// The greatest steps of a lead, in parts of its range.
const (
	growParts   = 8
	shrinkParts = 32
)

// start begins in the middle, since nothing is known yet.
func (l *lead) start(now time.Time) {
	l.now = l.least + (l.most-l.least)/2
	l.grown, l.since, l.spared, l.informed = time.Time{}, now, false, false
}

// complaint takes note of an ERROR.indication about a late request. What TIMING_INFO
// says of the same is worth more.
func (l *lead) complaint(now time.Time) {
	if !l.informed {
		l.late(0, now)
	}
}

// late takes note of a request that came too late by so much; 0: it is not known. What
// was under way when the lead was changed says nothing about it.
func (l *lead) late(by time.Duration, now time.Time) {
	if l.now+by > l.most+l.margin {
		return
	}
	l.since, l.spared = now, false
	if now.Sub(l.grown) < l.most+l.now {
		return
	}
	l.grown = now
	step := (l.most - l.least) / growParts
	if by > 0 {
		step = min(step, by)
	}
	l.now = min(l.now+step, l.most)
}

// report takes TIMING_INFO in: for each type the arrival that was the latest since the
// one of before, in us after its slot began.
func (l *lead) report(m *nfapi.TimingInfo, now time.Time) {
	latest, any := latestOf(m)
	switch {
	case !any:
		return
	case latest > -l.margin/2:
		l.informed = true
		l.late(latest+l.margin, now)
		return
	}
	l.informed = true
	if spare := -latest; !l.spared || spare < l.spare {
		l.spare, l.spared = spare, true
	}
	if now.Sub(l.since) < l.calm {
		return
	}
	if step := min((l.most-l.least)/shrinkParts, (l.spare-l.margin)/2); step > 0 {
		l.now = max(l.now-step, l.least)
	}
	l.since, l.spared = now, false
}

// latestOf is the latest arrival of all types; any is false if no request came.
func latestOf(m *nfapi.TimingInfo) (latest time.Duration, any bool) {
	for _, t := range [...]struct{ latest, earliest int32 }{
		{m.DLTTILatestDelay, m.DLTTIEarliestArrival}, {m.TXDataRequestLatestDelay, m.TXDataRequestEarliestArrival},
		{m.ULTTILatestDelay, m.ULTTIEarliestArrival}, {m.ULDCILatestDelay, m.ULDCIEarliestArrival},
	} {
		if t.latest == 0 && t.earliest == 0 {
			continue
		}
		if d := time.Duration(t.latest) * time.Microsecond; !any || d > latest {
			latest, any = d, true
		}
	}
	return latest, any
}
