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
	CreateURRs []CreateURR
	CreateQERs []CreateQER
	CreateBARs []BAR
	CreateTEPs []TrafficEndpoint
	CreateMARs []uint16 // MAR IDs
	UpdatePDRs []UpdatePDR
	UpdateFARs []UpdateFAR
	UpdateURRs []UpdateURR
	UpdateQERs []UpdateQER
	UpdateBARs []BAR
	UpdateTEPs []TrafficEndpoint
	UpdateMARs []uint16 // MAR IDs
	SMReqFlags SMReqFlags
	QueryURRs  []uint32 // URR IDs
	FQCSIDs    []FQCSID // one of each node type at most

	QueryURRReference Optional[uint32] // goes into the Usage Reports that answer Query URR
	NodeID            Optional[NodeID] // of another SMF of the set, which takes the session over
	InactivityTimerS  Optional[uint32] // User Plane Inactivity Timer, seconds
	SNSSAI            Optional[SNSSAI]
	RATType           Optional[RATType]
	GroupID           []byte   // Group Id; empty: absent
	Removed           []IEType // IEs of null length: what they had said holds no more
	Noted             IEType   // the first IE that changes the session's meaning but is not decoded; 0: none
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
		QueryURRs:  m.QueryURRs[:0], FQCSIDs: m.FQCSIDs[:0], Removed: m.Removed[:0],
	}
}

func (m *SessionModificationRequest) noted() *IEType { return &m.Noted }

var sessionModificationRequest = newContainer(container[SessionModificationRequest]{
	name: "Session Modification Request", clause: "7.5.4.1", reset: (*SessionModificationRequest).reset,
	removed: func(m *SessionModificationRequest) *[]IEType { return &m.Removed },
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
		some(IECreateURR, conditional, MaxRules, func(m *SessionModificationRequest) *[]CreateURR { return &m.CreateURRs }, createURR.codec()),
		some(IECreateQER, conditional, MaxRules, func(m *SessionModificationRequest) *[]CreateQER { return &m.CreateQERs }, createQER.codec()),
		some(IECreateBAR, optional, MaxRuleRefs, func(m *SessionModificationRequest) *[]BAR { return &m.CreateBARs }, createBAR.codec()),
		some(IECreateTrafficEndpoint, conditional, MaxRules, func(m *SessionModificationRequest) *[]TrafficEndpoint { return &m.CreateTEPs }, createTEP.codec()),
		some(IEUpdatePDR, conditional, MaxRules, func(m *SessionModificationRequest) *[]UpdatePDR { return &m.UpdatePDRs }, updatePDR.codec()),
		some(IEUpdateFAR, conditional, MaxRules, func(m *SessionModificationRequest) *[]UpdateFAR { return &m.UpdateFARs }, updateFAR.codec()),
		some(IEUpdateURR, conditional, MaxRules, func(m *SessionModificationRequest) *[]UpdateURR { return &m.UpdateURRs }, updateURR.codec()),
		some(IEUpdateQER, conditional, MaxRules, func(m *SessionModificationRequest) *[]UpdateQER { return &m.UpdateQERs }, updateQER.codec()),
		some(IEUpdateBAR, conditional, MaxRuleRefs, func(m *SessionModificationRequest) *[]BAR { return &m.UpdateBARs }, updateBAR.codec()),
		some(IEUpdateTrafficEndpoint, conditional, MaxRules, func(m *SessionModificationRequest) *[]TrafficEndpoint { return &m.UpdateTEPs }, updateTEP.codec()),
		flags(IEPFCPSMReqFlags, conditional, func(m *SessionModificationRequest) *SMReqFlags { return &m.SMReqFlags }),
		some(IEQueryURR, conditional, MaxRules, func(m *SessionModificationRequest) *[]uint32 { return &m.QueryURRs }, queryURR.codec()),
		some(IEFQCSID, conditional, MaxFQCSIDs, func(m *SessionModificationRequest) *[]FQCSID { return &m.FQCSIDs }, fqCSID),
		opt(IEUserPlaneInactivityTimer, conditional, func(m *SessionModificationRequest) *Optional[uint32] { return &m.InactivityTimerS }, u32[uint32]()),
		opt(IEQueryURRReference, optional, func(m *SessionModificationRequest) *Optional[uint32] { return &m.QueryURRReference }, u32[uint32]()),
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
		opt(IERATType, optional, func(m *SessionModificationRequest) *Optional[RATType] { return &m.RATType }, u8[RATType]()),
		octets(IEGroupID, conditional, func(m *SessionModificationRequest) *[]byte { return &m.GroupID }),
		note(IEMBSSessionN4ControlInformation, conditional, (*SessionModificationRequest).noted),
		note(IEDSCPToPPIControlInformation, conditional, (*SessionModificationRequest).noted),
		note(IETLContainer, conditional, (*SessionModificationRequest).noted),
		skip[SessionModificationRequest](IEHPLMNSNSSAI, conditional),
		skip[SessionModificationRequest](IEAPNDNN, conditional),
		skip[SessionModificationRequest](IEURI, optional),
		skip[SessionModificationRequest](IEUELevelMeasurementsConfiguration, optional),
		skip[SessionModificationRequest](IEAlternativeSMFIPAddress, optional),
	},
})

