package pfcp

// URRParameters is what Create URR and Update URR have in common. Times are in
// seconds. Source: TS 29.244 V18.6.0, tables 7.5.2.4-1 and 7.5.4.4-1.
type URRParameters struct {
	MeasurementPeriodS        Optional[uint32]
	VolumeThreshold           Optional[Volume]
	VolumeQuota               Optional[Volume]
	EventThreshold            Optional[uint32]
	EventQuota                Optional[uint32]
	TimeThresholdS            Optional[uint32]
	TimeQuotaS                Optional[uint32]
	QuotaHoldingTimeS         Optional[uint32]
	DroppedDLTrafficThreshold Optional[DroppedDLTraffic]
	QuotaValidityTimeS        Optional[uint32]

	MonitoringTime            Optional[TimeStamp] // when the Subsequent ones take over
	SubsequentVolumeThreshold Optional[Volume]
	SubsequentTimeThresholdS  Optional[uint32]
	SubsequentVolumeQuota     Optional[Volume]
	SubsequentTimeQuotaS      Optional[uint32]
	SubsequentEventThreshold  Optional[uint32]
	SubsequentEventQuota      Optional[uint32]
	AdditionalMonitoringTimes []AdditionalMonitoringTime

	InactivityDetectionTimeS Optional[uint32]
	LinkedURRIDs             []uint32
	MeasurementInformation   Optional[MeasurementInformation]
	FARIDForQuotaAction      Optional[uint32]
	NumberOfReports          Optional[uint16]
	UserPlaneInactivityS     Optional[uint32] // User Plane Inactivity Timer of the URR
	Noted                    IEType           // the first IE that changes the rule's meaning but is not decoded; 0: none
}

func (p *URRParameters) reset() {
	*p = URRParameters{AdditionalMonitoringTimes: p.AdditionalMonitoringTimes[:0], LinkedURRIDs: p.LinkedURRIDs[:0]}
}

// urrMembers is the table of what Create URR and Update URR have in common;
// changing is the presence of those IEs that are optional in the one and
// conditional in the other.
func urrMembers[T any](changing presence, p func(*T) *URRParameters) []member[T] {
	seconds := u32[uint32]()
	noted := func(t *T) *IEType { return &p(t).Noted }
	return []member[T]{
		opt(IEMeasurementPeriod, conditional, func(t *T) *Optional[uint32] { return &p(t).MeasurementPeriodS }, seconds),
		opt(IEVolumeThreshold, conditional, func(t *T) *Optional[Volume] { return &p(t).VolumeThreshold }, volume),
		opt(IEVolumeQuota, conditional, func(t *T) *Optional[Volume] { return &p(t).VolumeQuota }, volume),
		opt(IEEventThreshold, conditional, func(t *T) *Optional[uint32] { return &p(t).EventThreshold }, u32[uint32]()),
		opt(IEEventQuota, conditional, func(t *T) *Optional[uint32] { return &p(t).EventQuota }, u32[uint32]()),
		opt(IETimeThreshold, conditional, func(t *T) *Optional[uint32] { return &p(t).TimeThresholdS }, seconds),
		opt(IETimeQuota, conditional, func(t *T) *Optional[uint32] { return &p(t).TimeQuotaS }, seconds),
		opt(IEQuotaHoldingTime, conditional, func(t *T) *Optional[uint32] { return &p(t).QuotaHoldingTimeS }, seconds),
		opt(IEDroppedDLTrafficThreshold, conditional,
			func(t *T) *Optional[DroppedDLTraffic] { return &p(t).DroppedDLTrafficThreshold }, droppedDLTraffic),
		opt(IEQuotaValidityTime, conditional, func(t *T) *Optional[uint32] { return &p(t).QuotaValidityTimeS }, seconds),
		opt(IEMonitoringTime, changing, func(t *T) *Optional[TimeStamp] { return &p(t).MonitoringTime }, u32[TimeStamp]()),
		opt(IESubsequentVolumeThreshold, changing, func(t *T) *Optional[Volume] { return &p(t).SubsequentVolumeThreshold }, volume),
		opt(IESubsequentTimeThreshold, changing, func(t *T) *Optional[uint32] { return &p(t).SubsequentTimeThresholdS }, seconds),
		opt(IESubsequentVolumeQuota, changing, func(t *T) *Optional[Volume] { return &p(t).SubsequentVolumeQuota }, volume),
		opt(IESubsequentTimeQuota, changing, func(t *T) *Optional[uint32] { return &p(t).SubsequentTimeQuotaS }, seconds),
		opt(IESubsequentEventThreshold, optional, func(t *T) *Optional[uint32] { return &p(t).SubsequentEventThreshold }, u32[uint32]()),
		opt(IESubsequentEventQuota, optional, func(t *T) *Optional[uint32] { return &p(t).SubsequentEventQuota }, u32[uint32]()),
		opt(IEInactivityDetectionTime, conditional, func(t *T) *Optional[uint32] { return &p(t).InactivityDetectionTimeS }, seconds),
		some(IELinkedURRID, conditional, MaxRuleRefs, func(t *T) *[]uint32 { return &p(t).LinkedURRIDs }, u32[uint32]()),
		opt(IEMeasurementInformation, conditional,
			func(t *T) *Optional[MeasurementInformation] { return &p(t).MeasurementInformation }, u8[MeasurementInformation]()),
		note(IETimeQuotaMechanism, conditional, noted),
		note(IEAggregatedURRs, conditional, noted),
		opt(IEFARID, conditional, func(t *T) *Optional[uint32] { return &p(t).FARIDForQuotaAction }, u32[uint32]()),
		note(IEEthernetInactivityTimer, conditional, noted),
		some(IEAdditionalMonitoringTime, optional, MaxMonitoringTimes,
			func(t *T) *[]AdditionalMonitoringTime { return &p(t).AdditionalMonitoringTimes }, additionalMonitoringTime.codec()),
		opt(IENumberOfReports, optional, func(t *T) *Optional[uint16] { return &p(t).NumberOfReports }, u16[uint16]()),
		note(IEApplicationID, changing, noted), // Exempted Application ID for Quota Action
		note(IESDFFilter, changing, noted),     // Exempted SDF Filter for Quota Action
		opt(IEUserPlaneInactivityTimer, conditional, func(t *T) *Optional[uint32] { return &p(t).UserPlaneInactivityS }, seconds),
	}
}

