package pfcp

// SessionSetDeletionRequest is a Session Set Deletion Request. All sessions of
// the FQ-CSIDs are deleted. Source: TS 29.244 V18.6.0, table 7.4.6.1-1.
type SessionSetDeletionRequest struct {
	NodeID  NodeID
	FQCSIDs []FQCSID
}

var sessionSetDeletionRequest = newContainer(container[SessionSetDeletionRequest]{
	name: "Session Set Deletion Request", clause: "7.4.6.1",
	reset: func(m *SessionSetDeletionRequest) { *m = SessionSetDeletionRequest{FQCSIDs: m.FQCSIDs[:0]} },
	members: []member[SessionSetDeletionRequest]{
		one(IENodeID, func(m *SessionSetDeletionRequest) *NodeID { return &m.NodeID }, nodeID),
		some(IEFQCSID, conditional, MaxPeers, func(m *SessionSetDeletionRequest) *[]FQCSID { return &m.FQCSIDs }, fqCSID),
	},
})

// SessionSetDeletionResponse is a Session Set Deletion Response.
// Source: TS 29.244 V18.6.0, table 7.4.6.2-1.
type SessionSetDeletionResponse struct {
	NodeID      NodeID
	Cause       Cause
	OffendingIE Optional[IEType]
}

var sessionSetDeletionResponse = newContainer(container[SessionSetDeletionResponse]{
	name: "Session Set Deletion Response", clause: "7.4.6.2", reset: zero[SessionSetDeletionResponse],
	members: []member[SessionSetDeletionResponse]{
		one(IENodeID, func(m *SessionSetDeletionResponse) *NodeID { return &m.NodeID }, nodeID),
		one(IECause, func(m *SessionSetDeletionResponse) *Cause { return &m.Cause }, cause),
		opt(IEOffendingIE, conditional, func(m *SessionSetDeletionResponse) *Optional[IEType] { return &m.OffendingIE }, u16[IEType]()),
	},
})

// SessionSetModificationRequest is a Session Set Modification Request.
// Source: TS 29.244 V18.6.0, table 7.4.7.1-1.
type SessionSetModificationRequest struct {
	NodeID  NodeID
	Changes []SessionChangeInfo
}

var sessionSetModificationRequest = newContainer(container[SessionSetModificationRequest]{
	name: "Session Set Modification Request", clause: "7.4.7.1",
	reset: func(m *SessionSetModificationRequest) { *m = SessionSetModificationRequest{Changes: m.Changes[:0]} },
	members: []member[SessionSetModificationRequest]{
		one(IENodeID, func(m *SessionSetModificationRequest) *NodeID { return &m.NodeID }, nodeID),
		some(IEPFCPSessionChangeInfo, mandatory, MaxRuleRefs,
			func(m *SessionSetModificationRequest) *[]SessionChangeInfo { return &m.Changes }, sessionChangeInfo.codec()),
	},
})

// SessionChangeInfo is a PFCP Session Change Info: the sessions that match one
// of the three lists report to Alternative from now on.
// Source: TS 29.244 V18.6.0, table 7.4.7.1-2.
type SessionChangeInfo struct {
	FQCSIDs     []FQCSID    // of PGW-C/SMF
	GroupIDs    [][]byte    // Group Ids
	CPAddresses []CPAddress // CP IP Addresses: in the sessions' CP F-SEID
	Alternative CPAddress   // Alternative SMF/PGW-C IP Address
}

// reset drops the lists inside, of which there may be many in another message.
var sessionChangeInfo = newContainer(container[SessionChangeInfo]{
	name: "PFCP Session Change Info", clause: "7.4.7.1", reset: zero[SessionChangeInfo],
	members: []member[SessionChangeInfo]{
		some(IEFQCSID, conditional, MaxPeers, func(p *SessionChangeInfo) *[]FQCSID { return &p.FQCSIDs }, fqCSID),
		some(IEGroupID, conditional, MaxPeers, func(p *SessionChangeInfo) *[][]byte { return &p.GroupIDs }, view),
		some(IECPIPAddress, conditional, MaxPeers, func(p *SessionChangeInfo) *[]CPAddress { return &p.CPAddresses }, cpAddress),
		one(IEAlternativeSMFIPAddress, func(p *SessionChangeInfo) *CPAddress { return &p.Alternative }, cpAddress),
	},
})

// SessionSetModificationResponse is a Session Set Modification Response.
// Source: TS 29.244 V18.6.0, table 7.4.7.2-1.
type SessionSetModificationResponse struct {
	NodeID      NodeID
	Cause       Cause
	OffendingIE Optional[IEType]
}

var sessionSetModificationResponse = newContainer(container[SessionSetModificationResponse]{
	name: "Session Set Modification Response", clause: "7.4.7.2", reset: zero[SessionSetModificationResponse],
	members: []member[SessionSetModificationResponse]{
		one(IENodeID, func(m *SessionSetModificationResponse) *NodeID { return &m.NodeID }, nodeID),
		one(IECause, func(m *SessionSetModificationResponse) *Cause { return &m.Cause }, cause),
		opt(IEOffendingIE, conditional, func(m *SessionSetModificationResponse) *Optional[IEType] { return &m.OffendingIE }, u16[IEType]()),
	},
})
