package session

import "slices"

// maxReports is how many reports of a session may wait for the CP function's
// acknowledgement. When there are so many, what has been used meanwhile is left
// in the counters, and reported when one is acknowledged: later, but all of it.
const maxReports = 16

// maxAnswered is how many reports that went into responses are kept. A CP
// function that has asked so many times since has had the answer.
const maxAnswered = 16

// answerTime is how long a request may come again, and so how long a report that
// was in a response is kept, in nanoseconds.
// Source: TS 29.244 V18.6.0, 6.4 (T1, N1).
const answerTime = 20 * second

// levels are triggers that are still due when there is room for a report again.
const levels = TriggerVOLTH | TriggerTIMTH | TriggerDROTH | TriggerEVETH | TriggerPERIO | TriggerMONIT

// look makes the reports that are due now that the datapath has counted so much.
// started is a URR for which a packet has come that may not be counted, and may
// never be. It reports whether there are any.
func (s *Session) look(now int64, counts *Usage, started Optional[uint32]) bool {
	var buf [8]UsageReportTrigger
	due := buf[:0]
	for i := range s.URRs {
		u := &s.URRs[i]
		t := UsageReportTrigger(0)
		if started.Present && started.Value == u.ID && u.Limits().StartOfTraffic {
			t = u.active(u.State.clock(now))
		}
		u.State.Dropped = counts.dropped(u.ID)
		due = append(due, t|u.due(now, counts.of(u.ID)))
	}
	n := len(s.Reports)
	s.report(now, counts, due, 0)
	return len(s.Reports) > n
}

// query makes reports of the URRs that ids names, or of all, for the response to
// the request that asks for them, and appends them to list too.
func (s *Session) query(list []UsageReport, now int64, counts *Usage, ids []uint32, all bool) []UsageReport {
	var buf [8]UsageReportTrigger
	due := buf[:0]
	for i := range s.URRs {
		u := &s.URRs[i]
		t := UsageReportTrigger(0)
		if all || slices.Contains(ids, u.ID) {
			t = TriggerIMMER | u.due(now, counts.of(u.ID))
		}
		due = append(due, t)
	}
	n := len(s.Reports)
	s.report(now, counts, due, now)
	return append(list, s.Reports[n:]...)
}

// report makes the reports that are due, for each URR, and those of URRs that are
// linked to them. answered is when they go into a response, or 0.
func (s *Session) report(now int64, counts *Usage, due []UsageReportTrigger, answered int64) {
	s.link(due)
	n := len(s.Reports)
	for i := range s.URRs {
		u := &s.URRs[i]
		switch {
		case due[i] == 0:
		case answered == 0 && n >= maxReports && due[i]&TriggerMONIT == 0:
			u.State.Owed |= due[i] &^ levels
		default:
			s.Reports = u.report(s.Reports, now, u.measured(counts, due[i]), due[i])
		}
	}
	for i := range s.Reports[n:] {
		s.Reports[n+i].Answered = answered
	}
}

// link makes reports due of those URRs that are linked to one of which there is
// one. Source: TS 29.244 V18.6.0, 5.2.2.4.
func (s *Session) link(due []UsageReportTrigger) {
	for again := true; again; {
		again = false
		for i := range s.URRs {
			u := &s.URRs[i]
			if due[i]&^unmeasured != 0 || u.Triggers&ReportLIUSA == 0 {
				continue
			}
			for j := range s.URRs {
				if due[j]&^unmeasured != 0 && slices.Contains(u.LinkedURRs, s.URRs[j].ID) {
					due[i] |= TriggerLIUSA
					again = true
					break
				}
			}
		}
	}
}

// terminate makes the last report of u for the response to the request that ends
// it, and appends it to list too.
func (s *Session) terminate(list []UsageReport, u *URR, now int64, c Counts) []UsageReport {
	n := len(s.Reports)
	s.Reports = u.report(s.Reports, now, c, u.due(now, c)|TriggerTERMR)
	for i := range s.Reports[n:] {
		s.Reports[n+i].Answered = now
	}
	return append(list, s.Reports[n:]...)
}

// trim forgets reports that went into responses which nobody asks for again.
func (s *Session) trim(now int64) {
	answered := 0
	for i := len(s.Reports) - 1; i >= 0; i-- {
		r := &s.Reports[i]
		if r.Answered == 0 {
			continue
		}
		if answered++; answered > maxAnswered || now-r.Answered > answerTime {
			s.Reports = slices.Delete(s.Reports, i, i+1)
		}
	}
}

// waiting reports whether there are reports to be sent.
func (s *Session) waiting() bool {
	return slices.ContainsFunc(s.Reports, func(r UsageReport) bool { return r.Answered == 0 })
}

// idle takes how many packets the session has forwarded, and reports whether its
// User Plane Inactivity Timer has run out, once for each time.
// Source: TS 29.244 V18.6.0, 5.11 and 8.2.83.
func (s *Session) idle(now int64, packets uint64) bool {
	i := &s.Inactivity
	now = max(now, i.ActiveAt)
	if s.InactivityTimer == 0 {
		return false
	}
	if packets != i.Seen || i.ActiveAt == 0 {
		*i = Inactivity{Seen: packets, ActiveAt: now}
		return false
	}
	if i.Told || now-i.ActiveAt < span(0, s.InactivityTimer) {
		return false
	}
	i.Told = true
	return true
}

// next is when the session has to be looked at next though no event has come;
// 0: never.
func (s *Session) next(now int64) int64 {
	at := earliest{}
	full := len(s.Reports) >= maxReports
	for i := range s.URRs {
		if !full {
			at.add(s.URRs[i].next(now))
		}
	}
	if s.InactivityTimer != 0 {
		active := s.Inactivity.ActiveAt
		if s.Inactivity.Told {
			active = now // packets end it, which only shows in the counters
		}
		at.add(watch(now, active, s.InactivityTimer))
	}
	if s.Deleted != 0 {
		at = earliest{s.Deleted + answerTime}
	}
	return at.ns
}