// CreateURR is a Create URR. Source: TS 29.244 V18.6.0, table 7.5.2.4-1.
type CreateURR struct {
	URRID             uint32
	MeasurementMethod MeasurementMethod
	ReportingTriggers ReportingTriggers
	URRParameters
}

var createURR = newContainer(container[CreateURR]{
	name: "Create URR", clause: "7.5.2.4",
	reset: func(p *CreateURR) {
		p.URRParameters.reset()
		*p = CreateURR{URRParameters: p.URRParameters}
	},
	members: append([]member[CreateURR]{
		one(IEURRID, func(p *CreateURR) *uint32 { return &p.URRID }, u32[uint32]()),
		one(IEMeasurementMethod, func(p *CreateURR) *MeasurementMethod { return &p.MeasurementMethod }, u8[MeasurementMethod]()),
		one(IEReportingTriggers, func(p *CreateURR) *ReportingTriggers { return &p.ReportingTriggers }, reportingTriggers),
	}, urrMembers(optional, func(p *CreateURR) *URRParameters { return &p.URRParameters })...),
})

// UpdateURR is an Update URR: what is absent stays as it is.
// Source: TS 29.244 V18.6.0, table 7.5.4.4-1.
type UpdateURR struct {
	URRID             uint32
	MeasurementMethod Optional[MeasurementMethod]
	ReportingTriggers Optional[ReportingTriggers]
	URRParameters
	Removed []IEType // IEs of null length: what they had said holds no more
}

var updateURR = newContainer(container[UpdateURR]{
	name: "Update URR", clause: "7.5.4.4",
	reset: func(p *UpdateURR) {
		p.URRParameters.reset()
		*p = UpdateURR{URRParameters: p.URRParameters, Removed: p.Removed[:0]}
	},
	removed: func(p *UpdateURR) *[]IEType { return &p.Removed },
	members: append([]member[UpdateURR]{
		one(IEURRID, func(p *UpdateURR) *uint32 { return &p.URRID }, u32[uint32]()),
		opt(IEMeasurementMethod, conditional,
			func(p *UpdateURR) *Optional[MeasurementMethod] { return &p.MeasurementMethod }, u8[MeasurementMethod]()),
		opt(IEReportingTriggers, conditional,
			func(p *UpdateURR) *Optional[ReportingTriggers] { return &p.ReportingTriggers }, reportingTriggers),
	}, urrMembers(conditional, func(p *UpdateURR) *URRParameters { return &p.URRParameters })...),
})

// AdditionalMonitoringTime is a further Monitoring Time of a URR and what takes
// over then. Source: TS 29.244 V18.6.0, table 7.5.2.4-3.
type AdditionalMonitoringTime struct {
	MonitoringTime            TimeStamp
	SubsequentVolumeThreshold Optional[Volume]
	SubsequentTimeThresholdS  Optional[uint32] // seconds
	SubsequentVolumeQuota     Optional[Volume]
	SubsequentTimeQuotaS      Optional[uint32] // seconds
	EventThreshold            Optional[uint32]
	EventQuota                Optional[uint32]
}

var additionalMonitoringTime = newContainer(container[AdditionalMonitoringTime]{
	name: "Additional Monitoring Time", clause: "7.5.2.4", reset: zero[AdditionalMonitoringTime],
	members: []member[AdditionalMonitoringTime]{
		one(IEMonitoringTime, func(p *AdditionalMonitoringTime) *TimeStamp { return &p.MonitoringTime }, u32[TimeStamp]()),
		opt(IESubsequentVolumeThreshold, optional,
			func(p *AdditionalMonitoringTime) *Optional[Volume] { return &p.SubsequentVolumeThreshold }, volume),
		opt(IESubsequentTimeThreshold, optional,
			func(p *AdditionalMonitoringTime) *Optional[uint32] { return &p.SubsequentTimeThresholdS }, u32[uint32]()),
		opt(IESubsequentVolumeQuota, optional,
			func(p *AdditionalMonitoringTime) *Optional[Volume] { return &p.SubsequentVolumeQuota }, volume),
		opt(IESubsequentTimeQuota, optional,
			func(p *AdditionalMonitoringTime) *Optional[uint32] { return &p.SubsequentTimeQuotaS }, u32[uint32]()),
		opt(IEEventThreshold, optional, func(p *AdditionalMonitoringTime) *Optional[uint32] { return &p.EventThreshold }, u32[uint32]()),
		opt(IEEventQuota, optional, func(p *AdditionalMonitoringTime) *Optional[uint32] { return &p.EventQuota }, u32[uint32]()),
	},
})
