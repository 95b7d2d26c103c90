package session

// URR is a Usage Reporting Rule and how far it has got. Times that are spans
// are seconds, 0 for none; points in time are Unix nanoseconds, 0 for none.
// Source: TS 29.244 V18.6.0, 7.5.2.4.
type URR struct {
	ID          uint32                 `record:"0"`
	Method      MeasurementMethod      `record:"1"`
	Triggers    ReportingTriggers      `record:"2"`
	Information MeasurementInformation `record:"3"`

	MeasurementPeriod       uint32           `record:"4"`
	VolumeThreshold         Volume           `record:"32.0 32.1 32.2 33 34 35"`
	VolumeQuota             Volume           `record:"36.0 36.1 36.2 37 38 39"`
	TimeThreshold           uint32           `record:"5"`
	TimeQuota               Optional[uint32] `record:"6"` // 0 is a quota: none is left
	QuotaHoldingTime        uint32           `record:"7"`
	QuotaValidityTime       uint32           `record:"8"`
	InactivityDetectionTime uint32           `record:"9"`

	MonitoringTime            int64            `record:"10"`
	SubsequentVolumeThreshold Volume           `record:"40.0 40.1 40.2 41 42 43"`
	SubsequentVolumeQuota     Volume           `record:"44.0 44.1 44.2 45 46 47"`
	SubsequentTimeThreshold   uint32           `record:"11"`
	SubsequentTimeQuota       Optional[uint32] `record:"12"`

	LinkedURRs []uint32         `record:"14"`
	QuotaFAR   Optional[uint32] `record:"13"` // FAR ID for Quota Action
	Events     EventLimits      `record:"62.0:0 1 2 3"`

	DroppedThreshold DroppedThreshold `record:"60 61"`

	State URRState `record:"."`
}

// Volume is a threshold or quota in octets; what is not Has is not limited.
// Source: TS 29.244 V18.6.0, 8.2.13 and 8.2.50.
type Volume struct {
	HasTotal, HasUplink, HasDownlink bool
	Total, Uplink, Downlink          uint64
}

// MeasurementMethod says what is measured.
// Source: TS 29.244 V18.6.0, 8.2.40.
type MeasurementMethod uint8

// Measurement methods.
const (
	MeasureDuration MeasurementMethod = 1 << iota
	MeasureVolume
	MeasureEvent
)

// ReportingTriggers say when there is to be a report: octet 5 of the IE in bits 0
// to 7, octet 6 in the next, octet 7 above.
// Source: TS 29.244 V18.6.0, 8.2.19.
type ReportingTriggers uint32

// Reporting Triggers.
const (
	ReportPERIO ReportingTriggers = 1 << iota // periodic
	ReportVOLTH                               // volume threshold
	ReportTIMTH                               // time threshold
	ReportQUHTI                               // quota holding time
	ReportSTART                               // start of traffic
	ReportSTOPT                               // stop of traffic
	ReportDROTH                               // dropped downlink traffic threshold
	ReportLIUSA                               // linked usage
	ReportVOLQU                               // volume quota
	ReportTIMQU                               // time quota
	ReportENVCL                               // envelope closure
	ReportMACAR
	ReportEVETH
	ReportEVEQU
	ReportIPMJL
	ReportQUVTI // quota validity time
	ReportREEMR
	ReportUPINT // user plane inactivity
)

// MeasurementInformation has flags about how a URR measures.
// Source: TS 29.244 V18.6.0, 8.2.68.
type MeasurementInformation uint16

// Measurement Information flags.
const (
	InfoMBQE MeasurementInformation = 1 << iota // measure before QoS enforcement
	InfoINAM                                    // inactive measurement
	InfoRADI                                    // reduced application detection information
	InfoISTM                                    // immediate start of time metering
	InfoMNOP                                    // measure number of packets
)

// UpdateURR changes those parts of a URR that it has.
// Source: TS 29.244 V18.6.0, 7.5.4.4.
type UpdateURR struct {
	ID          uint32
	Method      Optional[MeasurementMethod]
	Triggers    Optional[ReportingTriggers]
	Information Optional[MeasurementInformation]

	MeasurementPeriod       Optional[uint32]
	VolumeThreshold         Optional[Volume]
	VolumeQuota             Optional[Volume]
	TimeThreshold           Optional[uint32]
	TimeQuota               Optional[uint32]
	QuotaHoldingTime        Optional[uint32]
	QuotaValidityTime       Optional[uint32]
	InactivityDetectionTime Optional[uint32]

	MonitoringTime            Optional[int64]
	SubsequentVolumeThreshold Optional[Volume]
	SubsequentVolumeQuota     Optional[Volume]
	SubsequentTimeThreshold   Optional[uint32]
	SubsequentTimeQuota       Optional[uint32]

	EventThreshold           Optional[uint32]
	EventQuota               Optional[uint32]
	SubsequentEventThreshold Optional[uint32]
	SubsequentEventQuota     Optional[uint32]

	LinkedURRs []uint32 // if not nil: all from now on
	QuotaFAR   Optional[uint32]

	DroppedThreshold Optional[DroppedThreshold]
	// Parameters that hold no longer; they are Present too.
	RemoveTimeQuota, RemoveSubsequentTimeQuota, RemoveQuotaFAR bool
	RemoveEventQuota, RemoveSubsequentEventQuota               bool
}

// UsageReportTrigger says why there is a report: octet 5 of the IE in bits 0 to
// 7, octet 6 in the next, octet 7 above.
// Source: TS 29.244 V18.6.0, 8.2.41.
type UsageReportTrigger uint32

// Usage Report Triggers.
const (
	TriggerPERIO UsageReportTrigger = 1 << iota
	TriggerVOLTH
	TriggerTIMTH
	TriggerQUHTI
	TriggerSTART
	TriggerSTOPT
	TriggerDROTH
	TriggerIMMER // immediate: asked for by a query
	TriggerVOLQU
	TriggerTIMQU
	TriggerLIUSA
	TriggerTERMR // termination: the URR or the session is removed
	TriggerMONIT // monitoring time
	TriggerENVCL
	TriggerMACAR
	TriggerEVETH
	TriggerEVEQU
	TriggerTEBUR
	TriggerIPMJL
	TriggerQUVTI
	TriggerEMRRE
	TriggerUPINT
)
