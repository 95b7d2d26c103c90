package upf

import (
	"github.com/plumbline-upf/plumbline/upf/session"
)

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

	UplinkPacketRate   *PacketRate  `json:"uplink_packet_rate,omitempty"`
	DownlinkPacketRate *PacketRate  `json:"downlink_packet_rate,omitempty"`
	RQI                bool         `json:"rqi,omitempty"`                     // Reflective QoS
	PagingPolicy       *uint8       `json:"paging_policy_indicator,omitempty"` // 0 to 7
	Marking            *FlowMarking `json:"dl_flow_level_marking,omitempty"`
}

// PacketRate is how many packets may pass in a time.
type PacketRate struct {
	Packets uint16 `json:"packets"`
	TimeMs  uint32 `json:"time_ms"`
}

// FlowMarking is a DL Flow Level Marking.
type FlowMarking struct {
	TOS          uint8  `json:"tos"`      // of the outer header, ToS or Traffic Class
	TOSMask      uint8  `json:"tos_mask"` // 0: not marked
	ServiceClass *uint8 `json:"service_class_indicator,omitempty"`
}

// BAR is a Buffering Action Rule.
type BAR struct {
	ID                  uint8  `json:"id"`
	NotificationDelayMs int64  `json:"notification_delay_ms,omitempty"`
	Packets             uint16 `json:"suggested_packets,omitempty"`
	DurationMs          int64  `json:"dl_buffering_duration_ms,omitempty"`
}

func viewQER(q *session.QER) QER {
	v := QER{ID: q.ID, QFI: q.QFI, RQI: q.RQI, UplinkGateClosed: q.UplinkGateClosed, DownlinkGateClosed: q.DownlinkGateClosed}
	if q.HasMBR {
		v.UplinkMBR, v.DownlinkMBR = (*uint64)(&q.MBR.Uplink), (*uint64)(&q.MBR.Downlink)
	}
	if q.HasGBR {
		v.UplinkGBR, v.DownlinkGBR = (*uint64)(&q.GBR.Uplink), (*uint64)(&q.GBR.Downlink)
	}
	v.UplinkPacketRate, v.DownlinkPacketRate = viewPacketRate(q.UplinkPackets), viewPacketRate(q.DownlinkPackets)
	v.PagingPolicy = viewOptional(q.PagingPolicy)
	if q.TOSMask != 0 || q.ServiceClass.Present {
		v.Marking = &FlowMarking{TOS: q.TOS, TOSMask: q.TOSMask, ServiceClass: viewOptional(q.ServiceClass)}
	}
	return v
}

// viewPacketRate is nil if any number of packets may pass.
func viewPacketRate(r session.PacketRate) *PacketRate {
	if r.TimeMs == 0 {
		return nil
	}
	return &PacketRate{Packets: r.Packets, TimeMs: r.TimeMs}
}

// viewOptional is nil for what is absent.
func viewOptional[T any](o session.Optional[T]) *T {
	if !o.Present {
		return nil
	}
	return &o.Value
}

func viewBAR(b *session.BAR) BAR {
	return BAR{ID: b.ID, NotificationDelayMs: b.NotificationDelay.Milliseconds(), Packets: b.Packets, DurationMs: b.Duration.Milliseconds()}
}
