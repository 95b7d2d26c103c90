// Package session is the 3GPP model of PFCP sessions in a UP function: PDRs,
// FARs, QERs, URRs, BARs and Traffic Endpoints, what makes a set of them valid, and
// how a request changes it.
//
// A request goes through these steps, and a failure in any of the first three
// leaves everything as it was:
//
//	plan       the session as it will be, checked as a whole (plan.go, validate.go)
//	acquire    F-TEIDs and UE addresses are allocated or claimed (acquire.go)
//	apply      the datapath takes the planned session, whole
//	commit     its record replaces the old one, here and in the store
//
// At rest a session is a compact record (record.go): that is what the [Manager]
// keeps, what a store keeps for a restart, and what is decoded for the next
// request. So a million sessions cost little memory, and the garbage collector
// nothing, as there are no pointers in them.
//
// A SEID names the place of its session in a table, and the datapath that holds
// it; between are random bits. What only one session can have (TEIDs, UE
// addresses) has a place of its own, dense where we allocate it, so that it is
// found without hashing.
//
// Addresses are octets in wire order, rates are bit/s, points in time are Unix
// nanoseconds, everything else is in host order.
//
// Source: TS 29.244 V18.6.0, 5.2 and 7.5.
package session

// IPv4 is an IPv4 address in wire order; all zero: none.
type IPv4 [4]byte

// IPv6 is an IPv6 address in wire order; all zero: none.
type IPv6 [16]byte

// IPv6Prefix is the first 64 bits of an IPv6 address in wire order; all zero:
// none.
type IPv6Prefix [8]byte

// Optional is a parameter that may be absent. Value means nothing unless
// Present.
type Optional[T any] struct {
	Value   T
	Present bool
}

// Some returns a parameter that is present.
func Some[T any](v T) Optional[T] { return Optional[T]{v, true} }

// Interface is a Source Interface or a Destination Interface.
// Source: TS 29.244 V18.6.0, 8.2.2 and 8.2.24.
type Interface uint8

// The interfaces that rules may name here.
const (
	Access     Interface = 0
	Core       Interface = 1
	SGiLAN     Interface = 2 // also N6-LAN
	CPFunction Interface = 3
	LIFunction Interface = 4 // of copies
)

// String names the interface as TS 29.244 does.
func (i Interface) String() string {
	names := [...]string{"Access", "Core", "SGi-LAN/N6-LAN", "CP-function", "LI function"}
	if int(i) < len(names) {
		return names[i]
	}
	return "an interface that there is not here"
}

// Uplink reports whether packets from this Source Interface are uplink for
// gates, meters and usage; all others are downlink.
func (i Interface) Uplink() bool { return i == Access }

// InterfaceType is a 3GPP Interface Type: which reference point a Source or
// Destination Interface is.
// Source: TS 29.244 V18.6.0, 8.2.118.
type InterfaceType uint8

// FSEID is the F-SEID of the CP function.
// Source: TS 29.244 V18.6.0, 8.2.37.
type FSEID struct {
	SEID uint64
	IPv4 IPv4 // all zero: none
	IPv6 IPv6 // all zero: none
}

// PDNType is a PDN Type; 0: none given.
// Source: TS 29.244 V18.6.0, 8.2.79.
type PDNType uint8

// PDN types. Those of Ethernet and of unstructured ("Non-IP") sessions need a
// datapath that knows them.
const (
	PDNTypeIPv4   PDNType = 1
	PDNTypeIPv6   PDNType = 2
	PDNTypeIPv4v6 PDNType = 3
	PDNTypeNonIP  PDNType = 4
	PDNTypeEth    PDNType = 5
)

// SNSSAI is a slice: Slice/Service Type and Slice Differentiator.
// Source: TS 29.244 V18.6.0, 8.2.176; TS 23.003 V18, 28.4.2.
type SNSSAI struct {
	SST uint8
	SD  uint32 // 24 bits; NoSD: none
}

// NoSD is the Slice Differentiator of an S-NSSAI that has none.
const NoSD = 0xffffff

