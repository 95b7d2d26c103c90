package pfcp

// UsageReport is a Usage Report, of a Session Modification Response, a Session
// Deletion Response or a Session Report Request.
// Source: TS 29.244 V18.6.0, tables 7.5.5.2-1, 7.5.7.2-1 and 7.5.8.3-1.
type UsageReport struct {
	URRID              uint32
	URSEQN             uint32 // UR-SEQN: running number of the URR's reports, from 0
	Trigger            UsageReportTrigger
	StartTime, EndTime Optional[TimeStamp]
	Volume             Optional[VolumeMeasurement]
	DurationS          Optional[uint32] // Duration Measurement, seconds
	TimeOfFirstPacket  Optional[TimeStamp]
	TimeOfLastPacket   Optional[TimeStamp]
	UsageInformation   UsageInformation // 0: absent
	QueryURRReference  Optional[uint32] // not in a Session Deletion Response
	EthernetTraffic    Optional[EthernetTraffic]

	// In a Session Report Request only.
	UEIPAddress     Optional[UEIPAddress]
	NetworkInstance Name        // empty: absent
	EventTimeStamps []TimeStamp // of the measured events
}

func (p *UsageReport) reset() { *p = UsageReport{EventTimeStamps: p.EventTimeStamps[:0]} }

var (
	usageReportModification = newUsageReport("Usage Report (Session Modification Response)", "7.5.5.2",
		usageReportReference, usageReportEthernet)
	usageReportDeletion = newUsageReport("Usage Report (Session Deletion Response)", "7.5.7.2",
		usageReportEthernet)
	usageReportReport = newUsageReport("Usage Report (Session Report Request)", "7.5.8.3",
		usageReportReference,
		skip[UsageReport](IEApplicationDetectionInformation, conditional),
		opt(IEUEIPAddress, conditional, func(p *UsageReport) *Optional[UEIPAddress] { return &p.UEIPAddress }, ueIPAddress),
		octets(IENetworkInstance, conditional, func(p *UsageReport) *Name { return &p.NetworkInstance }),
		some(IETimeStamp, conditional, MaxRuleRefs, func(p *UsageReport) *[]TimeStamp { return &p.EventTimeStamps }, u32[TimeStamp]()),
		usageReportEthernet,
		skip[UsageReport](IEJoinIPMulticastInformation, conditional),
		skip[UsageReport](IELeaveIPMulticastInformation, conditional),
		skip[UsageReport](IEPredefinedRulesName, optional))
)

var usageReportReference = opt(IEQueryURRReference, conditional,
	func(p *UsageReport) *Optional[uint32] { return &p.QueryURRReference }, u32[uint32]())

var usageReportEthernet = opt(IEEthernetTrafficInformation, conditional,
	func(p *UsageReport) *Optional[EthernetTraffic] { return &p.EthernetTraffic }, ethernetTraffic.codec())

// newUsageReport describes a Usage Report: what all have, and more.
func newUsageReport(name, clause string, more ...member[UsageReport]) *container[UsageReport] {
	stamp := u32[TimeStamp]()
	return newContainer(container[UsageReport]{
		name: name, clause: clause, reset: (*UsageReport).reset,
		members: append([]member[UsageReport]{
			one(IEURRID, func(p *UsageReport) *uint32 { return &p.URRID }, u32[uint32]()),
			one(IEURSEQN, func(p *UsageReport) *uint32 { return &p.URSEQN }, u32[uint32]()),
			one(IEUsageReportTrigger, func(p *UsageReport) *UsageReportTrigger { return &p.Trigger }, usageReportTrigger),
			opt(IEStartTime, conditional, func(p *UsageReport) *Optional[TimeStamp] { return &p.StartTime }, stamp),
			opt(IEEndTime, conditional, func(p *UsageReport) *Optional[TimeStamp] { return &p.EndTime }, stamp),
			opt(IEVolumeMeasurement, conditional, func(p *UsageReport) *Optional[VolumeMeasurement] { return &p.Volume }, volumeMeasurement),
			opt(IEDurationMeasurement, conditional, func(p *UsageReport) *Optional[uint32] { return &p.DurationS }, u32[uint32]()),
			opt(IETimeOfFirstPacket, conditional, func(p *UsageReport) *Optional[TimeStamp] { return &p.TimeOfFirstPacket }, stamp),
			opt(IETimeOfLastPacket, conditional, func(p *UsageReport) *Optional[TimeStamp] { return &p.TimeOfLastPacket }, stamp),
			flags(IEUsageInformation, conditional, func(p *UsageReport) *UsageInformation { return &p.UsageInformation }),
		}, more...),
	})
}
