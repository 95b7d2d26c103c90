package pfcp

// HeartbeatRequest is a Heartbeat Request.
// Source: TS 29.244 V18.6.0, table 7.4.2.1-1.
type HeartbeatRequest struct {
	RecoveryTimeStamp TimeStamp
}

var heartbeatRequest = newContainer(container[HeartbeatRequest]{
	name: "Heartbeat Request", clause: "7.4.2.1",
	reset: func(m *HeartbeatRequest) { *m = HeartbeatRequest{} },
	members: []member[HeartbeatRequest]{
		one(IERecoveryTimeStamp, func(m *HeartbeatRequest) *TimeStamp { return &m.RecoveryTimeStamp }, u32[TimeStamp]()),
		skip[HeartbeatRequest](IESourceIPAddress, optional),
	},
})

// HeartbeatResponse is a Heartbeat Response.
// Source: TS 29.244 V18.6.0, table 7.4.2.2-1.
type HeartbeatResponse struct {
	RecoveryTimeStamp TimeStamp
}

var heartbeatResponse = newContainer(container[HeartbeatResponse]{
	name: "Heartbeat Response", clause: "7.4.2.2",
	reset: func(m *HeartbeatResponse) { *m = HeartbeatResponse{} },
	members: []member[HeartbeatResponse]{
		one(IERecoveryTimeStamp, func(m *HeartbeatResponse) *TimeStamp { return &m.RecoveryTimeStamp }, u32[TimeStamp]()),
	},
})

// Opaque is an IE kept as it stands.
type Opaque []byte

// opaque is the codec of an IE of which there may be several, each kept as it
// stands.
var opaque = codec[Opaque]{
	func(v *Opaque, b []byte) error { *v = b; return nil },
	func(b []byte, v *Opaque) []byte { return append(b, *v...) },
}

// AssociationSetupRequest is an Association Setup Request.
// Source: TS 29.244 V18.6.0, table 7.4.4.1-1.
type AssociationSetupRequest struct {
	NodeID                  NodeID
	RecoveryTimeStamp       TimeStamp
	UPFunctionFeatures      Optional[UPFunctionFeatures]
	CPFunctionFeatures      Optional[CPFunctionFeatures]
	UserPlaneIPResourceInfo []Opaque // of Rel-15
}

func (m *AssociationSetupRequest) reset() {
	*m = AssociationSetupRequest{UserPlaneIPResourceInfo: m.UserPlaneIPResourceInfo[:0]}
}

var associationSetupRequest = newContainer(container[AssociationSetupRequest]{
	name: "Association Setup Request", clause: "7.4.4.1", reset: (*AssociationSetupRequest).reset,
	members: []member[AssociationSetupRequest]{
		one(IENodeID, func(m *AssociationSetupRequest) *NodeID { return &m.NodeID }, nodeID),
		one(IERecoveryTimeStamp, func(m *AssociationSetupRequest) *TimeStamp { return &m.RecoveryTimeStamp }, u32[TimeStamp]()),
		opt(IEUPFunctionFeatures, conditional, func(m *AssociationSetupRequest) *Optional[UPFunctionFeatures] { return &m.UPFunctionFeatures }, upFunctionFeatures),
		opt(IECPFunctionFeatures, conditional, func(m *AssociationSetupRequest) *Optional[CPFunctionFeatures] { return &m.CPFunctionFeatures }, cpFunctionFeatures),
		some(IEUserPlaneIPResourceInformation, optional, MaxOpaque, func(m *AssociationSetupRequest) *[]Opaque { return &m.UserPlaneIPResourceInfo }, opaque),
		skip[AssociationSetupRequest](IEAlternativeSMFIPAddress, optional),
		skip[AssociationSetupRequest](IESMFSetID, conditional),
		skip[AssociationSetupRequest](IEPFCPSessionRetentionInformation, optional),
		skip[AssociationSetupRequest](IEUEIPAddressPoolInformation, optional),
		skip[AssociationSetupRequest](IEGTPUPathQoSControlInformation, conditional),
		skip[AssociationSetupRequest](IEClockDriftControlInformation, conditional),
		skip[AssociationSetupRequest](IENFInstanceID, optional),
		skip[AssociationSetupRequest](IEPFCPASReqFlags, optional),
	},
})

