package pfcp

// SessionEstablishmentRequest is a Session Establishment Request. Its header
// has SEID 0, as the UP function's SEID is not known yet; some CP functions
// put another number there. Source: TS 29.244 V18.6.0, table 7.5.2.1-1.
type SessionEstablishmentRequest struct {
	NodeID     NodeID
	CPFSEID    FSEID
	CreatePDRs []CreatePDR
	CreateFARs []CreateFAR
	CreateURRs []CreateURR
	CreateQERs []CreateQER
	CreateBARs []BAR
	CreateTEPs []TrafficEndpoint
	CreateMARs []uint16 // MAR IDs
	PDNType    Optional[PDNType]
	FQCSIDs    []FQCSID // one of each node type at most
	UserID     []byte   // empty: absent
	APNDNN     Name     // empty: absent
	SEReqFlags SEReqFlags
	SNSSAI     Optional[SNSSAI]
	RATType    Optional[RATType]
	GroupID    []byte // Group Id; empty: absent

	InactivityTimerS  Optional[uint32] // User Plane Inactivity Timer, seconds
	RecoveryTimeStamp Optional[TimeStamp]
	Noted             IEType // the first IE that changes the session's meaning but is not decoded; 0: none
}

func (m *SessionEstablishmentRequest) reset() {
	*m = SessionEstablishmentRequest{
		CreatePDRs: m.CreatePDRs[:0], CreateFARs: m.CreateFARs[:0], CreateURRs: m.CreateURRs[:0],
		CreateQERs: m.CreateQERs[:0], CreateBARs: m.CreateBARs[:0], CreateTEPs: m.CreateTEPs[:0],
		CreateMARs: m.CreateMARs[:0], FQCSIDs: m.FQCSIDs[:0],
	}
}

func (m *SessionEstablishmentRequest) noted() *IEType { return &m.Noted }

var sessionEstablishmentRequest = newContainer(container[SessionEstablishmentRequest]{
	name: "Session Establishment Request", clause: "7.5.2.1", reset: (*SessionEstablishmentRequest).reset,
	members: []member[SessionEstablishmentRequest]{
		one(IENodeID, func(m *SessionEstablishmentRequest) *NodeID { return &m.NodeID }, nodeID),
		one(IEFSEID, func(m *SessionEstablishmentRequest) *FSEID { return &m.CPFSEID }, fseid),
		some(IECreatePDR, mandatory, MaxRules, func(m *SessionEstablishmentRequest) *[]CreatePDR { return &m.CreatePDRs }, createPDR.codec()),
		some(IECreateFAR, mandatory, MaxRules, func(m *SessionEstablishmentRequest) *[]CreateFAR { return &m.CreateFARs }, createFAR.codec()),
		some(IECreateURR, conditional, MaxRules, func(m *SessionEstablishmentRequest) *[]CreateURR { return &m.CreateURRs }, createURR.codec()),
		some(IECreateQER, conditional, MaxRules, func(m *SessionEstablishmentRequest) *[]CreateQER { return &m.CreateQERs }, createQER.codec()),
		some(IECreateBAR, optional, MaxRuleRefs, func(m *SessionEstablishmentRequest) *[]BAR { return &m.CreateBARs }, createBAR.codec()),
		some(IECreateTrafficEndpoint, conditional, MaxRules, func(m *SessionEstablishmentRequest) *[]TrafficEndpoint { return &m.CreateTEPs }, createTEP.codec()),
		opt(IEPDNType, conditional, func(m *SessionEstablishmentRequest) *Optional[PDNType] { return &m.PDNType }, low[PDNType](0x7)),
		some(IEFQCSID, conditional, MaxFQCSIDs, func(m *SessionEstablishmentRequest) *[]FQCSID { return &m.FQCSIDs }, fqCSID),
		opt(IEUserPlaneInactivityTimer, optional, func(m *SessionEstablishmentRequest) *Optional[uint32] { return &m.InactivityTimerS }, u32[uint32]()),
		octets(IEUserID, optional, func(m *SessionEstablishmentRequest) *[]byte { return &m.UserID }),
		skip[SessionEstablishmentRequest](IETraceInformation, optional),
		octets(IEAPNDNN, optional, func(m *SessionEstablishmentRequest) *Name { return &m.APNDNN }),
		some(IECreateMAR, conditional, MaxRules, func(m *SessionEstablishmentRequest) *[]uint16 { return &m.CreateMARs }, createMAR.codec()),
		flags(IEPFCPSEReqFlags, conditional, func(m *SessionEstablishmentRequest) *SEReqFlags { return &m.SEReqFlags }),
		note(IECreateBridgeInfoForTSC, conditional, (*SessionEstablishmentRequest).noted),
		note(IECreateSRR, optional, (*SessionEstablishmentRequest).noted),
		note(IEProvideATSSSControlInformation, conditional, (*SessionEstablishmentRequest).noted),
		opt(IERecoveryTimeStamp, optional, func(m *SessionEstablishmentRequest) *Optional[TimeStamp] { return &m.RecoveryTimeStamp }, u32[TimeStamp]()),
		opt(IESNSSAI, optional, func(m *SessionEstablishmentRequest) *Optional[SNSSAI] { return &m.SNSSAI }, snssai),
		skip[SessionEstablishmentRequest](IEProvideRDSConfiguration, optional),
		opt(IERATType, optional, func(m *SessionEstablishmentRequest) *Optional[RATType] { return &m.RATType }, u8[RATType]()),
		note(IEL2TPTunnelInformation, conditional, (*SessionEstablishmentRequest).noted),
		note(IEL2TPSessionInformation, conditional, (*SessionEstablishmentRequest).noted),
		octets(IEGroupID, optional, func(m *SessionEstablishmentRequest) *[]byte { return &m.GroupID }),
		note(IEMBSSessionN4mbControlInformation, conditional, (*SessionEstablishmentRequest).noted),
		note(IEMBSSessionN4ControlInformation, conditional, (*SessionEstablishmentRequest).noted),
		note(IEDSCPToPPIControlInformation, optional, (*SessionEstablishmentRequest).noted),
		note(IETLContainer, conditional, (*SessionEstablishmentRequest).noted),
		skip[SessionEstablishmentRequest](IEHPLMNSNSSAI, conditional),
		skip[SessionEstablishmentRequest](IEURI, optional),
		skip[SessionEstablishmentRequest](IEUELevelMeasurementsConfiguration, optional),
		skip[SessionEstablishmentRequest](IEAlternativeSMFIPAddress, optional),
	},
})

