package pfcp

// SessionModificationRequest is a Session Modification Request.
// Source: TS 29.244 V18.6.0, table 7.5.4.1-1.
type SessionModificationRequest struct {
	CPFSEID    Optional[FSEID] // the CP function's new F-SEID
	RemovePDRs []uint16        // PDR IDs
	RemoveFARs []uint32        // FAR IDs
	RemoveURRs []uint32        // URR IDs
	RemoveQERs []uint32        // QER IDs
	RemoveBARs []uint8         // BAR IDs
	RemoveTEPs []uint8         // Traffic Endpoint IDs
	RemoveMARs []uint16        // MAR IDs
	CreatePDRs []CreatePDR
	CreateFARs []CreateFAR
	CreateURRs []uint32 // URR IDs
	CreateQERs []CreateQER
	CreateBARs []uint8  // BAR IDs
	CreateTEPs []uint8  // Traffic Endpoint IDs
	CreateMARs []uint16 // MAR IDs
	UpdatePDRs []UpdatePDR
	UpdateFARs []UpdateFAR
	UpdateURRs []uint32 // URR IDs
	UpdateQERs []UpdateQER
	UpdateBARs []uint8  // BAR IDs
	UpdateTEPs []uint8  // Traffic Endpoint IDs
	UpdateMARs []uint16 // MAR IDs
	SMReqFlags SMReqFlags
	QueryURRs  []uint32 // URR IDs

	NodeID           Optional[NodeID] // of another SMF of the set, which takes the session over
	InactivityTimerS Optional[uint32] // User Plane Inactivity Timer, seconds
	SNSSAI           Optional[SNSSAI]
	Noted            IEType // the first IE that changes the session's meaning but is not decoded; 0: none
}

func (m *SessionModificationRequest) reset() {
	*m = SessionModificationRequest{
		RemovePDRs: m.RemovePDRs[:0], RemoveFARs: m.RemoveFARs[:0], RemoveURRs: m.RemoveURRs[:0],
		RemoveQERs: m.RemoveQERs[:0], RemoveBARs: m.RemoveBARs[:0], RemoveTEPs: m.RemoveTEPs[:0],
		RemoveMARs: m.RemoveMARs[:0],
		CreatePDRs: m.CreatePDRs[:0], CreateFARs: m.CreateFARs[:0], CreateURRs: m.CreateURRs[:0],
		CreateQERs: m.CreateQERs[:0], CreateBARs: m.CreateBARs[:0], CreateTEPs: m.CreateTEPs[:0],
		CreateMARs: m.CreateMARs[:0],
		UpdatePDRs: m.UpdatePDRs[:0], UpdateFARs: m.UpdateFARs[:0], UpdateURRs: m.UpdateURRs[:0],
		UpdateQERs: m.UpdateQERs[:0], UpdateBARs: m.UpdateBARs[:0], UpdateTEPs: m.UpdateTEPs[:0],
		UpdateMARs: m.UpdateMARs[:0],
		QueryURRs:  m.QueryURRs[:0],
	}
}

func (m *SessionModificationRequest) noted() *IEType { return &m.Noted }

