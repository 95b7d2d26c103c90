// Package session is the 3GPP model of PFCP sessions in a UP function: PDRs,
// FARs and QERs, what makes a set of them valid, and how a request changes it.
//
// A request goes through four steps, and a failure in any of the first three
// leaves everything as it was:
//
//	validate   the request as a whole, against the session it is about
//	plan       the session as it will be; F-TEIDs and UE addresses are claimed
//	apply      the datapath takes the planned session, whole
//	commit     the planned session replaces the old one
//
// A committed [Session] never changes: a modification makes a new one. So
// readers need no lock and never see half a change. The [Manager] owns all
// sessions.
//
// Addresses are octets in wire order, rates are bit/s, everything else is in
// host order.
//
// Source: TS 29.244 V18.6.0, 5.2 and 7.5.
package session

// IPv4 is an IPv4 address in wire order; all zero: none.
type IPv4 [4]byte

// IPv6Prefix is the first 64 bits of an IPv6 address in wire order; all zero:
// none.
type IPv6Prefix [8]byte

// Interface is a Source Interface or a Destination Interface.
// Source: TS 29.244 V18.6.0, 8.2.2.
type Interface uint8

// The interfaces that rules may name here.
const (
	Access Interface = 0
	Core   Interface = 1
)

// String names the interface as TS 29.244 does.
func (i Interface) String() string {
	switch i {
	case Access:
		return "Access"
	case Core:
		return "Core"
	}
	return "interface that is neither Access nor Core"
}

// FSEID is the F-SEID of the CP function.
// Source: TS 29.244 V18.6.0, 8.2.37.
type FSEID struct {
	SEID uint64
	IPv4 IPv4     // all zero: none
	IPv6 [16]byte // all zero: none
}

// Session is one PFCP session as the datapath holds it. It never changes once
// it is committed.
type Session struct {
	SEID  uint64 // of the UP function's F-SEID, never 0
	Owner uint32 // who may touch it: a number that the caller of Establish gave
	CP    FSEID

	PDRs []PDR // in Precedence order, lowest value first, then by ID
	FARs []FAR // by ID
	QERs []QER // by ID
}

// PDR returns the PDR of that ID, or nil. The result must not be changed.
func (s *Session) PDR(id uint16) *PDR {
	for i := range s.PDRs {
		if s.PDRs[i].ID == id {
			return &s.PDRs[i]
		}
	}
	return nil
}

// FAR returns the FAR of that ID, or nil. The result must not be changed.
func (s *Session) FAR(id uint32) *FAR {
	for i := range s.FARs {
		if s.FARs[i].ID == id {
			return &s.FARs[i]
		}
	}
	return nil
}

// QER returns the QER of that ID, or nil. The result must not be changed.
func (s *Session) QER(id uint32) *QER {
	for i := range s.QERs {
		if s.QERs[i].ID == id {
			return &s.QERs[i]
		}
	}
	return nil
}

// common is a session of the usual shape with its rules in one piece of memory:
// one PDR and one FAR each way, and one QER.
type common struct {
	Session
	pdrs [2]PDR
	fars [2]FAR
	qers [1]QER
}

// newSession returns a session with room for so many rules, and none yet.
func newSession(pdrs, fars, qers int) *Session {
	if pdrs <= 2 && fars <= 2 && qers <= 1 {
		c := new(common)
		c.PDRs, c.FARs, c.QERs = c.pdrs[:0], c.fars[:0], c.qers[:0]
		return &c.Session
	}
	return &Session{PDRs: make([]PDR, 0, pdrs), FARs: make([]FAR, 0, fars), QERs: make([]QER, 0, qers)}
}