// SessionEstablishmentResponse is a Session Establishment Response. A rejection may come
// without a Node ID, which is mandatory: UPFs leave it out, and the Cause is what counts.
// Source: TS 29.244 V18.6.0, table 7.5.3.1-1.
type SessionEstablishmentResponse struct {
	NodeID          NodeID
	Cause           Cause
	OffendingIE     Optional[IEType]
	UPFSEID         Optional[FSEID]
	CreatedPDRs     []CreatedPDR
	LoadControl     Optional[LoadControl]
	OverloadControl Optional[OverloadControl]
	FQCSIDs         []FQCSID // of the UP function
	FailedRuleID    Optional[FailedRuleID]
	CreatedTEPs     []CreatedTrafficEndpoint
}

func (m *SessionEstablishmentResponse) reset() {
	*m = SessionEstablishmentResponse{CreatedPDRs: m.CreatedPDRs[:0], FQCSIDs: m.FQCSIDs[:0], CreatedTEPs: m.CreatedTEPs[:0]}
}

// rejected reports whether there is a Cause, and it is no acceptance.
func (m *SessionEstablishmentResponse) rejected() bool { return m.Cause != 0 && !m.Cause.Accepted() }

// unlessRejected is the Node ID, which need not be there in a rejection.
func unlessRejected(m member[SessionEstablishmentResponse]) member[SessionEstablishmentResponse] {
	write := m.write
	m.write = func(b []byte, src *SessionEstablishmentResponse) []byte {
		if id := &src.NodeID; src.rejected() && !id.Addr.IsValid() && len(id.FQDN) == 0 {
			return b
		}
		return write(b, src)
	}
	return exempt(m, (*SessionEstablishmentResponse).rejected)
}

// check says that an accepted session has an F-SEID.
func (m *SessionEstablishmentResponse) check() error {
	if m.Cause == CauseRequestAccepted && !m.UPFSEID.Present {
		return fail("Session Establishment Response", IEFSEID, ErrConditional)
	}
	return nil
}

