package session

import "bytes"

// PDR is a Packet Detection Rule.
// Source: TS 29.244 V18.6.0, 7.5.2.2.
type PDR struct {
	ID         uint16
	Precedence uint32 // lower is matched first
	PDI        PDI
	FARID      uint32
	QERIDs     []uint32
	// OuterHeaderRemoval: the GTP-U/UDP/IP header is taken off, with all its
	// extension headers.
	OuterHeaderRemoval bool
}

// PDI is the Packet Detection Information of a PDR.
// Source: TS 29.244 V18.6.0, 7.5.2.2-2.
type PDI struct {
	SourceInterface Interface
	Choose          Choose // how FTEID came about
	FTEID           FTEID
	UEAddress       UEAddress
	QFIs            QFISet
	NetworkInstance string
}

// FTEID is a local tunnel endpoint; TEID 0: none.
// Source: TS 29.244 V18.6.0, 8.2.3.
type FTEID struct {
	TEID uint32
	IPv4 IPv4
}

// Choose says that the UP function is to allocate the F-TEID (CH). PDRs of one
// request with the same CHOOSE ID get the same F-TEID.
// Source: TS 29.244 V18.6.0, 5.5.3 and 8.2.3.
type Choose struct {
	CH, CHID bool
	ID       uint8 // means something only if CHID
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

// QFISet is a set of QFIs, 1 to 63: bit n is QFI n. The empty set matches all.
type QFISet uint64

// Add puts QFI q into the set; QFI 0 and those above 63 do not exist.
func (s *QFISet) Add(q uint8) bool {
	if q == 0 || q > 63 {
		return false
	}
	*s |= 1 << q
	return true
}

// Has reports whether q is in the set.
func (s QFISet) Has(q uint8) bool { return q < 64 && s>>q&1 == 1 }

// CreatePDR asks for a new PDR. The manager keeps nothing of it that it does
// not copy.
type CreatePDR struct {
	PDR
	SDFFilters [][]byte // Flow Descriptions
}

// UpdatePDR changes those parts of a PDR that it has.
// Source: TS 29.244 V18.6.0, 7.5.4.2.
type UpdatePDR struct {
	ID                 uint16
	OuterHeaderRemoval *bool
	Precedence         *uint32
	PDI                *PDI // replaces the whole PDI
	FARID              *uint32
	QERIDs             []uint32 // if not nil: all QERs from now on
	SDFFilters         [][]byte
}

// flowMatchAll is the only Flow Description that the datapaths can match: all
// packets of the UE.
var flowMatchAll = []byte("permit out ip from any to assigned")

// matchesAll reports whether a Flow Description matches all packets. Words may
// be any number of spaces apart.
// Source: TS 29.212 V18, 5.4.2; RFC 6733, 4.3.1 (IPFilterRule).
func matchesAll(flow []byte) bool {
	if bytes.Equal(flow, flowMatchAll) { // the usual case, without allocation
		return true
	}
	return bytes.Equal(bytes.Join(bytes.Fields(flow), []byte(" ")), flowMatchAll)
}

// apply changes p as u says.
func (u *UpdatePDR) apply(p *PDR) {
	if u.OuterHeaderRemoval != nil {
		p.OuterHeaderRemoval = *u.OuterHeaderRemoval
	}
	if u.Precedence != nil {
		p.Precedence = *u.Precedence
	}
	if u.PDI != nil {
		p.PDI = *u.PDI
	}
	if u.FARID != nil {
		p.FARID = *u.FARID
	}
	if u.QERIDs != nil {
		p.QERIDs = u.QERIDs
	}
}
