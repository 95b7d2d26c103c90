package n4

import (
	"slices"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// usageReports appends reports of usage as messages have them, without what leave
// names. The memory of list's elements is used again.
func usageReports(list []pfcp.UsageReport, reports []session.UsageReport, leave LeaveOut) []pfcp.UsageReport {
	for i := range reports {
		usageReport(next(&list), &reports[i], leave)
	}
	return list
}

// usageReport converts one report. One of the start or stop of traffic has no
// measurement, nor the times of one. Packets are told if the CP function asked
// for them (MNOP). When the first and the last packet came is not known, and
// left out. Source: TS 29.244 V18.6.0, 7.5.5.2, 7.5.7.2 and 7.5.8.3.
func usageReport(out *pfcp.UsageReport, u *session.UsageReport, leave LeaveOut) {
	*out = pfcp.UsageReport{
		URRID: u.URRID, URSEQN: u.SEQN, Trigger: pfcp.UsageReportTrigger(u.Trigger),
		EventTimeStamps: out.EventTimeStamps[:0],
	}
	if u.Trigger&(session.TriggerSTART|session.TriggerSTOPT) != 0 {
		return
	}
	if u.Trigger&session.TriggerMACAR != 0 {
		out.EthernetTraffic = pfcp.Some(pfcp.EthernetTraffic{Detected: macLists(u.MACsDetected), Removed: macLists(u.MACsRemoved)})
		return
	}
	out.StartTime, out.EndTime = pfcp.Some(stamp(u.Start)), pfcp.Some(stamp(u.End))
	if u.Method&session.MeasureVolume != 0 {
		up, down := u.Usage.UplinkOctets, u.Usage.DownlinkOctets
		v := pfcp.VolumeMeasurement{Total: pfcp.Some(up + down), Uplink: pfcp.Some(up), Downlink: pfcp.Some(down)}
		if u.Information&session.InfoMNOP != 0 && leave&LeaveOutPacketCounts == 0 {
			up, down := u.Usage.UplinkPackets, u.Usage.DownlinkPackets
			v.TotalPackets, v.UplinkPackets, v.DownlinkPackets = pfcp.Some(up+down), pfcp.Some(up), pfcp.Some(down)
		}
		out.Volume = pfcp.Some(v)
	}
	if u.Method&session.MeasureDuration != 0 {
		out.DurationS = pfcp.Some(u.Duration)
	}
	if u.Method&session.MeasureEvent != 0 && leave&LeaveOutEventTimeStamps == 0 {
		for _, at := range u.EventTimes {
			out.EventTimeStamps = append(out.EventTimeStamps, stamp(at))
		}
	}
	if leave&LeaveOutUsageInformation == 0 {
		out.UsageInformation = usageInformation(u)
	}
}

// usageInformation says of usage before and after a Monitoring Time which it is; else
// there is none. Of a URR with MBQE there is no report of usage after QoS enforcement
// from which it would have to be told apart, and free5GC's SMF, which sets MBQE in
// every session, cannot read the IE.
// Source: TS 29.244 V18.6.0, table 7.5.8.3-1.
func usageInformation(u *session.UsageReport) (i pfcp.UsageInformation) {
	if u.Before {
		i |= pfcp.UsageBEF
	}
	if u.After {
		i |= pfcp.UsageAFT
	}
	if i != 0 && u.Information&session.InfoMBQE != 0 {
		i |= pfcp.UsageUBE
	}
	return i
}

// stamp is a point in time, in Unix nanoseconds, as messages have it.
func stamp(ns int64) pfcp.TimeStamp { return pfcp.NewTimeStamp(time.Unix(0, ns)) }

// macLists are MAC addresses as a report has them, 255 at most in each IE. Of which
// VLAN they are is not told.
func macLists(macs []session.MAC) (lists []pfcp.MACList) {
	for part := range slices.Chunk(macs, 255) {
		l := pfcp.MACList{}
		for _, m := range part {
			l.Addresses = append(l.Addresses, pfcp.MAC(m))
		}
		lists = append(lists, l)
	}
	return lists
}