var sessionEstablishmentResponse = newContainer(container[SessionEstablishmentResponse]{
	name: "Session Establishment Response", clause: "7.5.3.1",
	reset: (*SessionEstablishmentResponse).reset, check: (*SessionEstablishmentResponse).check,
	members: []member[SessionEstablishmentResponse]{
		unlessRejected(one(IENodeID, func(m *SessionEstablishmentResponse) *NodeID { return &m.NodeID }, nodeID)),
		one(IECause, func(m *SessionEstablishmentResponse) *Cause { return &m.Cause }, cause),
		opt(IEOffendingIE, conditional, func(m *SessionEstablishmentResponse) *Optional[IEType] { return &m.OffendingIE }, u16[IEType]()),
		opt(IEFSEID, conditional, func(m *SessionEstablishmentResponse) *Optional[FSEID] { return &m.UPFSEID }, fseid),
		some(IECreatedPDR, conditional, MaxRules, func(m *SessionEstablishmentResponse) *[]CreatedPDR { return &m.CreatedPDRs }, createdPDR.codec()),
		opt(IELoadControlInformation, optional, func(m *SessionEstablishmentResponse) *Optional[LoadControl] { return &m.LoadControl }, loadControl.codec()),
		opt(IEOverloadControlInformation, optional, func(m *SessionEstablishmentResponse) *Optional[OverloadControl] { return &m.OverloadControl }, overloadControl.codec()),
		some(IEFQCSID, conditional, MaxFQCSIDs, func(m *SessionEstablishmentResponse) *[]FQCSID { return &m.FQCSIDs }, fqCSID),
		opt(IEFailedRuleID, conditional, func(m *SessionEstablishmentResponse) *Optional[FailedRuleID] { return &m.FailedRuleID }, failedRuleID),
		some(IECreatedTrafficEndpoint, conditional, MaxRules, func(m *SessionEstablishmentResponse) *[]CreatedTrafficEndpoint { return &m.CreatedTEPs }, createdTEP.codec()),
		skip[SessionEstablishmentResponse](IECreatedBridgeInfoForTSC, conditional),
		skip[SessionEstablishmentResponse](IEATSSSControlParameters, conditional),
		skip[SessionEstablishmentResponse](IERDSConfigurationInformation, optional),
		skip[SessionEstablishmentResponse](IEPartialFailureInformation, conditional),
		skip[SessionEstablishmentResponse](IECreatedL2TPSession, optional),
		skip[SessionEstablishmentResponse](IEMBSSessionN4mbInformation, conditional),
		skip[SessionEstablishmentResponse](IEMBSSessionN4Information, conditional),
		skip[SessionEstablishmentResponse](IETLContainer, conditional),
	},
})

// SessionDeletionRequest is a Session Deletion Request.
// Source: TS 29.244 V18.6.0, 7.5.6.
type SessionDeletionRequest struct {
	NodeID  Optional[NodeID] // with CPFSEID: of the SMF of the set that deletes the session
	CPFSEID Optional[FSEID]
}

var sessionDeletionRequest = newContainer(container[SessionDeletionRequest]{
	name: "Session Deletion Request", clause: "7.5.6",
	reset: zero[SessionDeletionRequest],
	members: []member[SessionDeletionRequest]{
		skip[SessionDeletionRequest](IETLContainer, conditional),
		opt(IENodeID, conditional, func(m *SessionDeletionRequest) *Optional[NodeID] { return &m.NodeID }, nodeID),
		opt(IEFSEID, conditional, func(m *SessionDeletionRequest) *Optional[FSEID] { return &m.CPFSEID }, fseid),
	},
})

// SessionDeletionResponse is a Session Deletion Response.
// Source: TS 29.244 V18.6.0, table 7.5.7.1-1.
type SessionDeletionResponse struct {
	Cause                  Cause
	OffendingIE            Optional[IEType]
	LoadControl            Optional[LoadControl]
	OverloadControl        Optional[OverloadControl]
	UsageReports           []UsageReport
	AdditionalUsageReports Optional[AdditionalUsageReports]
	SDRspFlags             SDRspFlags
}

var sessionDeletionResponse = newContainer(container[SessionDeletionResponse]{
	name: "Session Deletion Response", clause: "7.5.7",
	reset: func(m *SessionDeletionResponse) { *m = SessionDeletionResponse{UsageReports: m.UsageReports[:0]} },
	members: []member[SessionDeletionResponse]{
		one(IECause, func(m *SessionDeletionResponse) *Cause { return &m.Cause }, cause),
		opt(IEOffendingIE, conditional, func(m *SessionDeletionResponse) *Optional[IEType] { return &m.OffendingIE }, u16[IEType]()),
		opt(IELoadControlInformation, optional, func(m *SessionDeletionResponse) *Optional[LoadControl] { return &m.LoadControl }, loadControl.codec()),
		opt(IEOverloadControlInformation, optional, func(m *SessionDeletionResponse) *Optional[OverloadControl] { return &m.OverloadControl }, overloadControl.codec()),
		some(IEUsageReportDeletion, conditional, MaxUsageReports, func(m *SessionDeletionResponse) *[]UsageReport { return &m.UsageReports }, usageReportDeletion.codec()),
		opt(IEAdditionalUsageReportsInformation, conditional, func(m *SessionDeletionResponse) *Optional[AdditionalUsageReports] { return &m.AdditionalUsageReports }, additionalUsageReports),
		skip[SessionDeletionResponse](IEPacketRateStatusReport, conditional),
		skip[SessionDeletionResponse](IEMBSSessionN4Information, conditional),
		flags(IEPFCPSDRspFlags, conditional, func(m *SessionDeletionResponse) *SDRspFlags { return &m.SDRspFlags }),
		skip[SessionDeletionResponse](IETLContainer, conditional),
		skip[SessionDeletionResponse](IESessionReport, conditional),
	},
})
