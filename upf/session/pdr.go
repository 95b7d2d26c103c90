package session

import "net/netip"

// PDR is a Packet Detection Rule.
// Source: TS 29.244 V18.6.0, 7.5.2.2.
type PDR struct {
	ID         uint16 `record:"0"`
	Precedence uint32 `record:"1"` // lower is matched first
	PDI        PDI    `record:"."`
	FARID      uint32 `record:"2" api:"FarId"`
	// NoFAR: it names no FAR yet. Its packets are dropped until an update names one.
	NoFAR  bool     `record:"20.2"`
	QERIDs []uint32 `record:"5"`
	URRIDs []uint32 `record:"6" api:"UrrIds"`
	// Predefined are the names of the predefined rules that are active for it.
	Predefined []string `record:"12"`
	// OuterHeaderRemoval: the GTP-U/UDP/IP header is taken off, with all its
	// extension headers.
	OuterHeaderRemoval bool `record:"4.0" api:"OuterHeaderRemoval"`
	// DropsContainer (GTP-U Extension Header Deletion): the PDU Session Container goes,
	// also where the packet is sent on in another tunnel.
	DropsContainer bool `record:"20.3" api:"DropsContainer"`
	// Unwrap is the Outer Header Removal of packets that come in no tunnel.
	Unwrap Unwrap `record:"19" api:"Unwrap,api.Unwrap"`
}

// Unwrap is what is taken off a packet that came bare.
// Source: TS 29.244 V18.6.0, 8.2.64.
type Unwrap uint8

// What can be taken off.
const (
	UnwrapNone Unwrap = iota
	UnwrapUDP
	UnwrapIP
	UnwrapSTAG
	UnwrapSTAGCTAG
)

// PDI is the Packet Detection Information of a PDR.
// Source: TS 29.244 V18.6.0, 7.5.2.2-2.
type PDI struct {
	SourceInterface Interface               `record:"3"`
	InterfaceType   Optional[InterfaceType] `record:"24"`
	// Inherits: the PDI names nothing by which packets are found. The F-TEID or UE
	// address here is that of the session's other PDRs.
	Inherits bool `record:"20.1"`
	// Endpoint is a Traffic Endpoint ID; the F-TEID, Network Instance, UE
	// address and QFIs are then copies of that endpoint's.
	Endpoint        Optional[uint8] `record:"17"`
	Choose          Choose          `record:"4.1 4.2 18 4.3 4.4"` // how FTEID came about
	FTEID           FTEID           `record:"7 8 15"`
	UEAddress       UEAddress       `record:"9 14"`
	ChooseUE        ChooseUE        `record:"4.5 4.6 10.2"` // how UEAddress came about
	QFIs            QFISet          `record:"13"`
	NetworkInstance string          `record:"10.0"`
	Filters         []SDFFilter     `record:"11"`   // one of them has to match; none: any packet
	ApplicationID   string          `record:"10.1"` // its flows have to match; empty: none

	// What follows is rare. Lists are never changed once they are made.

	// MoreEndpoints are further Traffic Endpoints: packets of any of them match.
	MoreEndpoints []uint8 `record:"21 shared"`
	// Framed are prefixes reached through the UE: framed routes, delegated prefixes,
	// and UE addresses beyond one of each IP version. They match as UEAddress does.
	Framed []netip.Prefix `record:"22 shared"`
	// EthernetSession (ETHI): frames of the UE's MAC addresses, as they were learnt.
	EthernetSession bool             `record:"20.0"`
	Ethernet        []EthernetFilter `record:"23 shared"` // one of them has to match; none: any frame
}

// FTEID is a local tunnel endpoint; TEID 0: none.
// Source: TS 29.244 V18.6.0, 8.2.3.
type FTEID struct {
	TEID uint32
	IPv4 IPv4
	IPv6 IPv6
}

