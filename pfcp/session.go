package pfcp

// SessionEstablishmentRequest is a Session Establishment Request. Its header
// has SEID 0, as the UP function's SEID is not known yet; some CP functions
// put another number there. Source: TS 29.244 V18.6.0, table 7.5.2.1-1.
type SessionEstablishmentRequest struct {
	NodeID     NodeID
	CPFSEID    FSEID
	CreatePDRs []CreatePDR
	CreateFARs []CreateFAR
	CreateURRs []uint32 // URR IDs
	CreateQERs []CreateQER
	CreateBARs []uint8  // BAR IDs
	CreateTEPs []uint8  // Traffic Endpoint IDs
	CreateMARs []uint16 // MAR IDs
	PDNType    Optional[PDNType]
	UserID     []byte // empty: absent
	APNDNN     Name   // empty: absent
	SNSSAI     Optional[SNSSAI]

	InactivityTimerS  Optional[uint32] // User Plane Inactivity Timer, seconds
	RecoveryTimeStamp Optional[TimeStamp]
	Noted             IEType // the first IE that changes the session's meaning but is not decoded; 0: none
}

func (m *SessionEstablishmentRequest) reset() {
	*m = SessionEstablishmentRequest{
		CreatePDRs: m.CreatePDRs[:0], CreateFARs: m.CreateFARs[:0], CreateURRs: m.CreateURRs[:0],
		CreateQERs: m.CreateQERs[:0], CreateBARs: m.CreateBARs[:0], CreateTEPs: m.CreateTEPs[:0],
		CreateMARs: m.CreateMARs[:0],
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
		some(IECreateURR, conditional, MaxRules, func(m *SessionEstablishmentRequest) *[]uint32 { return &m.CreateURRs }, createURR.codec()),
		some(IECreateQER, conditional, MaxRules, func(m *SessionEstablishmentRequest) *[]CreateQER { return &m.CreateQERs }, createQER.codec()),
		some(IECreateBAR, optional, MaxRuleRefs, func(m *SessionEstablishmentRequest) *[]uint8 { return &m.CreateBARs }, createBAR.codec()),
		some(IECreateTrafficEndpoint, conditional, MaxRules, func(m *SessionEstablishmentRequest) *[]uint8 { return &m.CreateTEPs }, createTEP.codec()),
		opt(IEPDNType, conditional, func(m *SessionEstablishmentRequest) *Optional[PDNType] { return &m.PDNType }, low[PDNType](0x7)),
		skip[SessionEstablishmentRequest](IEFQCSID, conditional),
		opt(IEUserPlaneInactivityTimer, optional, func(m *SessionEstablishmentRequest) *Optional[uint32] { return &m.InactivityTimerS }, u32[uint32]()),
		octets(IEUserID, optional, func(m *SessionEstablishmentRequest) *[]byte { return &m.UserID }),
		skip[SessionEstablishmentRequest](IETraceInformation, optional),
		octets(IEAPNDNN, optional, func(m *SessionEstablishmentRequest) *Name { return &m.APNDNN }),
		some(IECreateMAR, conditional, MaxRules, func(m *SessionEstablishmentRequest) *[]uint16 { return &m.CreateMARs }, createMAR.codec()),
		skip[SessionEstablishmentRequest](IEPFCPSEReqFlags, conditional),
		note(IECreateBridgeInfoForTSC, conditional, (*SessionEstablishmentRequest).noted),
		note(IECreateSRR, optional, (*SessionEstablishmentRequest).noted),
		note(IEProvideATSSSControlInformation, conditional, (*SessionEstablishmentRequest).noted),
		opt(IERecoveryTimeStamp, optional, func(m *SessionEstablishmentRequest) *Optional[TimeStamp] { return &m.RecoveryTimeStamp }, u32[TimeStamp]()),
		opt(IESNSSAI, optional, func(m *SessionEstablishmentRequest) *Optional[SNSSAI] { return &m.SNSSAI }, snssai),
		skip[SessionEstablishmentRequest](IEProvideRDSConfiguration, optional),
		skip[SessionEstablishmentRequest](IERATType, optional),
		note(IEL2TPTunnelInformation, conditional, (*SessionEstablishmentRequest).noted),
		note(IEL2TPSessionInformation, conditional, (*SessionEstablishmentRequest).noted),
		skip[SessionEstablishmentRequest](IEGroupID, optional),
	},
})

