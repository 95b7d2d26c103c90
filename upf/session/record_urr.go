package session

// urrNumbers is how many numbers a URR with its state has.
const urrNumbers = 63

func (w *writer) urr(u *URR) {
	s := &u.State
	v := [urrNumbers]uint64{
		uint64(u.ID), uint64(u.Method), uint64(u.Triggers), uint64(u.Information),
		uint64(u.MeasurementPeriod), uint64(u.TimeThreshold), plus1(u.TimeQuota), uint64(u.QuotaHoldingTime),
		uint64(u.QuotaValidityTime), uint64(u.InactivityDetectionTime), uint64(u.MonitoringTime),
		uint64(u.SubsequentTimeThreshold), plus1(u.SubsequentTimeQuota), plus1(u.QuotaFAR), uint64(len(u.LinkedURRs)),

		uint64(s.SEQN), uint64(s.Start), s.Reported.UplinkOctets, s.Reported.DownlinkOctets, s.Reported.UplinkPackets,
		s.Reported.DownlinkPackets, uint64(s.ReportedNs), uint64(s.TimeThresholdAt), uint64(s.TimeQuotaAt),
		uint64(s.PeriodAt), uint64(s.ValidUntil), uint64(s.MeteredNs), uint64(s.MeterSince), s.Seen, uint64(s.ActiveAt),
		pack(s.Traffic, s.Held, s.Exhausted, s.After), uint64(s.Owed),
	}
	for i, x := range [...]*Volume{
		&u.VolumeThreshold, &u.VolumeQuota, &u.SubsequentVolumeThreshold, &u.SubsequentVolumeQuota, &s.ThresholdAt, &s.QuotaAt,
	} {
		at := v[urrVolumes+4*i:]
		at[0], at[1], at[2], at[3] = pack(x.HasTotal, x.HasUplink, x.HasDownlink), x.Total, x.Uplink, x.Downlink
	}
	events := u.Events.any() || s.Events.Counted != 0 || len(s.Events.Times) != 0 || s.Events.Reported|s.Events.QuotaAt != 0
	v[urrEvents] = pack(events)
	d, old, limit := &s.Dropped, &s.DroppedReported, &u.DroppedThreshold
	copy(v[urrDropped:], []uint64{d.Packets, d.Octets, old.Packets, old.Octets, limit.Packets, limit.Octets})
	w.fields(v[:])
	w.ids(u.LinkedURRs)
	if events {
		w.events(&u.Events, &s.Events)
	}
}

// urrVolumes is where the volumes stand, four numbers each, urrDropped what is
// about dropped packets, urrEvents whether events are measured.
const urrVolumes, urrDropped, urrEvents = 32, 56, 62

func (r *reader) urr(u *URR) {
	var v [urrNumbers]uint64
	r.fields(v[:])
	*u = URR{
		ID: narrow[uint32](r, v[0]), Method: MeasurementMethod(narrow[uint8](r, v[1])),
		Triggers: ReportingTriggers(narrow[uint32](r, v[2])), Information: MeasurementInformation(narrow[uint16](r, v[3])),
		MeasurementPeriod: narrow[uint32](r, v[4]), TimeThreshold: narrow[uint32](r, v[5]), TimeQuota: minus1[uint32](r, v[6]),
		QuotaHoldingTime: narrow[uint32](r, v[7]), QuotaValidityTime: narrow[uint32](r, v[8]),
		InactivityDetectionTime: narrow[uint32](r, v[9]), MonitoringTime: int64(v[10]),
		SubsequentTimeThreshold: narrow[uint32](r, v[11]), SubsequentTimeQuota: minus1[uint32](r, v[12]),
		QuotaFAR: minus1[uint32](r, v[13]), LinkedURRs: u.LinkedURRs[:0],
		State: URRState{
			SEQN: narrow[uint32](r, v[15]), Start: int64(v[16]),
			Reported:   Counts{v[17], v[18], v[19], v[20]},
			ReportedNs: int64(v[21]), TimeThresholdAt: int64(v[22]), TimeQuotaAt: int64(v[23]), PeriodAt: int64(v[24]),
			ValidUntil: int64(v[25]), MeteredNs: int64(v[26]), MeterSince: int64(v[27]), Seen: v[28], ActiveAt: int64(v[29]),
			Owed: UsageReportTrigger(narrow[uint32](r, v[31])),
		},
	}
	s := &u.State
	unpack(r, v[30], &s.Traffic, &s.Held, &s.Exhausted, &s.After)
	for i, x := range [...]*Volume{
		&u.VolumeThreshold, &u.VolumeQuota, &u.SubsequentVolumeThreshold, &u.SubsequentVolumeQuota, &s.ThresholdAt, &s.QuotaAt,
	} {
		at := v[urrVolumes+4*i:]
		x.Total, x.Uplink, x.Downlink = at[1], at[2], at[3]
		unpack(r, at[0], &x.HasTotal, &x.HasUplink, &x.HasDownlink)
	}
	d := v[urrDropped:]
	s.Dropped, s.DroppedReported, u.DroppedThreshold = Dropped{d[0], d[1]}, Dropped{d[2], d[3]}, DroppedThreshold{d[4], d[5]}
	u.LinkedURRs = r.ids(u.LinkedURRs, v[14])
	var events bool
	if unpack(r, v[urrEvents], &events); events {
		r.events(&u.Events, &s.Events)
	}
}

