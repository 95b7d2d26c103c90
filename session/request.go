package session

// Establishment is a PFCP Session Establishment Request. The manager copies
// what it keeps, so the memory may be used again afterwards.
// Source: TS 29.244 V18.6.0, 7.5.2.
type Establishment struct {
	Owner uint32 // whose the session will be
	CP    FSEID

	CreatePDRs []CreatePDR
	CreateFARs []FAR
	CreateQERs []QER

	Unsupported []Unsupported
}

// Modification is a PFCP Session Modification Request. Rules are removed
// first, then updated, then created: TS 29.244 gives no order, and in this one
// a request may replace a rule by another of the same ID.
// Source: TS 29.244 V18.6.0, 7.5.4.
type Modification struct {
	SEID  uint64 // of the UP function's F-SEID
	Owner uint32 // who asks; not the session's owner: no such session
	CP    *FSEID // if the CP function changes its F-SEID

	RemovePDRs []uint16
	RemoveFARs []uint32
	RemoveQERs []uint32
	UpdatePDRs []UpdatePDR
	UpdateFARs []UpdateFAR
	UpdateQERs []UpdateQER
	CreatePDRs []CreatePDR
	CreateFARs []FAR
	CreateQERs []QER

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
}
