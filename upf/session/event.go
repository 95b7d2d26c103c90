package session

// Event is what a datapath tells of its own accord: a hint to look. It may come
// twice, and two of the same kind for the same rule may come as one.
type Event struct {
	Kind   EventKind
	SEID   uint64 // 0: not about a session
	RuleID uint32 // URR ID of UsageEvent and StartOfTraffic, else PDR ID
	Tunnel Tunnel // of ErrorIndication, PathDown and PathUp
	QFI    uint8  // of Downlink events; 0: none
	DSCP   uint8  // of Downlink events, of the packet
	// MACs are those of MACAddresses; nil of other events. What it points to is never
	// changed.
	MACs *MACChange
}

// MACChange is MAC addresses that a UE uses now, and uses no more.
type MACChange struct {
	Detected, Removed []MAC
}

// EventKind says what an [Event] is about.
type EventKind uint8

// Kinds of events.
const (
	// UsageEvent: a limit of a URR is reached.
	UsageEvent EventKind = iota + 1
	// StartOfTraffic: a packet has come for a URR, counted or not.
	StartOfTraffic
	// DownlinkData: a packet was buffered. Source: TS 29.244 V18.6.0, 5.2.4.1.
	DownlinkData
	// ErrorIndication: a peer does not know a tunnel. Source: TS 29.281, 7.3.1.
	ErrorIndication
	// PathDown: a GTP-U peer does not answer, PathUp: it does again.
	// Source: TS 29.244 V18.6.0, 7.4.5.1.
	PathDown
	PathUp
	// UserPlaneInactivity: a session's User Plane Inactivity Timer has run out.
	// It does not come from a datapath. Source: TS 29.244 V18.6.0, 5.11.
	UserPlaneInactivity
	// DownlinkBuffered: the first packet was buffered, DownlinkDiscarded: the first
	// one was discarded; for the downlink data delivery status.
	// Source: TS 29.244 V18.6.0, 8.2.26 (BDPN, DDPN).
	DownlinkBuffered
	DownlinkDiscarded
	// MACAddresses: the UE uses others than before. Source: TS 29.244 V18.6.0, 5.13.5.
	MACAddresses
)

// Tunnel is the far end of a GTP-U tunnel, or, without TEID, a GTP-U peer.
type Tunnel struct {
	TEID uint32
	IPv4 IPv4 // all zero: none
	IPv6 IPv6 // all zero: none
}