// SessionEstablishmentResponse is a Session Establishment Response.
// Source: TS 29.244 V18.6.0, table 7.5.3.1-1.
type SessionEstablishmentResponse struct {
	NodeID       NodeID
	Cause        Cause
	OffendingIE  Optional[IEType]
	UPFSEID      Optional[FSEID]
	CreatedPDRs  []CreatedPDR
	FailedRuleID Optional[FailedRuleID]
}

func (m *SessionEstablishmentResponse) reset() {
	*m = SessionEstablishmentResponse{CreatedPDRs: m.CreatedPDRs[:0]}
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
		one(IENodeID, func(m *SessionEstablishmentResponse) *NodeID { return &m.NodeID }, nodeID),
		one(IECause, func(m *SessionEstablishmentResponse) *Cause { return &m.Cause }, cause),
		opt(IEOffendingIE, conditional, func(m *SessionEstablishmentResponse) *Optional[IEType] { return &m.OffendingIE }, u16[IEType]()),
		opt(IEFSEID, conditional, func(m *SessionEstablishmentResponse) *Optional[FSEID] { return &m.UPFSEID }, fseid),
		some(IECreatedPDR, conditional, MaxRules, func(m *SessionEstablishmentResponse) *[]CreatedPDR { return &m.CreatedPDRs }, createdPDR.codec()),
		skip[SessionEstablishmentResponse](IELoadControlInformation, optional),
		skip[SessionEstablishmentResponse](IEOverloadControlInformation, optional),
		skip[SessionEstablishmentResponse](IEFQCSID, conditional),
		opt(IEFailedRuleID, conditional, func(m *SessionEstablishmentResponse) *Optional[FailedRuleID] { return &m.FailedRuleID }, failedRuleID),
		skip[SessionEstablishmentResponse](IECreatedTrafficEndpoint, conditional),
		skip[SessionEstablishmentResponse](IECreatedBridgeInfoForTSC, conditional),
		skip[SessionEstablishmentResponse](IEATSSSControlParameters, conditional),
		skip[SessionEstablishmentResponse](IERDSConfigurationInformation, optional),
		skip[SessionEstablishmentResponse](IEPartialFailureEstablishment, conditional),
	},
})

// SessionDeletionRequest is a Session Deletion Request.
// Source: TS 29.244 V18.6.0, 7.5.6.
type SessionDeletionRequest struct{}

var sessionDeletionRequest = newContainer(container[SessionDeletionRequest]{
	name: "Session Deletion Request", clause: "7.5.6",
	reset: func(*SessionDeletionRequest) {},
})

// SessionDeletionResponse is a Session Deletion Response.
// Source: TS 29.244 V18.6.0, table 7.5.7.1-1.
type SessionDeletionResponse struct {
	Cause       Cause
	OffendingIE Optional[IEType]
}

var sessionDeletionResponse = newContainer(container[SessionDeletionResponse]{
	name: "Session Deletion Response", clause: "7.5.7",
	reset: func(m *SessionDeletionResponse) { *m = SessionDeletionResponse{} },
	members: []member[SessionDeletionResponse]{
		one(IECause, func(m *SessionDeletionResponse) *Cause { return &m.Cause }, cause),
		opt(IEOffendingIE, conditional, func(m *SessionDeletionResponse) *Optional[IEType] { return &m.OffendingIE }, u16[IEType]()),
		skip[SessionDeletionResponse](IELoadControlInformation, optional),
		skip[SessionDeletionResponse](IEOverloadControlInformation, optional),
		skip[SessionDeletionResponse](IEUsageReportDeletion, conditional),
		skip[SessionDeletionResponse](IEAdditionalUsageReports, conditional),
		skip[SessionDeletionResponse](IEPacketRateStatusReport, conditional),
		skip[SessionDeletionResponse](IESessionReport, conditional),
	},
})