func (w *writer) events(l *EventLimits, e *EventState) {
	w.fields([]uint64{
		uint64(l.Threshold), plus1(l.Quota), uint64(l.SubsequentThreshold), plus1(l.SubsequentQuota),
		e.Counted, e.Reported, e.QuotaAt, uint64(len(e.Times)),
	})
	w.times(e.Times)
}

// events fails if there is nothing to be read: a record has one form.
func (r *reader) events(l *EventLimits, e *EventState) {
	var v [8]uint64
	r.fields(v[:])
	*l = EventLimits{narrow[uint32](r, v[0]), minus1[uint32](r, v[1]), narrow[uint32](r, v[2]), minus1[uint32](r, v[3])}
	*e = EventState{Counted: v[4], Reported: v[5], QuotaAt: v[6], Times: r.times(v[7])}
	r.bad = r.bad || v == [8]uint64{}
}

func (w *writer) times(list []int64) {
	for _, t := range list {
		w.number(uint64(t))
	}
}

func (r *reader) times(n uint64) []int64 {
	out := list[int64](r, n)
	for i := range out {
		out[i] = int64(r.number())
	}
	return out
}

func (w *writer) macs(list []MAC) {
	for _, m := range list {
		w.number(macNumber(Some(m)))
	}
}

func (r *reader) macs(n uint64) []MAC {
	out := list[MAC](r, n)
	for i := range out {
		m := numberMAC(r, r.number())
		out[i] = m.Value
		r.bad = r.bad || !m.Present
	}
	return out
}

func (w *writer) report(u *UsageReport) {
	w.fields([]uint64{
		uint64(u.URRID), uint64(u.SEQN), uint64(u.Trigger), uint64(u.Start), uint64(u.End), uint64(u.Method),
		uint64(u.Information), u.Usage.UplinkOctets, u.Usage.DownlinkOctets, u.Usage.UplinkPackets, u.Usage.DownlinkPackets,
		uint64(u.Duration), pack(u.Before, u.After), uint64(u.Answered),
		uint64(len(u.EventTimes)), uint64(len(u.MACsDetected)), uint64(len(u.MACsRemoved)),
	})
	w.times(u.EventTimes)
	w.macs(u.MACsDetected)
	w.macs(u.MACsRemoved)
}

func (r *reader) report(u *UsageReport) {
	var v [17]uint64
	r.fields(v[:])
	*u = UsageReport{
		URRID: narrow[uint32](r, v[0]), SEQN: narrow[uint32](r, v[1]), Trigger: UsageReportTrigger(narrow[uint32](r, v[2])),
		Start: int64(v[3]), End: int64(v[4]), Method: MeasurementMethod(narrow[uint8](r, v[5])),
		Information: MeasurementInformation(narrow[uint16](r, v[6])), Usage: Counts{v[7], v[8], v[9], v[10]},
		Duration: narrow[uint32](r, v[11]), Answered: int64(v[13]),
	}
	unpack(r, v[12], &u.Before, &u.After)
	u.EventTimes, u.MACsDetected, u.MACsRemoved = r.times(v[14]), r.macs(v[15]), r.macs(v[16])
}
