package session

// This file is event-based measurement: an event is that packets begin to come for a
// URR, as START says it, after there were none for its Inactivity Detection Time.
//
// Source: TS 29.244 V18.6.0, 5.2.2.1 and 7.5.2.4.

// EventLimits are numbers of events that make a URR report, or stop packets.
type EventLimits struct {
	Threshold           uint32           // 0: none
	Quota               Optional[uint32] // 0 is a quota: none is left
	SubsequentThreshold uint32           // from the Monitoring Time on; 0: as before
	SubsequentQuota     Optional[uint32]
}

// any reports whether events have to be counted.
func (l *EventLimits) any() bool {
	return l.Threshold != 0 || l.Quota.Present || l.SubsequentThreshold != 0 || l.SubsequentQuota.Present
}

// EventState is which events have been counted.
type EventState struct {
	Counted, Reported uint64
	QuotaAt           uint64 // how many are counted when the quota is used up; 0: never
	// Times are when those were that are not reported, at most maxEventTimes of
	// them, in Unix nanoseconds. The list is never changed once it is made.
	Times []int64
}

// maxEventTimes is how many Time Stamps a report has.
const maxEventTimes = 16

// countEvent counts one.
func (u *URR) countEvent(now int64) {
	e := &u.State.Events
	e.Counted++
	if n := len(e.Times); n < maxEventTimes {
		e.Times = append(e.Times[:n:n], now)
	}
}

// dueEvents returns the reports that the number of events makes due, and whether the
// quota is used up.
func (u *URR) dueEvents() (t UsageReportTrigger, exhausted bool) {
	e := &u.State.Events
	if n := u.Events.Threshold; n != 0 && e.Counted-e.Reported >= uint64(n) {
		t = u.wanted(ReportEVETH, TriggerEVETH)
	}
	if exhausted = e.QuotaAt != 0 && e.Counted >= e.QuotaAt; exhausted && !u.State.Exhausted {
		t |= u.wanted(ReportEVEQU, TriggerEVEQU)
	}
	return t, exhausted
}

// eventQuota sets the quota's limit, counted from the last report, and reports whether
// nothing is left of it.
func (u *URR) eventQuota() bool {
	e := &u.State.Events
	e.QuotaAt = 0
	if q := u.Events.Quota; q.Present && q.Value != 0 {
		e.QuotaAt = e.Reported + uint64(q.Value)
	}
	return u.Events.Quota.Present && u.Events.Quota.Value == 0
}

// reportEvents takes the events that are reported now.
func (u *URR) reportEvents() (times []int64) {
	e := &u.State.Events
	times = e.Times
	e.Reported, e.Times = e.Counted, nil
	return times
}

// reportMACs appends a report of the MAC addresses that a UE uses, and uses no more.
// It has no measurement. Beyond maxReports that wait it is left out.
// Source: TS 29.244 V18.6.0, 5.13.5.
func (s *Session) reportMACs(now int64, id uint32, detected, removed []MAC) bool {
	u := s.URR(id)
	if u == nil || u.Triggers&ReportMACAR == 0 || len(s.Reports) >= maxReports {
		return false
	}
	s.Reports = append(s.Reports, UsageReport{
		URRID: id, SEQN: u.State.SEQN, Trigger: TriggerMACAR, Start: u.State.Start, End: u.State.clock(now),
		MACsDetected: detected, MACsRemoved: removed,
	})
	u.State.SEQN++
	return true
}