// AssociationSetupResponse is an Association Setup Response.
// Source: TS 29.244 V18.6.0, table 7.4.4.2-1.
type AssociationSetupResponse struct {
	NodeID                  NodeID
	Cause                   Cause
	RecoveryTimeStamp       TimeStamp
	UPFunctionFeatures      Optional[UPFunctionFeatures]
	CPFunctionFeatures      Optional[CPFunctionFeatures]
	UserPlaneIPResourceInfo []Opaque // of Rel-15
}

func (m *AssociationSetupResponse) reset() {
	*m = AssociationSetupResponse{UserPlaneIPResourceInfo: m.UserPlaneIPResourceInfo[:0]}
}

var associationSetupResponse = newContainer(container[AssociationSetupResponse]{
	name: "Association Setup Response", clause: "7.4.4.2", reset: (*AssociationSetupResponse).reset,
	members: []member[AssociationSetupResponse]{
		one(IENodeID, func(m *AssociationSetupResponse) *NodeID { return &m.NodeID }, nodeID),
		one(IECause, func(m *AssociationSetupResponse) *Cause { return &m.Cause }, cause),
		one(IERecoveryTimeStamp, func(m *AssociationSetupResponse) *TimeStamp { return &m.RecoveryTimeStamp }, u32[TimeStamp]()),
		opt(IEUPFunctionFeatures, conditional, func(m *AssociationSetupResponse) *Optional[UPFunctionFeatures] { return &m.UPFunctionFeatures }, upFunctionFeatures),
		opt(IECPFunctionFeatures, conditional, func(m *AssociationSetupResponse) *Optional[CPFunctionFeatures] { return &m.CPFunctionFeatures }, cpFunctionFeatures),
		some(IEUserPlaneIPResourceInformation, optional, MaxOpaque, func(m *AssociationSetupResponse) *[]Opaque { return &m.UserPlaneIPResourceInfo }, opaque),
		skip[AssociationSetupResponse](IEAlternativeSMFIPAddress, optional),
		skip[AssociationSetupResponse](IESMFSetID, conditional),
		skip[AssociationSetupResponse](IEPFCPASRspFlags, optional),
		skip[AssociationSetupResponse](IEClockDriftControlInformation, conditional),
		skip[AssociationSetupResponse](IEUEIPAddressPoolInformation, optional),
		skip[AssociationSetupResponse](IEGTPUPathQoSControlInformation, conditional),
		skip[AssociationSetupResponse](IENFInstanceID, optional),
	},
})

// AssociationUpdateRequest is an Association Update Request.
// Source: TS 29.244 V18.6.0, table 7.4.4.3-1.
type AssociationUpdateRequest struct {
	NodeID                  NodeID
	UPFunctionFeatures      Optional[UPFunctionFeatures]
	CPFunctionFeatures      Optional[CPFunctionFeatures]
	AssociationRelease      Optional[bool]  // PFCP Association Release Request: SARR
	GracefulReleasePeriod   Optional[uint8] // unit (3 bits) and value (5 bits) of the IE Timer
	UserPlaneIPResourceInfo []Opaque        // of Rel-15
}

func (m *AssociationUpdateRequest) reset() {
	*m = AssociationUpdateRequest{UserPlaneIPResourceInfo: m.UserPlaneIPResourceInfo[:0]}
}

