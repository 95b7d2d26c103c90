package pfcp

// AssociationSetupRequest is an Association Setup Request.
// Source: TS 29.244 V18.6.0, table 7.4.4.1-1.
type AssociationSetupRequest struct {
	NodeID                  NodeID
	RecoveryTimeStamp       TimeStamp
	UPFunctionFeatures      Optional[UPFunctionFeatures]
	CPFunctionFeatures      Optional[CPFunctionFeatures]
	UserPlaneIPResourceInfo []UserPlaneIPResource // of Rel-15
	Alternatives            []CPAddress           // Alternative SMF IP Addresses
	SMFSetID                Name                  // empty: absent

	// SessionRetention is PFCP Session Retention Information: the sessions whose CP
	// F-SEID has one of the addresses, or all if there are none, are to be kept when
	// the association is set up again.
	SessionRetention Optional[SessionRetention]
	UEIPAddressPools []UEIPAddressPool
	UPFInstanceID    []byte // NF Instance ID, 16 octets; empty: absent
	ASReqFlags       ASReqFlags
}

func (m *AssociationSetupRequest) reset() {
	*m = AssociationSetupRequest{
		UserPlaneIPResourceInfo: m.UserPlaneIPResourceInfo[:0], Alternatives: m.Alternatives[:0],
		SessionRetention: Optional[SessionRetention]{Value: SessionRetention{CPEntities: m.SessionRetention.Value.CPEntities[:0]}},
		UEIPAddressPools: m.UEIPAddressPools[:0],
	}
}