// Choose says that the UP function is to allocate the F-TEID (CH), and with
// which addresses. PDRs of one request with the same CHOOSE ID get the same
// F-TEID.
// Source: TS 29.244 V18.6.0, 5.5.3 and 8.2.3.
type Choose struct {
	CH, CHID bool
	ID       uint8 // means something only if CHID
	V4, V6   bool
}

// ChooseUE says that the UP function is to allocate the UE's addresses (CHV4,
// CHV6). Source: TS 29.244 V18.6.0, 5.21 and 8.2.62.
type ChooseUE struct {
	V4, V6 bool
	Pool   string // UE IP Address Pool Identity; empty: one of the slice's
}

// UEAddress is the UE's address: the source of packets from Access, the
// destination of packets from Core.
// Source: TS 29.244 V18.6.0, 8.2.62.
type UEAddress struct {
	IPv4       IPv4
	IPv6Prefix IPv6Prefix
}

// IsZero reports whether there is no address at all.
func (a UEAddress) IsZero() bool { return a == UEAddress{} }

// maxQFI is the largest QoS Flow Identifier. Source: TS 38.415 V18.0.0, 5.5.3.3.
const maxQFI = 63

// QFISet is a set of QFIs, 1 to 63: bit n is QFI n. The empty set matches all.
type QFISet uint64

// Add puts QFI q into the set; QFI 0 and those above 63 do not exist.
func (s *QFISet) Add(q uint8) bool {
	if q == 0 || q > maxQFI {
		return false
	}
	*s |= 1 << q
	return true
}

// Has reports whether q is in the set.
func (s QFISet) Has(q uint8) bool { return q <= maxQFI && s>>q&1 == 1 }

// SDFFilter is an SDF Filter. It is written for downlink packets: Remote is
// their source, Local their destination; for packets from Access these change
// places. The zero value matches all packets.
// Source: TS 29.244 V18.6.0, 8.2.5.
type SDFFilter struct {
	ID Optional[uint32] `record:"0"` // SDF Filter ID: the same filter in several PDRs
	// Reference: the filter is an ID alone, and that of another PDR is meant.
	// A committed session has none.
	Reference bool `record:"1.0"`

	Protocol    Optional[uint8]  `record:"2" api:"Protocol"`
	Remote      netip.Prefix     `record:"3" api:"Remote,*prefix"` // not valid: any
	Local       netip.Prefix     `record:"6" api:"Local,*prefix"`  // not valid: any, or "assigned"
	RemotePorts []PortRange      `record:"9"`                      // empty: any
	LocalPorts  []PortRange      `record:"10"`
	TOS         uint8            `record:"11" api:"Tos"` // ToS or Traffic Class; mask 0: not compared
	TOSMask     uint8            `record:"12" api:"TosMask"`
	SPI         Optional[uint32] `record:"13" api:"Spi"`
	FlowLabel   Optional[uint32] `record:"14" api:"FlowLabel"` // 20 bits
	// Host is the flow's name in TLS SNI or HTTP Host, in lower case; "*.example.org"
	// is all names below, "" any. Path is how the path of an HTTP request to it
	// begins; "": any. Of PFDs and predefined rules.
	Host string `record:"15.0" api:"Host"`
	Path string `record:"15.1" api:"Path"`
}

// PortRange has both ends in it.
type PortRange struct {
	First, Last uint16
}

// Removal is an Outer Header Removal; the zero value: none.
type Removal struct {
	GTPU           bool
	DropsContainer bool
	Unwrap         Unwrap
}

// UpdatePDR changes those parts of a PDR that it has.
// Source: TS 29.244 V18.6.0, 7.5.4.2.
type UpdatePDR struct {
	ID                 uint16
	OuterHeaderRemoval Optional[Removal]
	Precedence         Optional[uint32]
	PDI                Optional[PDI] // replaces the whole PDI
	FARID              Optional[uint32]
	QERIDs             []uint32 // if not nil: all QERs from now on
	URRIDs             []uint32 // if not nil: all URRs from now on
	Activate           []string // predefined rules
	Deactivate         []string
}
