package upf

import (
	"time"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// URR is a Usage Reporting Rule, what was counted for it since it was created,
// and what of it has been reported. Limits are octets and seconds; absent: none.
type URR struct {
	ID          uint32 `json:"id"`
	Method      string `json:"method"`                // flags, as TS 29.244 names them
	Triggers    string `json:"triggers"`              // the same
	Information string `json:"information,omitempty"` // the same

	VolumeThreshold *Volume `json:"volume_threshold,omitempty"`
	VolumeQuota     *Volume `json:"volume_quota,omitempty"`
	TimeThreshold   uint32  `json:"time_threshold_s,omitempty"`
	TimeQuota       *uint32 `json:"time_quota_s,omitempty"`
	EventThreshold  uint32  `json:"event_threshold,omitempty"`
	EventQuota      *uint32 `json:"event_quota,omitempty"`

	MonitoringTime            *time.Time `json:"monitoring_time,omitempty"` // from which on the subsequent ones hold
	SubsequentVolumeThreshold *Volume    `json:"subsequent_volume_threshold,omitempty"`
	SubsequentVolumeQuota     *Volume    `json:"subsequent_volume_quota,omitempty"`
	SubsequentTimeThreshold   uint32     `json:"subsequent_time_threshold_s,omitempty"`
	SubsequentTimeQuota       *uint32    `json:"subsequent_time_quota_s,omitempty"`
	SubsequentEventThreshold  uint32     `json:"subsequent_event_threshold,omitempty"`
	SubsequentEventQuota      *uint32    `json:"subsequent_event_quota,omitempty"`

	Period            uint32        `json:"measurement_period_s,omitempty"`
	QuotaHoldingTime  uint32        `json:"quota_holding_time_s,omitempty"`
	QuotaValidityTime uint32        `json:"quota_validity_time_s,omitempty"`
	InactivityTime    uint32        `json:"inactivity_detection_time_s,omitempty"`
	LinkedURRs        []uint32      `json:"linked_urr_ids,omitempty"`
	QuotaFAR          *uint32       `json:"quota_action_far_id,omitempty"`
	DroppedThreshold  *DroppedUsage `json:"dropped_dl_traffic_threshold,omitempty"`

	UplinkOctets    uint64 `json:"uplink_octets"`
	DownlinkOctets  uint64 `json:"downlink_octets"`
	UplinkPackets   uint64 `json:"uplink_packets"`
	DownlinkPackets uint64 `json:"downlink_packets"`
	// DroppedDownlink is what was dropped instead of being buffered.
	DroppedDownlink *DroppedUsage `json:"dropped_downlink,omitempty"`
	Events          uint64        `json:"events,omitempty"`
	DurationMs      int64         `json:"duration_ms,omitempty"` // metered

	Exhausted bool     `json:"quota_exhausted,omitempty"` // nothing is forwarded any more
	Reports   uint32   `json:"reports"`                   // UR-SEQN of the next one
	Reported  Reported `json:"reported"`
}

// Reported is what all Usage Reports of a URR so far say together.
type Reported struct {
	UplinkOctets    uint64 `json:"uplink_octets"`
	DownlinkOctets  uint64 `json:"downlink_octets"`
	UplinkPackets   uint64 `json:"uplink_packets"`
	DownlinkPackets uint64 `json:"downlink_packets"`
	DurationMs      int64  `json:"duration_ms,omitempty"`
	Events          uint64 `json:"events,omitempty"`
}

// DroppedUsage is downlink traffic that is dropped instead of being buffered. Of a
// threshold, 0 is none.
type DroppedUsage struct {
	Packets uint64 `json:"packets"`
	Octets  uint64 `json:"octets"`
}

// Volume is a limit in octets; absent: none.
type Volume struct {
	Total    *uint64 `json:"total,omitempty"`
	Uplink   *uint64 `json:"uplink,omitempty"`
	Downlink *uint64 `json:"downlink,omitempty"`
}

// viewURR shows u at the time now, Unix nanoseconds.
func viewURR(u *session.URR, usage *api.SessionUsage, now int64) URR {
	v := URR{
		ID: u.ID, Method: u.Method.String(), Triggers: u.Triggers.String(),
		VolumeThreshold: viewVolume(&u.VolumeThreshold), VolumeQuota: viewVolume(&u.VolumeQuota),
		TimeThreshold: u.TimeThreshold, TimeQuota: viewOptional(u.TimeQuota),
		EventThreshold: u.Events.Threshold, EventQuota: viewOptional(u.Events.Quota),
		Period: u.MeasurementPeriod, QuotaHoldingTime: u.QuotaHoldingTime, QuotaValidityTime: u.QuotaValidityTime,
		InactivityTime: u.InactivityDetectionTime, LinkedURRs: u.LinkedURRs, QuotaFAR: viewOptional(u.QuotaFAR),
		DroppedThreshold: viewDropped(u.DroppedThreshold.Packets, u.DroppedThreshold.Octets),
	}
	if u.Information != 0 {
		v.Information = u.Information.String()
	}
	if u.MonitoringTime != 0 {
		at := time.Unix(0, u.MonitoringTime).UTC()
		v.MonitoringTime = &at
		v.SubsequentVolumeThreshold = viewVolume(&u.SubsequentVolumeThreshold)
		v.SubsequentVolumeQuota = viewVolume(&u.SubsequentVolumeQuota)
		v.SubsequentTimeThreshold, v.SubsequentTimeQuota = u.SubsequentTimeThreshold, viewOptional(u.SubsequentTimeQuota)
		v.SubsequentEventThreshold, v.SubsequentEventQuota = u.Events.SubsequentThreshold, viewOptional(u.Events.SubsequentQuota)
	}
	v.measured(u, usage, now)
	return v
}

// measured fills in what was counted and what was reported.
func (v *URR) measured(u *session.URR, usage *api.SessionUsage, now int64) {
	s := &u.State
	v.Exhausted, v.Reports, v.Events = s.Exhausted, s.SEQN, s.Events.Counted
	v.DurationMs = u.Metered(now).Milliseconds()
	v.Reported = Reported{
		UplinkOctets: s.Reported.UplinkOctets, DownlinkOctets: s.Reported.DownlinkOctets,
		UplinkPackets: s.Reported.UplinkPackets, DownlinkPackets: s.Reported.DownlinkPackets,
		DurationMs: time.Duration(s.ReportedNs).Milliseconds(), Events: s.Events.Reported,
	}
	for _, c := range usage.GetUrrs() {
		if c.GetUrrId() == u.ID {
			v.UplinkOctets, v.DownlinkOctets = c.GetUplinkOctets(), c.GetDownlinkOctets()
			v.UplinkPackets, v.DownlinkPackets = c.GetUplinkPackets(), c.GetDownlinkPackets()
			v.DroppedDownlink = viewDropped(c.GetDroppedDownlinkPackets(), c.GetDroppedDownlinkOctets())
		}
	}
}

func viewDropped(packets, octets uint64) *DroppedUsage {
	if packets|octets == 0 {
		return nil
	}
	return &DroppedUsage{Packets: packets, Octets: octets}
}

func viewVolume(l *session.Volume) *Volume {
	var v Volume
	if l.HasTotal {
		v.Total = &l.Total
	}
	if l.HasUplink {
		v.Uplink = &l.Uplink
	}
	if l.HasDownlink {
		v.Downlink = &l.Downlink
	}
	if v == (Volume{}) {
		return nil
	}
	return &v
}
