package pfcp

import (
	"encoding/binary"
	"fmt"
)

// MeasurementMethod is what a URR measures.
// Source: TS 29.244 V18.6.0, 8.2.40.
type MeasurementMethod uint8

// Measurement methods.
const (
	MeasureDURAT MeasurementMethod = 1 << iota // duration
	MeasureVOLUM                               // volume
	MeasureEVENT                               // events
)

// ReportingTriggers is what makes the UP function report; octet 5 of the IE in
// the lowest byte, octet 7 in the third. Source: TS 29.244 V18.6.0, 8.2.19.
type ReportingTriggers uint32

// Reporting triggers.
const (
	ReportPERIO ReportingTriggers = 1 << iota // every Measurement Period
	ReportVOLTH                               // Volume Threshold
	ReportTIMTH                               // Time Threshold
	ReportQUHTI                               // Quota Holding Time
	ReportSTART                               // start of traffic
	ReportSTOPT                               // stop of traffic
	ReportDROTH                               // Dropped DL Traffic Threshold
	ReportLIUSA                               // with a linked URR
	ReportVOLQU                               // Volume Quota
	ReportTIMQU                               // Time Quota
	ReportENVCL                               // envelope closure
	ReportMACAR                               // MAC addresses
	ReportEVETH                               // Event Threshold
	ReportEVEQU                               // Event Quota
	ReportIPMJL                               // IP multicast join, leave
	ReportQUVTI                               // Quota Validity Time
	ReportREEMR                               // reception of an End Marker
	ReportUPINT                               // User Plane Inactivity Timer
)

// reportingTriggers writes 3 octets, as specified since Rel-16, and accepts 2.
var reportingTriggers = codec[ReportingTriggers]{
	func(v *ReportingTriggers, b []byte) error { *v = ReportingTriggers(readFlags(b, 3)); return nil },
	func(b []byte, v *ReportingTriggers) []byte { return append(b, byte(*v), byte(*v>>8), byte(*v>>16)) },
}

// UsageReportTrigger is why a Usage Report is sent; octet 5 of the IE in the
// lowest byte, octet 7 in the third. Its bits are not those of
// [ReportingTriggers]. Source: TS 29.244 V18.6.0, 8.2.41.
type UsageReportTrigger uint32

// Usage report triggers.
const (
	TriggerPERIO UsageReportTrigger = 1 << iota // periodic
	TriggerVOLTH                                // Volume Threshold
	TriggerTIMTH                                // Time Threshold
	TriggerQUHTI                                // Quota Holding Time
	TriggerSTART                                // start of traffic
	TriggerSTOPT                                // stop of traffic
	TriggerDROTH                                // Dropped DL Traffic Threshold
	TriggerIMMER                                // immediate: the CP function asked
	TriggerVOLQU                                // Volume Quota
	TriggerTIMQU                                // Time Quota
	TriggerLIUSA                                // a linked URR reports
	TriggerTERMR                                // session or URR removed, or no PDR names it any more
	TriggerMONIT                                // Monitoring Time
	TriggerENVCL                                // envelope closure
	TriggerMACAR                                // MAC addresses
	TriggerEVETH                                // Event Threshold
	TriggerEVEQU                                // Event Quota
	TriggerTEBUR                                // termination by the UP function
	TriggerIPMJL                                // IP multicast join, leave
	TriggerQUVTI                                // Quota Validity Time
	TriggerEMRRE                                // an End Marker was received
	TriggerUPINT                                // User Plane Inactivity Timer
)

// usageReportTrigger writes 3 octets and takes 2.
var usageReportTrigger = codec[UsageReportTrigger]{
	func(v *UsageReportTrigger, b []byte) error { *v = UsageReportTrigger(readFlags(b, 3)); return nil },
	func(b []byte, v *UsageReportTrigger) []byte { return append(b, byte(*v), byte(*v>>8), byte(*v>>16)) },
}

// MeasurementInformation says more about how a URR measures.
// Source: TS 29.244 V18.6.0, 8.2.68.
type MeasurementInformation uint8

// Flags of a Measurement Information.
const (
	MeasurementMBQE  MeasurementInformation = 1 << iota // before QoS enforcement
	MeasurementINAM                                     // paused
	MeasurementRADI                                     // Application ID alone is reported
	MeasurementISTM                                     // time metering starts at once
	MeasurementMNOP                                     // packets are counted besides octets
	MeasurementSSPOC                                    // tell the upstream peer when charging pauses
	MeasurementASPOC                                    // may be paused by the downstream peer
	MeasurementCIAM                                     // INAM counts for a URR with ASPOC
)

// UsageInformation says which part of the usage a Usage Report is about.
// Source: TS 29.244 V18.6.0, 8.2.59.
type UsageInformation uint8

// Flags of a Usage Information.
const (
	UsageBEF UsageInformation = 1 << iota // before a Monitoring Time
	UsageAFT                              // after a Monitoring Time
	UsageUAE                              // after QoS enforcement
	UsageUBE                              // before QoS enforcement
)