// SessionModificationResponse is a Session Modification Response.
// Source: TS 29.244 V18.6.0, table 7.5.5.1-1.
type SessionModificationResponse struct {
	Cause                  Cause
	OffendingIE            Optional[IEType]
	CreatedPDRs            []CreatedPDR
	LoadControl            Optional[LoadControl]
	OverloadControl        Optional[OverloadControl]
	UsageReports           []UsageReport
	FailedRuleID           Optional[FailedRuleID]
	AdditionalUsageReports Optional[AdditionalUsageReports]
	CreatedTEPs            []CreatedTrafficEndpoint // also those whose F-TEID or address an update has changed
	UpdatedPDRs            []CreatedPDR
}

func (m *SessionModificationResponse) reset() {
	*m = SessionModificationResponse{
		CreatedPDRs: m.CreatedPDRs[:0], UsageReports: m.UsageReports[:0], CreatedTEPs: m.CreatedTEPs[:0], UpdatedPDRs: m.UpdatedPDRs[:0],
	}
}

var sessionModificationResponse = newContainer(container[SessionModificationResponse]{
	name: "Session Modification Response", clause: "7.5.5.1", reset: (*SessionModificationResponse).reset,
	members: []member[SessionModificationResponse]{
		one(IECause, func(m *SessionModificationResponse) *Cause { return &m.Cause }, cause),
		opt(IEOffendingIE, conditional, func(m *SessionModificationResponse) *Optional[IEType] { return &m.OffendingIE }, u16[IEType]()),
		some(IECreatedPDR, conditional, MaxRules, func(m *SessionModificationResponse) *[]CreatedPDR { return &m.CreatedPDRs }, createdPDR.codec()),
		opt(IELoadControlInformation, optional, func(m *SessionModificationResponse) *Optional[LoadControl] { return &m.LoadControl }, loadControl.codec()),
		opt(IEOverloadControlInformation, optional, func(m *SessionModificationResponse) *Optional[OverloadControl] { return &m.OverloadControl }, overloadControl.codec()),
		some(IEUsageReportModification, conditional, MaxUsageReports, func(m *SessionModificationResponse) *[]UsageReport { return &m.UsageReports }, usageReportModification.codec()),
		opt(IEFailedRuleID, conditional, func(m *SessionModificationResponse) *Optional[FailedRuleID] { return &m.FailedRuleID }, failedRuleID),
		opt(IEAdditionalUsageReportsInformation, conditional, func(m *SessionModificationResponse) *Optional[AdditionalUsageReports] {
			return &m.AdditionalUsageReports
		}, additionalUsageReports),
		some(IECreatedTrafficEndpoint, conditional, MaxRules, func(m *SessionModificationResponse) *[]CreatedTrafficEndpoint { return &m.CreatedTEPs }, createdTEP.codec()),
		skip[SessionModificationResponse](IEATSSSControlParameters, conditional),
		some(IEUpdatedPDR, conditional, MaxRules, func(m *SessionModificationResponse) *[]CreatedPDR { return &m.UpdatedPDRs }, updatedPDR.codec()),
		skip[SessionModificationResponse](IETSCManagementModification, conditional),
		skip[SessionModificationResponse](IEPacketRateStatusReportModification, conditional),
		skip[SessionModificationResponse](IEPartialFailureInformation, conditional),
		skip[SessionModificationResponse](IEMBSSessionN4Information, conditional),
		skip[SessionModificationResponse](IETLContainer, conditional),
	},
})