var associationUpdateRequest = newContainer(container[AssociationUpdateRequest]{
	name: "Association Update Request", clause: "7.4.4.3", reset: (*AssociationUpdateRequest).reset,
	members: []member[AssociationUpdateRequest]{
		one(IENodeID, func(m *AssociationUpdateRequest) *NodeID { return &m.NodeID }, nodeID),
		opt(IEUPFunctionFeatures, optional, func(m *AssociationUpdateRequest) *Optional[UPFunctionFeatures] { return &m.UPFunctionFeatures }, upFunctionFeatures),
		opt(IECPFunctionFeatures, optional, func(m *AssociationUpdateRequest) *Optional[CPFunctionFeatures] { return &m.CPFunctionFeatures }, cpFunctionFeatures),
		opt(IEPFCPAssociationReleaseRequest, conditional, func(m *AssociationUpdateRequest) *Optional[bool] { return &m.AssociationRelease }, lowBit),
		opt(IEGracefulReleasePeriod, conditional, func(m *AssociationUpdateRequest) *Optional[uint8] { return &m.GracefulReleasePeriod }, u8[uint8]()),
		some(IEUserPlaneIPResourceInformation, optional, MaxOpaque, func(m *AssociationUpdateRequest) *[]Opaque { return &m.UserPlaneIPResourceInfo }, opaque),
		skip[AssociationUpdateRequest](IEPFCPAUReqFlags, optional),
		skip[AssociationUpdateRequest](IEAlternativeSMFIPAddress, optional),
		skip[AssociationUpdateRequest](IESMFSetID, optional),
		skip[AssociationUpdateRequest](IEClockDriftControlInformation, conditional),
		skip[AssociationUpdateRequest](IEUEIPAddressPoolInformation, optional),
		skip[AssociationUpdateRequest](IEGTPUPathQoSControlInformation, conditional),
		skip[AssociationUpdateRequest](IEUEIPAddressUsageInformation, optional),
	},
})

// AssociationUpdateResponse is an Association Update Response.
// Source: TS 29.244 V18.6.0, table 7.4.4.4-1.
type AssociationUpdateResponse struct {
	NodeID             NodeID
	Cause              Cause
	UPFunctionFeatures Optional[UPFunctionFeatures]
	CPFunctionFeatures Optional[CPFunctionFeatures]
}

var associationUpdateResponse = newContainer(container[AssociationUpdateResponse]{
	name: "Association Update Response", clause: "7.4.4.4",
	reset: func(m *AssociationUpdateResponse) { *m = AssociationUpdateResponse{} },
	members: []member[AssociationUpdateResponse]{
		one(IENodeID, func(m *AssociationUpdateResponse) *NodeID { return &m.NodeID }, nodeID),
		one(IECause, func(m *AssociationUpdateResponse) *Cause { return &m.Cause }, cause),
		opt(IEUPFunctionFeatures, optional, func(m *AssociationUpdateResponse) *Optional[UPFunctionFeatures] { return &m.UPFunctionFeatures }, upFunctionFeatures),
		opt(IECPFunctionFeatures, optional, func(m *AssociationUpdateResponse) *Optional[CPFunctionFeatures] { return &m.CPFunctionFeatures }, cpFunctionFeatures),
		skip[AssociationUpdateResponse](IEUEIPAddressUsageInformation, conditional),
	},
})

// AssociationReleaseRequest is an Association Release Request.
// Source: TS 29.244 V18.6.0, table 7.4.4.5-1.
type AssociationReleaseRequest struct {
	NodeID NodeID
}

var associationReleaseRequest = newContainer(container[AssociationReleaseRequest]{
	name: "Association Release Request", clause: "7.4.4.5",
	reset: func(m *AssociationReleaseRequest) { *m = AssociationReleaseRequest{} },
	members: []member[AssociationReleaseRequest]{
		one(IENodeID, func(m *AssociationReleaseRequest) *NodeID { return &m.NodeID }, nodeID),
	},
})

// AssociationReleaseResponse is an Association Release Response.
// Source: TS 29.244 V18.6.0, table 7.4.4.6-1.
type AssociationReleaseResponse struct {
	NodeID NodeID
	Cause  Cause
}

var associationReleaseResponse = newContainer(container[AssociationReleaseResponse]{
	name: "Association Release Response", clause: "7.4.4.6",
	reset: func(m *AssociationReleaseResponse) { *m = AssociationReleaseResponse{} },
	members: []member[AssociationReleaseResponse]{
		one(IENodeID, func(m *AssociationReleaseResponse) *NodeID { return &m.NodeID }, nodeID),
		one(IECause, func(m *AssociationReleaseResponse) *Cause { return &m.Cause }, cause),
	},
})
