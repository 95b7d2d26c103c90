package pfcp

import (
	"net/netip"
)

// ASReqFlags is PFCPASReq-Flags. Source: TS 29.244 V18.6.0, 8.2.178.
type ASReqFlags uint8

// ASReqUUPSI says that the UP function is configured for IPUPS.
const ASReqUUPSI ASReqFlags = 1

// ASRspFlags is PFCPASRsp-Flags. Source: TS 29.244 V18.6.0, 8.2.134.
type ASRspFlags uint8

// Flags of an Association Setup Response.
const (
	ASRspPSREI ASRspFlags = 1 << iota // the sessions asked for have been retained
	ASRspUUPSI                        // the UP function is configured for IPUPS
)

// AUReqFlags is PFCPAUReq-Flags. Source: TS 29.244 V18.6.0, 8.2.120.
type AUReqFlags uint8

// AUReqPARPS says that the association is going to be released, and asks for
// what usage there is to report.
const AUReqPARPS AUReqFlags = 1

// AssociationRelease is a PFCP Association Release Request, an IE by which the
// UP function asks for a release. Source: TS 29.244 V18.6.0, 8.2.77.
type AssociationRelease uint8

// Flags of a PFCP Association Release Request.
const (
	AssociationReleaseSARR AssociationRelease = 1 << iota // release the association
	AssociationReleaseURSS                                // non-zero usage has been reported for all sessions
)

// SessionRetention is PFCP Session Retention Information.
// Source: TS 29.244 V18.6.0, table 7.4.4.1-2.
type SessionRetention struct {
	CPEntities []CPAddress // CP PFCP Entity IP Addresses; empty: all
}

var sessionRetention = newContainer(container[SessionRetention]{
	name: "PFCP Session Retention Information", clause: "7.4.4.1",
	reset: func(p *SessionRetention) { *p = SessionRetention{CPEntities: p.CPEntities[:0]} },
	members: []member[SessionRetention]{
		some(IECPPFCPEntityIPAddress, optional, MaxPeers, func(p *SessionRetention) *[]CPAddress { return &p.CPEntities }, cpAddress),
	},
})

// smfSetID is an SMF Set ID: a spare octet, then the labels of an FQDN.
// Source: TS 29.244 V18.6.0, 8.2.131.
func smfSetID[T any](p presence, get func(*T) *Name) member[T] {
	return member[T]{
		ie: IESMFSetID, presence: p, state: decoded,
		read: func(dst *T, content []byte) error { *get(dst) = content[1:]; return nil },
		write: func(b []byte, src *T) []byte {
			v := *get(src)
			if len(v) == 0 {
				return b
			}
			b = openIE(b, IESMFSetID)
			start := len(b)
			return closeIE(append(append(b, 0), v...), start)
		},
	}
}

// UserPlaneIPResource is a User Plane IP Resource Information, by which UP
// functions of Rel-15 said from which addresses and TEIDs the CP function may
// choose F-TEIDs. Source: TS 29.244 of Release 15, 8.2.82.
type UserPlaneIPResource struct {
	TEIDRange       Optional[uint8] // the upper bits of the TEIDs, TEIDRangeBits of them
	TEIDRangeBits   uint8           // TEIDRI, 0 to 7; 0 without TEIDRange
	IPv4, IPv6      netip.Addr
	NetworkInstance Name                // empty: absent
	SourceInterface Optional[Interface] // those of this interface only
}

const resourceV4, resourceV6, resourceNI, resourceSI, resourceBits = 0x01, 0x02, 0x20, 0x40, 2

// userPlaneIPResource: the Network Instance has no length of its own; it ends
// before the Source Interface, or with the IE.
var userPlaneIPResource = codec[UserPlaneIPResource]{
	func(v *UserPlaneIPResource, b []byte) error {
		r := reader{b: b}
		flags := r.u8()
		*v = UserPlaneIPResource{TEIDRangeBits: flags >> resourceBits & 0x7}
		if v.TEIDRangeBits != 0 {
			v.TEIDRange = Some(r.u8())
		}
		if flags&resourceV4 != 0 {
			v.IPv4 = r.ipv4()
		}
		if flags&resourceV6 != 0 {
			v.IPv6 = r.ipv6()
		}
		rest := len(r.b)
		if flags&resourceSI != 0 {
			rest--
		}
		if flags&resourceNI != 0 && rest > 0 {
			v.NetworkInstance = r.take(rest)
		}
		if flags&resourceSI != 0 {
			v.SourceInterface = Some(Interface(r.u8() & 0xf))
		}
		return r.err
	},
	func(b []byte, v *UserPlaneIPResource) []byte {
		bits := v.TEIDRangeBits & 0x7
		b = append(b, bit(v.IPv4.Is4(), resourceV4)|bit(v.IPv6.Is6(), resourceV6)|bits<<resourceBits|
			bit(len(v.NetworkInstance) > 0, resourceNI)|bit(v.SourceInterface.Present, resourceSI))
		if bits != 0 {
			b = append(b, v.TEIDRange.Value)
		}
		b = append(appendAddrs(b, v.IPv4, v.IPv6), v.NetworkInstance...)
		if v.SourceInterface.Present {
			b = append(b, byte(v.SourceInterface.Value))
		}
		return b
	},
}
