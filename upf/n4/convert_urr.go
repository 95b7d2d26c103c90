package n4

import (
	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/upf/session"
)

func (c *converter) createURR(out *session.URR, u *pfcp.CreateURR) {
	*out = session.URR{
		ID: u.URRID, Method: session.MeasurementMethod(u.MeasurementMethod),
		Triggers:    session.ReportingTriggers(u.ReportingTriggers),
		Information: session.MeasurementInformation(u.MeasurementInformation.Value),

		MeasurementPeriod: u.MeasurementPeriodS.Value, VolumeThreshold: volume(u.VolumeThreshold).Value,
		VolumeQuota: volume(u.VolumeQuota).Value, TimeThreshold: u.TimeThresholdS.Value, TimeQuota: optional(u.TimeQuotaS),
		QuotaHoldingTime: u.QuotaHoldingTimeS.Value, QuotaValidityTime: u.QuotaValidityTimeS.Value,
		InactivityDetectionTime: u.InactivityDetectionTimeS.Value,

		MonitoringTime:            moment(u.MonitoringTime).Value,
		SubsequentVolumeThreshold: volume(u.SubsequentVolumeThreshold).Value,
		SubsequentVolumeQuota:     volume(u.SubsequentVolumeQuota).Value,
		SubsequentTimeThreshold:   u.SubsequentTimeThresholdS.Value,
		SubsequentTimeQuota:       optional(u.SubsequentTimeQuotaS),

		LinkedURRs: u.LinkedURRIDs, QuotaFAR: optional(u.FARIDForQuotaAction),
		Events: session.EventLimits{
			Threshold: u.EventThreshold.Value, Quota: optional(u.EventQuota),
			SubsequentThreshold: u.SubsequentEventThreshold.Value, SubsequentQuota: optional(u.SubsequentEventQuota),
		},
		DroppedThreshold: dropped(u.DroppedDLTrafficThreshold).Value,
	}
	c.refuseInURR(u.URRID, &u.URRParameters)
}

func (c *converter) updateURR(out *session.UpdateURR, u *pfcp.UpdateURR) {
	*out = session.UpdateURR{
		ID:       u.URRID,
		Method:   session.Optional[session.MeasurementMethod]{Value: session.MeasurementMethod(u.MeasurementMethod.Value), Present: u.MeasurementMethod.Present},
		Triggers: session.Optional[session.ReportingTriggers]{Value: session.ReportingTriggers(u.ReportingTriggers.Value), Present: u.ReportingTriggers.Present},

		MeasurementPeriod: optional(u.MeasurementPeriodS), VolumeThreshold: volume(u.VolumeThreshold),
		VolumeQuota: volume(u.VolumeQuota), TimeThreshold: optional(u.TimeThresholdS), TimeQuota: optional(u.TimeQuotaS),
		QuotaHoldingTime: optional(u.QuotaHoldingTimeS), QuotaValidityTime: optional(u.QuotaValidityTimeS),
		InactivityDetectionTime: optional(u.InactivityDetectionTimeS),

		MonitoringTime:            moment(u.MonitoringTime),
		SubsequentVolumeThreshold: volume(u.SubsequentVolumeThreshold),
		SubsequentVolumeQuota:     volume(u.SubsequentVolumeQuota),
		SubsequentTimeThreshold:   optional(u.SubsequentTimeThresholdS),
		SubsequentTimeQuota:       optional(u.SubsequentTimeQuotaS),

		EventThreshold: optional(u.EventThreshold), EventQuota: optional(u.EventQuota),
		SubsequentEventThreshold: optional(u.SubsequentEventThreshold), SubsequentEventQuota: optional(u.SubsequentEventQuota),

		QuotaFAR: optional(u.FARIDForQuotaAction), DroppedThreshold: dropped(u.DroppedDLTrafficThreshold),
	}
	if i := u.MeasurementInformation; i.Present {
		out.Information = session.Some(session.MeasurementInformation(i.Value))
	}
	if len(u.LinkedURRIDs) > 0 {
		out.LinkedURRs = u.LinkedURRIDs
	}
	for _, ie := range u.Removed {
		c.removeInURR(out, ie)
	}
	c.refuseInURR(u.URRID, &u.URRParameters)
}

