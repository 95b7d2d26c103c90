package session

import (
	"math"
	"math/bits"
	"time"
)

// This file is what becomes of one URR as packets are counted and time goes by.
//
//	provision   it is created: nothing is reported yet, its limits are set
//	observe     packets were counted, or were not: traffic, metering, holding time
//	due         which reports are due now; limits are levels, so that nothing is
//	            missed if nobody looked at the moment when they were reached
//	report      the report, and with it the end of the running measurement
//	rearm       a modification gave it other limits
//
// A report ends the measurement of what thresholds are about, and begins it
// anew (5.2.2.3.1); it leaves the quotas as they are. A new threshold or quota
// counts from the last report on: usage that was not reported when it was given
// belongs to it. A quota of 0 stops packets without a report, as its giver knows
// that it is used up.
//
// Source: TS 29.244 V18.6.0, 5.2.2, 7.5.2.4 and 7.5.4.4.

// second in nanoseconds.
const second = int64(1e9)

// defaultStop is after how many seconds without packets traffic has stopped
// (STOPT), if there is no Inactivity Detection Time that says so.
const defaultStop = 10

// meters reports whether the URR measures the duration of traffic.
func (u *URR) meters() bool { return u.Method&MeasureDuration != 0 }

// Metered is how long the URR has metered until now, in Unix nanoseconds.
func (u *URR) Metered(now int64) time.Duration { return time.Duration(u.State.meteredNs(now)) }

// meteredNs is how long it has metered until now, in nanoseconds.
func (s *URRState) meteredNs(now int64) int64 {
	if s.MeterSince == 0 {
		return s.MeteredNs
	}
	return s.MeteredNs + max(now-s.MeterSince, 0)
}

// clock returns now, or, if the clock has been put back, the latest time that
// the state knows: durations are not negative.
func (s *URRState) clock(now int64) int64 { return max(now, s.Start, s.ActiveAt, s.MeterSince) }

// octets is how much was counted in both directions.
func (c Counts) octets() uint64 { return addSaturated(c.UplinkOctets, c.DownlinkOctets) }

func addSaturated(a, b uint64) uint64 {
	sum, carry := bits.Add64(a, b, 0)
	if carry != 0 {
		return math.MaxUint64
	}
	return sum
}

// beyond is the limit of so much more than c.
func (v Volume) beyond(c Counts) Volume {
	if v.HasTotal {
		v.Total = addSaturated(c.octets(), v.Total)
	}
	if v.HasUplink {
		v.Uplink = addSaturated(c.UplinkOctets, v.Uplink)
	}
	if v.HasDownlink {
		v.Downlink = addSaturated(c.DownlinkOctets, v.Downlink)
	}
	return v
}

// reached reports whether c has reached one of the limits.
func (v Volume) reached(c Counts) bool {
	return v.HasTotal && c.octets() >= v.Total ||
		v.HasUplink && c.UplinkOctets >= v.Uplink ||
		v.HasDownlink && c.DownlinkOctets >= v.Downlink
}

// any reports whether there is a limit at all.
func (v Volume) any() bool { return v.HasTotal || v.HasUplink || v.HasDownlink }

// none reports whether it is a quota of which nothing is left.
func (v Volume) none() bool {
	return v.HasTotal && v.Total == 0 || v.HasUplink && v.Uplink == 0 || v.HasDownlink && v.Downlink == 0
}

// span is the time so many seconds after base; 0 seconds: 0, never.
func span(base int64, seconds uint32) int64 {
	if seconds == 0 {
		return 0
	}
	return base + int64(seconds)*second
}

// provision begins the measurement of a URR that has just been created. c is
// what the datapath has counted: not 0 if the session had a URR of that ID
// before.
func (u *URR) provision(now int64, c Counts) {
	u.State = URRState{Start: now, Reported: c, Seen: c.packets(), ActiveAt: now}
	if u.meters() && u.Information&InfoISTM != 0 {
		u.State.MeterSince = now
	}
	u.threshold()
	u.quota()
	u.State.PeriodAt = span(now, u.MeasurementPeriod)
	u.State.ValidUntil = span(now, u.QuotaValidityTime)
}

