package n4

import (
	"time"

	"plumbline/pfcp"
	"plumbline/session"
)

// usageReports appends reports of usage as messages have them. The memory of
// list's elements is used again.
func usageReports(list []pfcp.UsageReport, reports []session.UsageReport) []pfcp.UsageReport {
	for i := range reports {
		usageReport(next(&list), &reports[i])
	}
	return list
}

// usageReport converts one report. One of the start or stop of traffic has no
// measurement, nor the times of one. Packets are told if the CP function asked
// for them (MNOP). When the first and the last packet came is not known, and
// left out. Source: TS 29.244 V18.6.0, 7.5.5.2, 7.5.7.2 and 7.5.8.3.
func usageReport(out *pfcp.UsageReport, u *session.UsageReport) {
	*out = pfcp.UsageReport{
		URRID: u.URRID, URSEQN: u.SEQN, Trigger: pfcp.UsageReportTrigger(u.Trigger),
		EventTimeStamps: out.EventTimeStamps[:0],
	}
	if u.Trigger&(session.TriggerSTART|session.TriggerSTOPT) != 0 {
		return
	}
	out.StartTime, out.EndTime = pfcp.Some(stamp(u.Start)), pfcp.Some(stamp(u.End))
	if u.Method&session.MeasureVolume != 0 {
		up, down := u.Usage.UplinkOctets, u.Usage.DownlinkOctets
		v := pfcp.VolumeMeasurement{Total: pfcp.Some(up + down), Uplink: pfcp.Some(up), Downlink: pfcp.Some(down)}
		if u.Information&session.InfoMNOP != 0 {
			up, down := u.Usage.UplinkPackets, u.Usage.DownlinkPackets
			v.TotalPackets, v.UplinkPackets, v.DownlinkPackets = pfcp.Some(up+down), pfcp.Some(up), pfcp.Some(down)
		}
		out.Volume = pfcp.Some(v)
	}
	if u.Method&session.MeasureDuration != 0 {
		out.DurationS = pfcp.Some(u.Duration)
	}
	if u.Before {
		out.UsageInformation |= pfcp.UsageBEF
	}
	if u.After {
		out.UsageInformation |= pfcp.UsageAFT
	}
}

// stamp is a point in time, in Unix nanoseconds, as messages have it.
func stamp(ns int64) pfcp.TimeStamp { return pfcp.NewTimeStamp(time.Unix(0, ns)) }