var sessionModificationRequest = newContainer(container[SessionModificationRequest]{
	name: "Session Modification Request", clause: "7.5.4.1", reset: (*SessionModificationRequest).reset,
	members: []member[SessionModificationRequest]{
		opt(IEFSEID, conditional, func(m *SessionModificationRequest) *Optional[FSEID] { return &m.CPFSEID }, fseid),
		some(IERemovePDR, conditional, MaxRules, func(m *SessionModificationRequest) *[]uint16 { return &m.RemovePDRs }, removePDR.codec()),
		some(IERemoveFAR, conditional, MaxRules, func(m *SessionModificationRequest) *[]uint32 { return &m.RemoveFARs }, removeFAR.codec()),
		some(IERemoveURR, conditional, MaxRules, func(m *SessionModificationRequest) *[]uint32 { return &m.RemoveURRs }, removeURR.codec()),
		some(IERemoveQER, conditional, MaxRules, func(m *SessionModificationRequest) *[]uint32 { return &m.RemoveQERs }, removeQER.codec()),
		some(IERemoveBAR, conditional, MaxRuleRefs, func(m *SessionModificationRequest) *[]uint8 { return &m.RemoveBARs }, removeBAR.codec()),
		some(IERemoveTrafficEndpoint, conditional, MaxRules, func(m *SessionModificationRequest) *[]uint8 { return &m.RemoveTEPs }, removeTEP.codec()),
		some(IECreatePDR, conditional, MaxRules, func(m *SessionModificationRequest) *[]CreatePDR { return &m.CreatePDRs }, createPDR.codec()),
		some(IECreateFAR, conditional, MaxRules, func(m *SessionModificationRequest) *[]CreateFAR { return &m.CreateFARs }, createFAR.codec()),
		some(IECreateURR, conditional, MaxRules, func(m *SessionModificationRequest) *[]uint32 { return &m.CreateURRs }, createURR.codec()),
		some(IECreateQER, conditional, MaxRules, func(m *SessionModificationRequest) *[]CreateQER { return &m.CreateQERs }, createQER.codec()),
		some(IECreateBAR, optional, MaxRuleRefs, func(m *SessionModificationRequest) *[]uint8 { return &m.CreateBARs }, createBAR.codec()),
		some(IECreateTrafficEndpoint, conditional, MaxRules, func(m *SessionModificationRequest) *[]uint8 { return &m.CreateTEPs }, createTEP.codec()),
		some(IEUpdatePDR, conditional, MaxRules, func(m *SessionModificationRequest) *[]UpdatePDR { return &m.UpdatePDRs }, updatePDR.codec()),
		some(IEUpdateFAR, conditional, MaxRules, func(m *SessionModificationRequest) *[]UpdateFAR { return &m.UpdateFARs }, updateFAR.codec()),
		some(IEUpdateURR, conditional, MaxRules, func(m *SessionModificationRequest) *[]uint32 { return &m.UpdateURRs }, updateURR.codec()),
		some(IEUpdateQER, conditional, MaxRules, func(m *SessionModificationRequest) *[]UpdateQER { return &m.UpdateQERs }, updateQER.codec()),
		some(IEUpdateBAR, conditional, MaxRuleRefs, func(m *SessionModificationRequest) *[]uint8 { return &m.UpdateBARs }, updateBAR.codec()),
		some(IEUpdateTrafficEndpoint, conditional, MaxRules, func(m *SessionModificationRequest) *[]uint8 { return &m.UpdateTEPs }, updateTEP.codec()),
		smReqFlags(func(m *SessionModificationRequest) *SMReqFlags { return &m.SMReqFlags }),
		some(IEQueryURR, conditional, MaxRules, func(m *SessionModificationRequest) *[]uint32 { return &m.QueryURRs }, queryURR.codec()),
		skip[SessionModificationRequest](IEFQCSID, conditional),
		opt(IEUserPlaneInactivityTimer, conditional, func(m *SessionModificationRequest) *Optional[uint32] { return &m.InactivityTimerS }, u32[uint32]()),
		skip[SessionModificationRequest](IEQueryURRReference, optional),
		skip[SessionModificationRequest](IETraceInformation, optional),
		some(IERemoveMAR, conditional, MaxRules, func(m *SessionModificationRequest) *[]uint16 { return &m.RemoveMARs }, removeMAR.codec()),
		some(IEUpdateMAR, conditional, MaxRules, func(m *SessionModificationRequest) *[]uint16 { return &m.UpdateMARs }, updateMAR.codec()),
		some(IECreateMAR, conditional, MaxRules, func(m *SessionModificationRequest) *[]uint16 { return &m.CreateMARs }, createMAR.codec()),
		opt(IENodeID, conditional, func(m *SessionModificationRequest) *Optional[NodeID] { return &m.NodeID }, nodeID),
		note(IETSCManagementInformation, conditional, (*SessionModificationRequest).noted),
		note(IERemoveSRR, conditional, (*SessionModificationRequest).noted),
		note(IECreateSRR, conditional, (*SessionModificationRequest).noted),
		note(IEUpdateSRR, conditional, (*SessionModificationRequest).noted),
		note(IEProvideATSSSControlInformation, conditional, (*SessionModificationRequest).noted),
		note(IEEthernetContextInformation, conditional, (*SessionModificationRequest).noted),
		skip[SessionModificationRequest](IEAccessAvailabilityInformation, optional),
		skip[SessionModificationRequest](IEQueryPacketRateStatus, conditional),
		opt(IESNSSAI, optional, func(m *SessionModificationRequest) *Optional[SNSSAI] { return &m.SNSSAI }, snssai),
		skip[SessionModificationRequest](IERATType, optional),
		skip[SessionModificationRequest](IEGroupID, optional),
	},
})

// SessionModificationResponse is a Session Modification Response.
// Source: TS 29.244 V18.6.0, table 7.5.5.1-1.
type SessionModificationResponse struct {
	Cause        Cause
	OffendingIE  Optional[IEType]
	CreatedPDRs  []CreatedPDR
	FailedRuleID Optional[FailedRuleID]
}

func (m *SessionModificationResponse) reset() {
	*m = SessionModificationResponse{CreatedPDRs: m.CreatedPDRs[:0]}
}

var sessionModificationResponse = newContainer(container[SessionModificationResponse]{
	name: "Session Modification Response", clause: "7.5.5.1", reset: (*SessionModificationResponse).reset,
	members: []member[SessionModificationResponse]{
		one(IECause, func(m *SessionModificationResponse) *Cause { return &m.Cause }, cause),
		opt(IEOffendingIE, conditional, func(m *SessionModificationResponse) *Optional[IEType] { return &m.OffendingIE }, u16[IEType]()),
		some(IECreatedPDR, conditional, MaxRules, func(m *SessionModificationResponse) *[]CreatedPDR { return &m.CreatedPDRs }, createdPDR.codec()),
		skip[SessionModificationResponse](IELoadControlInformation, optional),
		skip[SessionModificationResponse](IEOverloadControlInformation, optional),
		skip[SessionModificationResponse](IEUsageReportModification, conditional),
		opt(IEFailedRuleID, conditional, func(m *SessionModificationResponse) *Optional[FailedRuleID] { return &m.FailedRuleID }, failedRuleID),
		skip[SessionModificationResponse](IEAdditionalUsageReports, conditional),
		skip[SessionModificationResponse](IECreatedTrafficEndpoint, conditional),
		skip[SessionModificationResponse](IEATSSSControlParameters, conditional),
		skip[SessionModificationResponse](IEUpdatedPDR, conditional),
		skip[SessionModificationResponse](IEPartialFailureModification, conditional),
	},
})