// removeInURR takes a parameter off a URR, whose IE had null length.
// Source: TS 29.244 V18.6.0, 5.6.3.
func (c *converter) removeInURR(out *session.UpdateURR, ie pfcp.IEType) {
	none, never, nothing := session.Some(session.Volume{}), session.Some(int64(0)), session.Some(uint32(0))
	switch ie {
	case pfcp.IEMeasurementPeriod:
		out.MeasurementPeriod = nothing
	case pfcp.IEVolumeThreshold:
		out.VolumeThreshold = none
	case pfcp.IEVolumeQuota:
		out.VolumeQuota = none
	case pfcp.IETimeThreshold:
		out.TimeThreshold = nothing
	case pfcp.IETimeQuota:
		out.TimeQuota, out.RemoveTimeQuota = nothing, true
	case pfcp.IEQuotaHoldingTime:
		out.QuotaHoldingTime = nothing
	case pfcp.IEQuotaValidityTime:
		out.QuotaValidityTime = nothing
	case pfcp.IEInactivityDetectionTime:
		out.InactivityDetectionTime = nothing
	case pfcp.IEMonitoringTime:
		out.MonitoringTime = never
	case pfcp.IESubsequentVolumeThreshold:
		out.SubsequentVolumeThreshold = none
	case pfcp.IESubsequentVolumeQuota:
		out.SubsequentVolumeQuota = none
	case pfcp.IESubsequentTimeThreshold:
		out.SubsequentTimeThreshold = nothing
	case pfcp.IESubsequentTimeQuota:
		out.SubsequentTimeQuota, out.RemoveSubsequentTimeQuota = nothing, true
	case pfcp.IEEventThreshold:
		out.EventThreshold = nothing
	case pfcp.IEEventQuota:
		out.EventQuota, out.RemoveEventQuota = nothing, true
	case pfcp.IESubsequentEventThreshold:
		out.SubsequentEventThreshold = nothing
	case pfcp.IESubsequentEventQuota:
		out.SubsequentEventQuota, out.RemoveSubsequentEventQuota = nothing, true
	case pfcp.IEFARID:
		out.QuotaFAR, out.RemoveQuotaFAR = nothing, true
	case pfcp.IEDroppedDLTrafficThreshold:
		out.DroppedThreshold = session.Some(session.DroppedThreshold{})
	case pfcp.IELinkedURRID:
		out.LinkedURRs = emptyIDs
	case pfcp.IEMeasurementInformation:
		out.Information = session.Some(session.MeasurementInformation(0))
	default:
		c.refuseRule(session.RuleURR, out.ID, ie)
	}
}

// refuseInURR lists what is not measured here: a number of reports, several
// Monitoring Times, and inactivity by URR.
func (c *converter) refuseInURR(id uint32, u *pfcp.URRParameters) {
	for _, x := range [...]struct {
		present bool
		ie      pfcp.IEType
	}{
		{len(u.AdditionalMonitoringTimes) > 0, pfcp.IEAdditionalMonitoringTime},
		{u.NumberOfReports.Present, pfcp.IENumberOfReports},
		{u.UserPlaneInactivityS.Present, pfcp.IEUserPlaneInactivityTimer},
	} {
		if x.present {
			c.refuseRule(session.RuleURR, id, x.ie)
		}
	}
	c.refuseRule(session.RuleURR, id, u.Noted)
}

// volume converts a threshold or quota.
func volume(v pfcp.Optional[pfcp.Volume]) session.Optional[session.Volume] {
	return session.Optional[session.Volume]{Present: v.Present, Value: session.Volume{
		HasTotal: v.Value.Total.Present, Total: v.Value.Total.Value,
		HasUplink: v.Value.Uplink.Present, Uplink: v.Value.Uplink.Value,
		HasDownlink: v.Value.Downlink.Present, Downlink: v.Value.Downlink.Value,
	}}
}

// dropped converts a Dropped DL Traffic Threshold.
func dropped(d pfcp.Optional[pfcp.DroppedDLTraffic]) session.Optional[session.DroppedThreshold] {
	return session.Optional[session.DroppedThreshold]{Present: d.Present, Value: session.DroppedThreshold{
		Packets: d.Value.Packets.Value, Octets: d.Value.Octets.Value,
	}}
}

// moment converts a point in time to Unix nanoseconds.
func moment(t pfcp.Optional[pfcp.TimeStamp]) session.Optional[int64] {
	if !t.Present {
		return session.Optional[int64]{}
	}
	return session.Some(t.Value.Time().UnixNano())
}
