package pfcp

// How many of each a message may have. More are refused with [ErrTooMany], so
// that the memory a datagram can claim is bounded.
const (
	MaxRules      = 256 // of each kind and operation in one message
	MaxSDFFilters = 16  // in one PDI
	MaxAddresses  = 8   // UE IP Addresses in one PDI, Local F-TEIDs in one Created PDR
	MaxRuleRefs   = 16  // URR IDs, QER IDs in one PDR; BAR, Traffic Endpoint IDs
	MaxOpaque     = 8   // of opaque IEs that may be repeated

	MaxMACAddresses    = 16  // MAC Addresses in one Ethernet Packet Filter
	MaxDuplicates      = 4   // Duplicating Parameters in one FAR
	MaxMonitoringTimes = 8   // Additional Monitoring Times in one URR
	MaxUsageReports    = 512 // in one message
	MaxFQCSIDs         = 8   // in one session message: one of each node type
	MaxPeers           = 256 // Remote GTP-U Peers, remote F-TEIDs, FQ-CSIDs, CP addresses in one IE or message
	MaxPFDs            = 256 // Application IDs in one message, PFD contexts of one, PFD contents of one
)