// Volume is a Volume Threshold or Volume Quota, in octets. At least one of the
// three is present. Source: TS 29.244 V18.6.0, 8.2.13 and 8.2.50.
type Volume struct {
	Total, Uplink, Downlink Optional[uint64]
}

// Flags of the IEs that have volumes.
const volTotal, volUplink, volDownlink, volTotalPackets, volUplinkPackets, volDownlinkPackets = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20

var volume = codec[Volume]{
	func(v *Volume, b []byte) error {
		r := reader{b: b}
		flags := r.u8()
		*v = Volume{r.counter(flags & volTotal), r.counter(flags & volUplink), r.counter(flags & volDownlink)}
		if flags&(volTotal|volUplink|volDownlink) == 0 {
			return fmt.Errorf("flags %#02x, no volume: %w", flags, ErrIncorrect)
		}
		return r.err
	},
	func(b []byte, v *Volume) []byte {
		b = append(b, bit(v.Total.Present, volTotal)|bit(v.Uplink.Present, volUplink)|bit(v.Downlink.Present, volDownlink))
		return appendCounters(b, v.Total, v.Uplink, v.Downlink)
	},
}

// VolumeMeasurement is a Volume Measurement: octets and packets. At least one
// is present. Source: TS 29.244 V18.6.0, 8.2.44.
type VolumeMeasurement struct {
	Total, Uplink, Downlink                      Optional[uint64] // octets
	TotalPackets, UplinkPackets, DownlinkPackets Optional[uint64]
}

var volumeMeasurement = codec[VolumeMeasurement]{
	func(v *VolumeMeasurement, b []byte) error {
		r := reader{b: b}
		flags := r.u8()
		*v = VolumeMeasurement{
			Total: r.counter(flags & volTotal), Uplink: r.counter(flags & volUplink), Downlink: r.counter(flags & volDownlink),
			TotalPackets: r.counter(flags & volTotalPackets), UplinkPackets: r.counter(flags & volUplinkPackets),
			DownlinkPackets: r.counter(flags & volDownlinkPackets),
		}
		if flags&0x3f == 0 {
			return fmt.Errorf("flags %#02x, no volume: %w", flags, ErrIncorrect)
		}
		return r.err
	},
	func(b []byte, v *VolumeMeasurement) []byte {
		b = append(b, bit(v.Total.Present, volTotal)|bit(v.Uplink.Present, volUplink)|bit(v.Downlink.Present, volDownlink)|
			bit(v.TotalPackets.Present, volTotalPackets)|bit(v.UplinkPackets.Present, volUplinkPackets)|
			bit(v.DownlinkPackets.Present, volDownlinkPackets))
		return appendCounters(b, v.Total, v.Uplink, v.Downlink, v.TotalPackets, v.UplinkPackets, v.DownlinkPackets)
	},
}

// DroppedDLTraffic is a Dropped DL Traffic Threshold. Neither of the two may
// be present. Source: TS 29.244 V18.6.0, 8.2.49.
type DroppedDLTraffic struct {
	Packets, Octets Optional[uint64]
}

var droppedDLTraffic = codec[DroppedDLTraffic]{
	func(v *DroppedDLTraffic, b []byte) error {
		r := reader{b: b}
		flags := r.u8()
		*v = DroppedDLTraffic{r.counter(flags & 0x01), r.counter(flags & 0x02)}
		return r.err
	},
	func(b []byte, v *DroppedDLTraffic) []byte {
		return appendCounters(append(b, bit(v.Packets.Present, 0x01)|bit(v.Octets.Present, 0x02)), v.Packets, v.Octets)
	},
}

// counter returns the next 8 octets if the flag is set.
func (r *reader) counter(flag uint8) Optional[uint64] {
	if flag == 0 {
		return Optional[uint64]{}
	}
	return Some(r.u64())
}

func appendCounters(b []byte, list ...Optional[uint64]) []byte {
	for _, c := range list {
		if c.Present {
			b = binary.BigEndian.AppendUint64(b, c.Value)
		}
	}
	return b
}

// AdditionalUsageReports is an Additional Usage Reports Information: Usage
// Reports that follow in Session Report Requests.
// Source: TS 29.244 V18.6.0, 8.2.91.
type AdditionalUsageReports struct {
	AURI  bool   // more follow; one of those messages has their number
	Count uint16 // how many follow, 15 bits; 0 with AURI
}

const flagAURI = 0x8000

var additionalUsageReports = codec[AdditionalUsageReports]{
	func(v *AdditionalUsageReports, b []byte) error {
		n := binary.BigEndian.Uint16(b)
		*v = AdditionalUsageReports{AURI: n&flagAURI != 0}
		if !v.AURI {
			v.Count = n
		}
		return nil
	},
	func(b []byte, v *AdditionalUsageReports) []byte {
		n := v.Count &^ flagAURI
		if v.AURI {
			n = flagAURI
		}
		return binary.BigEndian.AppendUint16(b, n)
	},
}
