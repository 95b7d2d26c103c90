package pfcp

// CreateQER is a Create QER. Source: TS 29.244 V18.6.0, table 7.5.2.5-1.
type CreateQER struct {
	QERID                 uint32
	QERCorrelationID      Optional[uint32]
	GateStatus            GateStatus
	MBR                   Optional[BitRates]
	GBR                   Optional[BitRates]
	PacketRate            Optional[PacketRate]
	DLFlowLevelMarking    Optional[DLFlowLevelMarking]
	QFI                   Optional[QFI]
	RQI                   Optional[bool]
	PagingPolicyIndicator Optional[uint8]  // 0 to 7
	AveragingWindowMs     Optional[uint32] // milliseconds
	Noted                 IEType           // the first IE that changes the rule's meaning but is not done; 0: none
}

func (p *CreateQER) noted() *IEType { return &p.Noted }

var createQER = newContainer(container[CreateQER]{
	name: "Create QER", clause: "7.5.2.5",
	reset: zero[CreateQER],
	members: []member[CreateQER]{
		one(IEQERID, func(p *CreateQER) *uint32 { return &p.QERID }, u32[uint32]()),
		opt(IEQERCorrelationID, conditional, func(p *CreateQER) *Optional[uint32] { return &p.QERCorrelationID }, u32[uint32]()),
		one(IEGateStatus, func(p *CreateQER) *GateStatus { return &p.GateStatus }, gateStatus),
		opt(IEMBR, conditional, func(p *CreateQER) *Optional[BitRates] { return &p.MBR }, bitRates),
		opt(IEGBR, conditional, func(p *CreateQER) *Optional[BitRates] { return &p.GBR }, bitRates),
		opt(IEPacketRate, conditional, func(p *CreateQER) *Optional[PacketRate] { return &p.PacketRate }, packetRate),
		note(IEPacketRateStatus, conditional, (*CreateQER).noted),
		opt(IEDLFlowLevelMarking, conditional,
			func(p *CreateQER) *Optional[DLFlowLevelMarking] { return &p.DLFlowLevelMarking }, dlFlowLevelMarking),
		opt(IEQFI, conditional, func(p *CreateQER) *Optional[QFI] { return &p.QFI }, low(maskQFI)),
		opt(IERQI, conditional, func(p *CreateQER) *Optional[bool] { return &p.RQI }, lowBit),
		opt(IEPagingPolicyIndicator, conditional, func(p *CreateQER) *Optional[uint8] { return &p.PagingPolicyIndicator }, low[uint8](0x7)),
		opt(IEAveragingWindow, optional, func(p *CreateQER) *Optional[uint32] { return &p.AveragingWindowMs }, u32[uint32]()),
		note(IEQERControlIndications, conditional, (*CreateQER).noted),
		note(IEQERIndications, conditional, (*CreateQER).noted),
	},
})

// UpdateQER is an Update QER: what is absent stays as it is.
// Source: TS 29.244 V18.6.0, table 7.5.4.5-1.
type UpdateQER struct {
	QERID                 uint32
	QERCorrelationID      Optional[uint32]
	GateStatus            Optional[GateStatus]
	MBR                   Optional[BitRates]
	GBR                   Optional[BitRates]
	PacketRate            Optional[PacketRate]
	DLFlowLevelMarking    Optional[DLFlowLevelMarking]
	QFI                   Optional[QFI]
	RQI                   Optional[bool]
	PagingPolicyIndicator Optional[uint8]  // 0 to 7
	AveragingWindowMs     Optional[uint32] // milliseconds
	Noted                 IEType           // the first IE that changes the rule's meaning but is not done; 0: none
	Removed               []IEType         // IEs of null length: what they had said holds no more
}

func (p *UpdateQER) noted() *IEType { return &p.Noted }

var updateQER = newContainer(container[UpdateQER]{
	name: "Update QER", clause: "7.5.4.5",
	reset:   func(p *UpdateQER) { *p = UpdateQER{Removed: p.Removed[:0]} },
	removed: func(p *UpdateQER) *[]IEType { return &p.Removed },
	members: []member[UpdateQER]{
		one(IEQERID, func(p *UpdateQER) *uint32 { return &p.QERID }, u32[uint32]()),
		opt(IEQERCorrelationID, conditional, func(p *UpdateQER) *Optional[uint32] { return &p.QERCorrelationID }, u32[uint32]()),
		opt(IEGateStatus, conditional, func(p *UpdateQER) *Optional[GateStatus] { return &p.GateStatus }, gateStatus),
		opt(IEMBR, conditional, func(p *UpdateQER) *Optional[BitRates] { return &p.MBR }, bitRates),
		opt(IEGBR, conditional, func(p *UpdateQER) *Optional[BitRates] { return &p.GBR }, bitRates),
		opt(IEPacketRate, conditional, func(p *UpdateQER) *Optional[PacketRate] { return &p.PacketRate }, packetRate),
		opt(IEDLFlowLevelMarking, conditional,
			func(p *UpdateQER) *Optional[DLFlowLevelMarking] { return &p.DLFlowLevelMarking }, dlFlowLevelMarking),
		opt(IEQFI, conditional, func(p *UpdateQER) *Optional[QFI] { return &p.QFI }, low(maskQFI)),
		opt(IERQI, conditional, func(p *UpdateQER) *Optional[bool] { return &p.RQI }, lowBit),
		opt(IEPagingPolicyIndicator, conditional, func(p *UpdateQER) *Optional[uint8] { return &p.PagingPolicyIndicator }, low[uint8](0x7)),
		opt(IEAveragingWindow, optional, func(p *UpdateQER) *Optional[uint32] { return &p.AveragingWindowMs }, u32[uint32]()),
		note(IEQERControlIndications, conditional, (*UpdateQER).noted),
		note(IEQERIndications, conditional, (*UpdateQER).noted),
	},
})

// lowBit is a flag in bit 1 of an octet: RQI, SARR.
// Source: TS 29.244 V18.6.0, 8.2.77 and 8.2.88.
var lowBit = codec[bool]{
	func(v *bool, b []byte) error { *v = b[0]&1 != 0; return nil },
	func(b []byte, v *bool) []byte { return append(b, bit(*v, 1)) },
}