var associationSetupRequest = newContainer(container[AssociationSetupRequest]{
	name: "Association Setup Request", clause: "7.4.4.1", reset: (*AssociationSetupRequest).reset,
	members: []member[AssociationSetupRequest]{
		one(IENodeID, func(m *AssociationSetupRequest) *NodeID { return &m.NodeID }, nodeID),
		one(IERecoveryTimeStamp, func(m *AssociationSetupRequest) *TimeStamp { return &m.RecoveryTimeStamp }, u32[TimeStamp]()),
		opt(IEUPFunctionFeatures, conditional, func(m *AssociationSetupRequest) *Optional[UPFunctionFeatures] { return &m.UPFunctionFeatures }, upFunctionFeatures),
		opt(IECPFunctionFeatures, conditional, func(m *AssociationSetupRequest) *Optional[CPFunctionFeatures] { return &m.CPFunctionFeatures }, cpFunctionFeatures),
		some(IEUserPlaneIPResourceInformation, optional, MaxOpaque, func(m *AssociationSetupRequest) *[]UserPlaneIPResource { return &m.UserPlaneIPResourceInfo }, userPlaneIPResource),
		some(IEAlternativeSMFIPAddress, optional, MaxPeers, func(m *AssociationSetupRequest) *[]CPAddress { return &m.Alternatives }, cpAddress),
		smfSetID(conditional, func(m *AssociationSetupRequest) *Name { return &m.SMFSetID }),
		opt(IEPFCPSessionRetentionInformation, optional,
			func(m *AssociationSetupRequest) *Optional[SessionRetention] { return &m.SessionRetention }, sessionRetention.codec()),
		some(IEUEIPAddressPoolInformation, optional, MaxRuleRefs, func(m *AssociationSetupRequest) *[]UEIPAddressPool { return &m.UEIPAddressPools }, ueIPAddressPool.codec()),
		skip[AssociationSetupRequest](IEGTPUPathQoSControlInformation, conditional),
		skip[AssociationSetupRequest](IEClockDriftControlInformation, conditional),
		octets(IENFInstanceID, optional, func(m *AssociationSetupRequest) *[]byte { return &m.UPFInstanceID }),
		flags(IEPFCPASReqFlags, optional, func(m *AssociationSetupRequest) *ASReqFlags { return &m.ASReqFlags }),
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
	UserPlaneIPResourceInfo []UserPlaneIPResource // of Rel-15
	Alternatives            []CPAddress           // Alternative SMF IP Addresses
	SMFSetID                Name                  // empty: absent
	ASRspFlags              ASRspFlags
	UEIPAddressPools        []UEIPAddressPool
	UPFInstanceID           []byte // NF Instance ID, 16 octets; empty: absent
}

func (m *AssociationSetupResponse) reset() {
	*m = AssociationSetupResponse{
		UserPlaneIPResourceInfo: m.UserPlaneIPResourceInfo[:0], Alternatives: m.Alternatives[:0],
		UEIPAddressPools: m.UEIPAddressPools[:0],
	}
}

var associationSetupResponse = newContainer(container[AssociationSetupResponse]{
	name: "Association Setup Response", clause: "7.4.4.2", reset: (*AssociationSetupResponse).reset,
	members: []member[AssociationSetupResponse]{
		one(IENodeID, func(m *AssociationSetupResponse) *NodeID { return &m.NodeID }, nodeID),
		one(IECause, func(m *AssociationSetupResponse) *Cause { return &m.Cause }, cause),
		one(IERecoveryTimeStamp, func(m *AssociationSetupResponse) *TimeStamp { return &m.RecoveryTimeStamp }, u32[TimeStamp]()),
		opt(IEUPFunctionFeatures, conditional, func(m *AssociationSetupResponse) *Optional[UPFunctionFeatures] { return &m.UPFunctionFeatures }, upFunctionFeatures),
		opt(IECPFunctionFeatures, conditional, func(m *AssociationSetupResponse) *Optional[CPFunctionFeatures] { return &m.CPFunctionFeatures }, cpFunctionFeatures),
		some(IEUserPlaneIPResourceInformation, optional, MaxOpaque, func(m *AssociationSetupResponse) *[]UserPlaneIPResource { return &m.UserPlaneIPResourceInfo }, userPlaneIPResource),
		some(IEAlternativeSMFIPAddress, optional, MaxPeers, func(m *AssociationSetupResponse) *[]CPAddress { return &m.Alternatives }, cpAddress),
		smfSetID(conditional, func(m *AssociationSetupResponse) *Name { return &m.SMFSetID }),
		flags(IEPFCPASRspFlags, optional, func(m *AssociationSetupResponse) *ASRspFlags { return &m.ASRspFlags }),
		skip[AssociationSetupResponse](IEClockDriftControlInformation, conditional),
		some(IEUEIPAddressPoolInformation, optional, MaxRuleRefs, func(m *AssociationSetupResponse) *[]UEIPAddressPool { return &m.UEIPAddressPools }, ueIPAddressPool.codec()),
		skip[AssociationSetupResponse](IEGTPUPathQoSControlInformation, conditional),
		octets(IENFInstanceID, optional, func(m *AssociationSetupResponse) *[]byte { return &m.UPFInstanceID }),
	},
})

// AssociationUpdateRequest is an Association Update Request.
// Source: TS 29.244 V18.6.0, table 7.4.4.3-1.
type AssociationUpdateRequest struct {
	NodeID                  NodeID
	UPFunctionFeatures      Optional[UPFunctionFeatures]
	CPFunctionFeatures      Optional[CPFunctionFeatures]
	AssociationRelease      AssociationRelease // PFCP Association Release Request; 0: absent
	GracefulReleasePeriod   Optional[Timer]
	UserPlaneIPResourceInfo []UserPlaneIPResource // of Rel-15
	AUReqFlags              AUReqFlags
	Alternatives            []CPAddress // Alternative SMF IP Addresses
	SMFSetID                Name        // empty: absent
	UEIPAddressPools        []UEIPAddressPool
	UEIPAddressUsage        []UEIPAddressUsage
}

func (m *AssociationUpdateRequest) reset() {
	*m = AssociationUpdateRequest{
		UserPlaneIPResourceInfo: m.UserPlaneIPResourceInfo[:0], Alternatives: m.Alternatives[:0],
		UEIPAddressPools: m.UEIPAddressPools[:0], UEIPAddressUsage: m.UEIPAddressUsage[:0],
	}
}

var associationUpdateRequest = newContainer(container[AssociationUpdateRequest]{
	name: "Association Update Request", clause: "7.4.4.3", reset: (*AssociationUpdateRequest).reset,
	members: []member[AssociationUpdateRequest]{
		one(IENodeID, func(m *AssociationUpdateRequest) *NodeID { return &m.NodeID }, nodeID),
		opt(IEUPFunctionFeatures, optional, func(m *AssociationUpdateRequest) *Optional[UPFunctionFeatures] { return &m.UPFunctionFeatures }, upFunctionFeatures),
		opt(IECPFunctionFeatures, optional, func(m *AssociationUpdateRequest) *Optional[CPFunctionFeatures] { return &m.CPFunctionFeatures }, cpFunctionFeatures),
		flags(IEPFCPAssociationReleaseRequest, conditional, func(m *AssociationUpdateRequest) *AssociationRelease { return &m.AssociationRelease }),
		opt(IEGracefulReleasePeriod, conditional, func(m *AssociationUpdateRequest) *Optional[Timer] { return &m.GracefulReleasePeriod }, u8[Timer]()),
		some(IEUserPlaneIPResourceInformation, optional, MaxOpaque, func(m *AssociationUpdateRequest) *[]UserPlaneIPResource { return &m.UserPlaneIPResourceInfo }, userPlaneIPResource),
		flags(IEPFCPAUReqFlags, optional, func(m *AssociationUpdateRequest) *AUReqFlags { return &m.AUReqFlags }),
		some(IEAlternativeSMFIPAddress, optional, MaxPeers, func(m *AssociationUpdateRequest) *[]CPAddress { return &m.Alternatives }, cpAddress),
		smfSetID(optional, func(m *AssociationUpdateRequest) *Name { return &m.SMFSetID }),
		skip[AssociationUpdateRequest](IEClockDriftControlInformation, conditional),
		some(IEUEIPAddressPoolInformation, optional, MaxRuleRefs, func(m *AssociationUpdateRequest) *[]UEIPAddressPool { return &m.UEIPAddressPools }, ueIPAddressPool.codec()),
		skip[AssociationUpdateRequest](IEGTPUPathQoSControlInformation, conditional),
		some(IEUEIPAddressUsageInformation, optional, MaxRuleRefs,
			func(m *AssociationUpdateRequest) *[]UEIPAddressUsage { return &m.UEIPAddressUsage }, ueIPAddressUsage.codec()),
	},
})

// AssociationUpdateResponse is an Association Update Response.
// Source: TS 29.244 V18.6.0, table 7.4.4.4-1.
type AssociationUpdateResponse struct {
	NodeID             NodeID
	Cause              Cause
	UPFunctionFeatures Optional[UPFunctionFeatures]
	CPFunctionFeatures Optional[CPFunctionFeatures]
	UEIPAddressUsage   []UEIPAddressUsage
}

var associationUpdateResponse = newContainer(container[AssociationUpdateResponse]{
	name: "Association Update Response", clause: "7.4.4.4",
	reset: func(m *AssociationUpdateResponse) {
		*m = AssociationUpdateResponse{UEIPAddressUsage: m.UEIPAddressUsage[:0]}
	},
	members: []member[AssociationUpdateResponse]{
		one(IENodeID, func(m *AssociationUpdateResponse) *NodeID { return &m.NodeID }, nodeID),
		one(IECause, func(m *AssociationUpdateResponse) *Cause { return &m.Cause }, cause),
		opt(IEUPFunctionFeatures, optional, func(m *AssociationUpdateResponse) *Optional[UPFunctionFeatures] { return &m.UPFunctionFeatures }, upFunctionFeatures),
		opt(IECPFunctionFeatures, optional, func(m *AssociationUpdateResponse) *Optional[CPFunctionFeatures] { return &m.CPFunctionFeatures }, cpFunctionFeatures),
		some(IEUEIPAddressUsageInformation, optional, MaxRuleRefs,
			func(m *AssociationUpdateResponse) *[]UEIPAddressUsage { return &m.UEIPAddressUsage }, ueIPAddressUsage.codec()),
	},
})

// AssociationReleaseRequest is an Association Release Request.
// Source: TS 29.244 V18.6.0, table 7.4.4.5-1.
type AssociationReleaseRequest struct {
	NodeID NodeID
}

var associationReleaseRequest = newContainer(container[AssociationReleaseRequest]{
	name: "Association Release Request", clause: "7.4.4.5",
	reset: zero[AssociationReleaseRequest],
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
	reset: zero[AssociationReleaseResponse],
	members: []member[AssociationReleaseResponse]{
		one(IENodeID, func(m *AssociationReleaseResponse) *NodeID { return &m.NodeID }, nodeID),
		one(IECause, func(m *AssociationReleaseResponse) *Cause { return &m.Cause }, cause),
	},
})