// threshold sets the thresholds' limits, counted from the last report.
func (u *URR) threshold() {
	s := &u.State
	v := u.VolumeThreshold // of nothing: there is none, or each packet would be reported
	v.HasTotal, v.HasUplink, v.HasDownlink = v.Total != 0, v.Uplink != 0, v.Downlink != 0
	s.ThresholdAt = v.beyond(s.Reported)
	s.TimeThresholdAt = span(s.ReportedNs, u.TimeThreshold)
}

// quota sets the quotas' limits, counted from the last report.
func (u *URR) quota() {
	s := &u.State
	s.QuotaAt = u.VolumeQuota.beyond(s.Reported)
	s.TimeQuotaAt = span(s.ReportedNs, u.TimeQuota.Value)
	noEvents := u.eventQuota()
	s.Exhausted = u.VolumeQuota.none() || u.TimeQuota.Present && u.TimeQuota.Value == 0 || noEvents
	s.Held = false
}

// observe takes what was counted until now, and returns the reports that the
// beginning, the end or the absence of packets makes due.
func (u *URR) observe(now int64, c Counts) (t UsageReportTrigger) {
	s := &u.State
	if n := c.packets(); n != s.Seen {
		s.Seen = n
		return u.active(now)
	}
	idle := now - s.ActiveAt
	if w := span(0, u.InactivityDetectionTime); w != 0 && s.MeterSince != 0 && idle >= w {
		s.MeteredNs = s.meteredNs(s.ActiveAt + w)
		s.MeterSince = 0
	}
	if w := span(0, u.stopTime()); w != 0 && s.Traffic && idle >= w {
		s.Traffic = false
		t |= u.wanted(ReportSTOPT, TriggerSTOPT)
	}
	if w := span(0, u.QuotaHoldingTime); w != 0 && !s.Held && idle >= w {
		s.Held = true
		t |= u.wanted(ReportQUHTI, TriggerQUHTI)
	}
	return t
}

// active says that there are packets now, and returns the report of their start.
func (u *URR) active(now int64) (t UsageReportTrigger) {
	s := &u.State
	s.ActiveAt, s.Held = now, false
	if u.meters() && s.MeterSince == 0 {
		s.MeterSince = now
	}
	if !s.Traffic {
		s.Traffic = true
		if u.Events.any() {
			u.countEvent(now)
		}
		t = u.wanted(ReportSTART, TriggerSTART)
	}
	return t
}

// wanted is t if the URR is to report it.
func (u *URR) wanted(r ReportingTriggers, t UsageReportTrigger) UsageReportTrigger {
	if u.Triggers&r == 0 {
		return 0
	}
	return t
}

// stopTime is after how many seconds without packets traffic has stopped;
// 0: it never does, as nobody wants to know.
func (u *URR) stopTime() uint32 {
	if u.InactivityDetectionTime == 0 && (u.Triggers&ReportSTOPT != 0 || u.Events.any()) {
		return defaultStop
	}
	return u.InactivityDetectionTime
}

// due returns the reports that are due now that c has been counted.
func (u *URR) due(now int64, c Counts) UsageReportTrigger {
	s := &u.State
	now = s.clock(now)
	t := u.observe(now, c) | s.Owed
	metered := s.meteredNs(now)
	if s.ThresholdAt.reached(c) {
		t |= u.wanted(ReportVOLTH, TriggerVOLTH)
	}
	if s.TimeThresholdAt != 0 && metered >= s.TimeThresholdAt {
		t |= u.wanted(ReportTIMTH, TriggerTIMTH)
	}
	volume, time := s.QuotaAt.reached(c), s.TimeQuotaAt != 0 && metered >= s.TimeQuotaAt
	if !s.Exhausted && volume {
		t |= u.wanted(ReportVOLQU, TriggerVOLQU)
	}
	if !s.Exhausted && time {
		t |= u.wanted(ReportTIMQU, TriggerTIMQU)
	}
	events, noEvents := u.dueEvents()
	t |= events
	s.Exhausted = s.Exhausted || volume || time || noEvents
	if s.PeriodAt != 0 && now >= s.PeriodAt {
		t |= u.wanted(ReportPERIO, TriggerPERIO)
	}
	if s.ValidUntil != 0 && now >= s.ValidUntil {
		s.ValidUntil = 0
		t |= u.wanted(ReportQUVTI, TriggerQUVTI)
	}
	if u.MonitoringTime != 0 && now >= u.MonitoringTime {
		t |= TriggerMONIT
	}
	return t | u.droppedDue()
}

