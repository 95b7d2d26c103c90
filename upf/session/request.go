package session

// Establishment is a PFCP Session Establishment Request. The manager copies
// what it keeps, so the memory may be used again afterwards.
// Source: TS 29.244 V18.6.0, 7.5.2.
type Establishment struct {
	Owner uint32 // whose the session will be
	CP    FSEID

	PDNType         PDNType
	SNSSAI          Optional[SNSSAI]
	DNN             string
	InactivityTimer uint32 // seconds; 0: none
	CSIDs           []FQCSID

	CreatePDRs      []PDR
	CreateFARs      []FAR
	CreateQERs      []QER
	CreateURRs      []URR
	CreateBARs      []BAR
	CreateEndpoints []TrafficEndpoint

	Unsupported []Unsupported
}

// Modification is a PFCP Session Modification Request. Rules are removed
// first, then updated, then created: TS 29.244 gives no order, and in this one
// a request may replace a rule by another of the same ID.
// Source: TS 29.244 V18.6.0, 7.5.4.
type Modification struct {
	SEID     uint64 // of the UP function's F-SEID
	Owner    uint32 // who asks; not the session's owner: no such session
	NewOwner uint32 // whose it is to be (Node ID of another CP function); 0: as it was
	CP       Optional[FSEID]

	InactivityTimer Optional[uint32] // seconds; 0: none any more
	SNSSAI          Optional[SNSSAI]
	// DropCSIDs has bit n set if sets made by nodes of type n are no longer those
	// of the session; CSIDs are further ones.
	DropCSIDs uint16
	CSIDs     []FQCSID

	RemovePDRs      []uint16
	RemoveFARs      []uint32
	RemoveQERs      []uint32
	RemoveURRs      []uint32
	RemoveBARs      []uint8
	RemoveEndpoints []uint8
	UpdatePDRs      []UpdatePDR
	UpdateFARs      []UpdateFAR
	UpdateQERs      []UpdateQER
	UpdateURRs      []UpdateURR
	UpdateBARs      []UpdateBAR
	UpdateEndpoints []UpdateTrafficEndpoint
	CreatePDRs      []PDR
	CreateFARs      []FAR
	CreateQERs      []QER
	CreateURRs      []URR
	CreateBARs      []BAR
	CreateEndpoints []TrafficEndpoint

	QueryURRs      []uint32
	QueryAll       bool // QAURR
	SendEndMarkers bool // SNDEM of the whole request
	DropBuffered   bool // DROBU

	Unsupported []Unsupported
}

// Unsupported is an IE of a request that asks for what this model has no field
// for. A request with one is refused: what is accepted is done.
type Unsupported struct {
	HasRule bool // it belongs to a rule, else to the request itself
	Rule    RuleType
	RuleID  uint32
	IE      uint16 // IE type, TS 29.244 table 8.1.2-1
	What    string // in words, for the log
	Err     error  // why; nil: ErrUnsupported
}