// FQCSID is one connection set of a node: sessions that have one in common can
// be deleted together. Source: TS 29.244 V18.6.0, 8.2.48; TS 23.527 V18, 4.2.
type FQCSID struct {
	NodeType uint8    `record:"4"` // of the node that made it, 0 to 15; the same set whatever it says
	IDType   uint8    `record:"0"` // 0: IPv4 address, 1: IPv6 address, 2: MCC, MNC and a number
	Node     [16]byte `record:"1"` // wire order; the first 4 octets for types 0 and 2
	CSID     uint16   `record:"3"`
}

// same reports whether both name one set. The node type does not count: messages
// of Rel-14 have none.
func (c *FQCSID) same(d *FQCSID) bool {
	return c.IDType == d.IDType && c.Node == d.Node && c.CSID == d.CSID
}

// Session is one PFCP session: all that its CP function asked for and what
// became of it. As a result of the [Manager] it must not be changed; it lives as
// long as the memory into which it was read.
type Session struct {
	SEID  uint64 `record:"-"` // of the UP function's F-SEID, never 0
	Owner uint32 `record:"-"` // who may touch it: a number that the caller of Establish gave
	CP    FSEID  `record:"- 0 1"`

	PDNType PDNType          `record:"3"`
	SNSSAI  Optional[SNSSAI] `record:"4"`
	DNN     string           `record:"19.0"` // APN or DNN; empty: none
	// Slice is the number of the configured slice that it belongs to; 0: none.
	Slice uint32 `record:"5"`
	// InactivityTimer is the User Plane Inactivity Timer in seconds; 0: none.
	// Source: TS 29.244 V18.6.0, 8.2.83.
	InactivityTimer uint32   `record:"6"`
	CSIDs           []FQCSID `record:"10 limited"`

	PDRs      []PDR             `record:"11 limited"` // in Precedence order, lowest value first, then by ID
	FARs      []FAR             `record:"12 limited"` // by ID
	QERs      []QER             `record:"13 limited"` // by ID
	URRs      []URR             `record:"14 limited"` // by ID
	BARs      []BAR             `record:"15 limited"` // by ID
	Endpoints []TrafficEndpoint `record:"16 limited"`

	// Inactivity is how far the User Plane Inactivity Timer has got.
	Inactivity Inactivity `record:"7 8 9.0"`
	// Reports are those that the CP function has not acknowledged, oldest first.
	Reports []UsageReport `record:"17 limited"`
	// Deleted is when it was deleted, in Unix nanoseconds: its record stays for a
	// while, with its last reports, so that a repeated request gets them again
	// even from a process that was started since. 0: it was not.
	Deleted int64 `record:"18"`
}

// Agent is the number of the datapath that holds the session of that SEID: its
// highest 8 bits. So what goes to a datapath finds its way without a table.
func Agent(seid uint64) uint8 { return uint8(seid >> 56) }

// find returns the rule with that ID, or nil.
func find[R any, I comparable](list []R, id I, idOf func(*R) I) *R {
	for i := range list {
		if idOf(&list[i]) == id {
			return &list[i]
		}
	}
	return nil
}

func (r *PDR) id() uint16            { return r.ID }
func (f *FAR) id() uint32            { return f.ID }
func (q *QER) id() uint32            { return q.ID }
func (u *URR) id() uint32            { return u.ID }
func (b *BAR) id() uint8             { return b.ID }
func (e *TrafficEndpoint) id() uint8 { return e.ID }

// PDR returns the PDR of that ID, or nil.
func (s *Session) PDR(id uint16) *PDR { return find(s.PDRs, id, (*PDR).id) }

// FAR returns the FAR of that ID, or nil.
func (s *Session) FAR(id uint32) *FAR { return find(s.FARs, id, (*FAR).id) }

// QER returns the QER of that ID, or nil.
func (s *Session) QER(id uint32) *QER { return find(s.QERs, id, (*QER).id) }

// URR returns the URR of that ID, or nil.
func (s *Session) URR(id uint32) *URR { return find(s.URRs, id, (*URR).id) }

// BAR returns the BAR of that ID, or nil.
func (s *Session) BAR(id uint8) *BAR { return find(s.BARs, id, (*BAR).id) }

// Endpoint returns the Traffic Endpoint of that ID, or nil.
func (s *Session) Endpoint(id uint8) *TrafficEndpoint {
	return find(s.Endpoints, id, (*TrafficEndpoint).id)
}