// measured is what a report for t measures up to: what was counted until now, or,
// if it is only that a threshold was reached, until then. So the report says by
// one packet exactly when that was, however long it took to make it.
func (u *URR) measured(counts *Usage, t UsageReportTrigger) Counts {
	c := counts.of(u.ID)
	if t&^unmeasured != TriggerVOLTH {
		return c
	}
	at := counts.reached(u.ID)
	if !at.within(u.State.Reported, c) || !u.State.ThresholdAt.reached(at) {
		return c // of an earlier threshold
	}
	return at
}

// unmeasured are triggers whose reports have no measurement.
// Source: TS 29.244 V18.6.0, 5.2.2.1, NOTE.
const unmeasured = TriggerSTART | TriggerSTOPT

// report appends the reports for t: one of the start or the stop of traffic by
// itself, and one of the usage since the last one.
func (u *URR) report(list []UsageReport, now int64, c Counts, t UsageReportTrigger) []UsageReport {
	s := &u.State
	now = s.clock(now)
	s.Owed = 0
	for _, one := range [...]UsageReportTrigger{TriggerSTART, TriggerSTOPT} {
		if t&one != 0 {
			list = append(list, UsageReport{URRID: u.ID, SEQN: s.SEQN, Trigger: one, Start: s.Start, End: now})
			s.SEQN++
		}
	}
	t &^= unmeasured
	if t == 0 {
		return list
	}
	metered := s.meteredNs(now)
	r := UsageReport{
		URRID: u.ID, SEQN: s.SEQN, Trigger: t, Start: s.Start, End: now, Method: u.Method, Information: u.Information,
		Usage: c.minus(s.Reported), Duration: uint32(metered/second - s.ReportedNs/second),
		Before: t&TriggerMONIT != 0, After: s.After,
	}
	r.EventTimes = u.reportEvents()
	s.SEQN++
	s.Start, s.Reported, s.ReportedNs, s.After = now, c, metered, r.Before
	if t&TriggerDROTH != 0 {
		s.DroppedReported = s.Dropped
	}
	if t&TriggerPERIO != 0 { // those that nobody could look at are not made up for
		period := max(span(0, u.MeasurementPeriod), second)
		s.PeriodAt += (max(now-s.PeriodAt, 0)/period + 1) * period
	}
	if t != TriggerMONIT {
		u.threshold()
	}
	if r.Before {
		u.monitored()
	}
	return append(list, r)
}

// monitored lets the subsequent limits take over at the Monitoring Time. Where
// there is none, what is left of the former one holds on.
// Source: TS 29.244 V18.6.0, 5.2.2.2.1.
func (u *URR) monitored() {
	s := &u.State
	u.MonitoringTime = 0
	if u.SubsequentVolumeThreshold.any() {
		time := s.TimeThresholdAt
		u.VolumeThreshold = u.SubsequentVolumeThreshold
		u.threshold()
		s.TimeThresholdAt = time
	}
	if u.SubsequentTimeThreshold != 0 {
		u.TimeThreshold = u.SubsequentTimeThreshold
		s.TimeThresholdAt = span(s.ReportedNs, u.TimeThreshold)
	}
	set(&u.Events.Threshold, Optional[uint32]{u.Events.SubsequentThreshold, u.Events.SubsequentThreshold != 0})
	if u.SubsequentVolumeQuota.any() || u.SubsequentTimeQuota.Present || u.Events.SubsequentQuota.Present {
		if u.SubsequentVolumeQuota.any() {
			u.VolumeQuota = u.SubsequentVolumeQuota
		}
		if u.SubsequentTimeQuota.Present {
			u.TimeQuota = u.SubsequentTimeQuota
		}
		if u.Events.SubsequentQuota.Present {
			u.Events.Quota = u.Events.SubsequentQuota
		}
		u.quota()
	}
	u.SubsequentVolumeThreshold, u.SubsequentVolumeQuota = Volume{}, Volume{}
	u.SubsequentTimeThreshold, u.SubsequentTimeQuota = 0, Optional[uint32]{}
	u.Events.SubsequentThreshold, u.Events.SubsequentQuota = 0, Optional[uint32]{}
}
