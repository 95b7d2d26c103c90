package upf

import (
	"plumbline/api"
	"plumbline/session"
)

// FAR is a Forwarding Action Rule.
type FAR struct {
	ID                   uint32 `json:"id"`
	ApplyAction          string `json:"apply_action"`
	DestinationInterface string `json:"destination_interface,omitempty"`
	OuterHeaderCreation  *FTEID `json:"outer_header_creation,omitempty"` // GTP-U/UDP/IP
	NetworkInstance      string `json:"network_instance,omitempty"`
	DSCP                 *uint8 `json:"dscp,omitempty"` // Transport Level Marking
	BARID                *uint8 `json:"bar_id,omitempty"`
}

// QER is a QoS Enforcement Rule. Rates are bit/s; absent: not limited.
type QER struct {
	ID                 uint32  `json:"id"`
	UplinkGateClosed   bool    `json:"uplink_gate_closed"`
	DownlinkGateClosed bool    `json:"downlink_gate_closed"`
	QFI                uint8   `json:"qfi,omitempty"`
	UplinkMBR          *uint64 `json:"uplink_mbr_bps,omitempty"`
	DownlinkMBR        *uint64 `json:"downlink_mbr_bps,omitempty"`
	UplinkGBR          *uint64 `json:"uplink_gbr_bps,omitempty"`
	DownlinkGBR        *uint64 `json:"downlink_gbr_bps,omitempty"`
}

// URR is a Usage Reporting Rule and what was counted for it since it was
// created. Limits are octets and seconds; absent: none.
type URR struct {
	ID              uint32  `json:"id"`
	Method          string  `json:"method"`   // as TS 29.244 names the flags
	Triggers        string  `json:"triggers"` // the same
	VolumeThreshold *Volume `json:"volume_threshold,omitempty"`
	VolumeQuota     *Volume `json:"volume_quota,omitempty"`
	TimeThreshold   uint32  `json:"time_threshold_s,omitempty"`
	TimeQuota       *uint32 `json:"time_quota_s,omitempty"`
	Period          uint32  `json:"measurement_period_s,omitempty"`
	UplinkOctets    uint64  `json:"uplink_octets"`
	DownlinkOctets  uint64  `json:"downlink_octets"`
	UplinkPackets   uint64  `json:"uplink_packets"`
	DownlinkPackets uint64  `json:"downlink_packets"`
}

// Volume is a limit in octets; absent: none.
type Volume struct {
	Total    *uint64 `json:"total,omitempty"`
	Uplink   *uint64 `json:"uplink,omitempty"`
	Downlink *uint64 `json:"downlink,omitempty"`
}

// BAR is a Buffering Action Rule.
type BAR struct {
	ID                  uint8  `json:"id"`
	NotificationDelayMs int64  `json:"notification_delay_ms,omitempty"`
	Packets             uint16 `json:"suggested_packets,omitempty"`
}

func viewFAR(f *session.FAR) FAR {
	v := FAR{ID: f.ID, ApplyAction: f.ApplyAction.String()}
	if f.BARID.Present {
		v.BARID = &f.BARID.Value
	}
	if !f.HasForwarding {
		return v
	}
	p := &f.Forwarding
	v.DestinationInterface, v.NetworkInstance = p.DestinationInterface.String(), p.NetworkInstance
	if p.HasDSCP {
		v.DSCP = &p.DSCP
	}
	o := &p.OuterHeaderCreation
	v.OuterHeaderCreation = viewFTEID(o.TEID, o.IPv4, o.IPv6)
	return v
}

func viewQER(q *session.QER) QER {
	v := QER{ID: q.ID, QFI: q.QFI, UplinkGateClosed: q.UplinkGateClosed, DownlinkGateClosed: q.DownlinkGateClosed}
	if q.HasMBR {
		v.UplinkMBR, v.DownlinkMBR = (*uint64)(&q.MBR.Uplink), (*uint64)(&q.MBR.Downlink)
	}
	if q.HasGBR {
		v.UplinkGBR, v.DownlinkGBR = (*uint64)(&q.GBR.Uplink), (*uint64)(&q.GBR.Downlink)
	}
	return v
}

func viewURR(u *session.URR, usage *api.SessionUsage) URR {
	v := URR{
		ID: u.ID, Method: u.Method.String(), Triggers: u.Triggers.String(),
		VolumeThreshold: viewVolume(&u.VolumeThreshold), VolumeQuota: viewVolume(&u.VolumeQuota),
		TimeThreshold: u.TimeThreshold, Period: u.MeasurementPeriod,
	}
	if u.TimeQuota.Present {
		v.TimeQuota = &u.TimeQuota.Value
	}
	for _, c := range usage.GetUrrs() {
		if c.GetUrrId() == u.ID {
			v.UplinkOctets, v.DownlinkOctets = c.GetUplinkOctets(), c.GetDownlinkOctets()
			v.UplinkPackets, v.DownlinkPackets = c.GetUplinkPackets(), c.GetDownlinkPackets()
		}
	}
	return v
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

func viewBAR(b *session.BAR) BAR {
	return BAR{ID: b.ID, NotificationDelayMs: b.NotificationDelay.Milliseconds(), Packets: b.Packets}
}
