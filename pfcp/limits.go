package pfcp

// How many of each a message may have. More are refused with [ErrTooMany], so
// that the memory a datagram can claim is bounded.
const (
	MaxRules      = 256 // of each kind and operation in one message
	MaxSDFFilters = 16  // in one PDI
	MaxAddresses  = 8   // UE IP Addresses in one PDI, Local F-TEIDs in one Created PDR
	MaxRuleRefs   = 16  // URR IDs, QER IDs in one PDR; BAR, Traffic Endpoint IDs
	MaxOpaque     = 8   // of opaque IEs that may be repeated
)
