package session

// Limits are what a datapath has to watch for a URR. Volumes are absolute, as it
// counts them.
type Limits struct {
	Threshold Volume // reached: an event
	Quota     Volume // reached: an event, and nothing more is forwarded
	// StartOfTraffic: the next packet is an event.
	StartOfTraffic bool
	Dropped        DroppedThreshold // of what is dropped instead of buffered; 0: none
	// Exhausted: nothing is forwarded, whatever Quota says. So it is with a time
	// quota, of which a datapath knows nothing.
	Exhausted bool
}

// Limits returns what the datapath has to watch.
func (u *URR) Limits() Limits {
	s := &u.State
	l := Limits{Quota: s.QuotaAt, Exhausted: s.Exhausted, Dropped: u.droppedLimit()}
	if s.Exhausted && u.QuotaFAR.Present { // that says what becomes of packets
		l.Quota = Volume{}
	}
	if u.Triggers&ReportVOLTH != 0 {
		l.Threshold = s.ThresholdAt
	}
	l.StartOfTraffic = !s.Traffic && (u.Triggers&(ReportSTART|ReportSTOPT) != 0 || u.Events.any()) ||
		s.MeterSince == 0 && u.meters() || s.Held
	return l
}

// limits appends what the datapath has to watch for each URR.
func (s *Session) limits(list []Limits) []Limits {
	for i := range s.URRs {
		list = append(list, s.URRs[i].Limits())
	}
	return list
}

// Exhausted reports whether the quota of one of the PDR's URRs is used up, so
// that its packets are dropped. Source: TS 29.244 V18.6.0, 5.2.2.2.1.
func (s *Session) Exhausted(r *PDR) bool {
	for _, id := range r.URRIDs {
		if u := s.URR(id); u != nil && u.State.Exhausted {
			return true
		}
	}
	return false
}

// rearm sets the limits anew that up has changed; u has been changed already.
func (u *URR) rearm(up *UpdateURR, now int64) {
	s := &u.State
	now = s.clock(now)
	if up.VolumeThreshold.Present || up.TimeThreshold.Present {
		u.threshold()
	}
	quota := up.VolumeQuota.Present || up.TimeQuota.Present || up.EventQuota.Present
	if quota {
		u.quota()
	}
	if up.MeasurementPeriod.Present {
		s.PeriodAt = span(now, u.MeasurementPeriod)
	}
	if quota || up.QuotaValidityTime.Present {
		s.ValidUntil = span(now, u.QuotaValidityTime)
	}
	switch {
	case !u.meters():
		s.MeteredNs, s.MeterSince = s.meteredNs(now), 0
	case s.MeterSince == 0 && u.Information&InfoISTM != 0 && up.Information.Present:
		s.MeterSince = now
	}
}

// watchFraction: packets are looked for so many times within a time in which
// there may be none, so that its end is seen at most a fraction of it late.
const watchFraction = 4

// next is when the URR has to be looked at next, though no event has come;
// 0: never.
func (u *URR) next(now int64) int64 {
	s := &u.State
	at := earliest{}
	if u.Triggers&ReportPERIO != 0 {
		at.add(s.PeriodAt)
	}
	at.add(s.ValidUntil)
	at.add(u.MonitoringTime)
	if s.MeterSince != 0 {
		if u.Triggers&ReportTIMTH != 0 && s.TimeThresholdAt != 0 {
			at.add(s.MeterSince + s.TimeThresholdAt - s.MeteredNs)
		}
		if !s.Exhausted && s.TimeQuotaAt != 0 {
			at.add(s.MeterSince + s.TimeQuotaAt - s.MeteredNs)
		}
		at.add(watch(now, s.ActiveAt, u.InactivityDetectionTime))
	}
	if s.Traffic {
		at.add(watch(now, s.ActiveAt, u.stopTime()))
	}
	if !s.Held && u.Triggers&ReportQUHTI != 0 {
		at.add(watch(now, s.ActiveAt, u.QuotaHoldingTime))
	}
	return at.ns
}

// watch is when to look for packets if so many seconds without any mean
// something; 0 seconds: 0, never.
func watch(now, active int64, seconds uint32) int64 {
	if seconds == 0 {
		return 0
	}
	return min(span(active, seconds), now+max(span(0, seconds)/watchFraction, second))
}

// earliest is the earliest of several times.
type earliest struct{ ns int64 }

func (e *earliest) add(ns int64) {
	if ns != 0 && (e.ns == 0 || ns < e.ns) {
		e.ns = ns
	}
}
