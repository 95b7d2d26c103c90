package n4load

import (
	"encoding/binary"
	"net/netip"

	"plumbline/pfcp"
)

// Template is what sessions have in common. Session i has the i-th UE address,
// prefix and TEID after the first; all other fields are the same for all.
//
// Each session is: PDR 1 and FAR 1 uplink, from an F-TEID to CORE; PDR 2 and
// FAR 2 downlink, from the UE's addresses to the gNB; QER 1 for both, if there
// is a QFI or an MBR.
type Template struct {
	UE              netip.Addr   // IPv4, of session 0
	UEPrefix        netip.Prefix // IPv6 /64, of session 0; zero: IPv4 only
	GNB             netip.Addr   // IPv4, peer of the downlink tunnel
	DLTEID          uint32       // of the downlink tunnel of session 0
	N3              netip.Addr   // IPv4 of the UP function; needed if ULTEID is given
	ULTEID          uint32       // of session 0; 0: the UP function chooses F-TEIDs (CH)
	QFI             pfcp.QFI     // 0: none
	MBR             pfcp.BitRates
	NetworkInstance string // empty: absent
	DNN             string // empty: absent
}

// Session is one PFCP session.
type Session struct {
	LocalSEID  uint64       // the CP function's
	RemoteSEID uint64       // the UP function's; 0: not established
	ULTEID     uint32       // of the UP function
	N3         netip.Addr   // of the UP function
	DLTEID     uint32       // of the gNB
	UE         netip.Addr   // IPv4
	UEPrefix   netip.Prefix // IPv6 /64; zero: none
}

// Sessions returns sessions first to first+n-1, not established yet. Their
// LocalSEID is their number, from 1.
func (t *Template) Sessions(first, n int) []Session {
	list := make([]Session, n)
	for i := range list {
		number := uint32(first + i)
		s := &list[i]
		*s = Session{
			LocalSEID: uint64(number) + 1,
			DLTEID:    t.DLTEID + number,
			UE:        addIPv4(t.UE, number),
		}
		if t.ULTEID != 0 {
			s.ULTEID, s.N3 = t.ULTEID+number, t.N3
		}
		if t.UEPrefix.IsValid() {
			s.UEPrefix = addPrefix(t.UEPrefix, number)
		}
	}
	return list
}

// addIPv4 returns the n-th address after a.
func addIPv4(a netip.Addr, n uint32) netip.Addr {
	b := a.As4()
	binary.BigEndian.PutUint32(b[:], binary.BigEndian.Uint32(b[:])+n)
	return netip.AddrFrom4(b)
}

// addPrefix returns the n-th /64 after p.
func addPrefix(p netip.Prefix, n uint32) netip.Prefix {
	b := p.Addr().As16()
	binary.BigEndian.PutUint64(b[:], binary.BigEndian.Uint64(b[:])+uint64(n))
	return netip.PrefixFrom(netip.AddrFrom16(b), p.Bits())
}

// IDs of the rules of every session.
const (
	uplinkID, downlinkID = 1, 2
	qerID                = 1
	precedence           = 100
)

// establishment returns the request that all sessions have in common.
func (t *Template) establishment(node pfcp.NodeID, local netip.Addr) pfcp.SessionEstablishmentRequest {
	ni := pfcp.NewName(t.NetworkInstance)
	var qers []uint32
	var createQERs []pfcp.CreateQER
	if t.QFI != 0 || t.MBR != (pfcp.BitRates{}) {
		qers = []uint32{qerID}
		qer := pfcp.CreateQER{QERID: qerID}
		if t.QFI != 0 {
			qer.QFI = pfcp.Some(t.QFI)
		}
		if t.MBR != (pfcp.BitRates{}) {
			qer.MBR = pfcp.Some(t.MBR)
		}
		createQERs = []pfcp.CreateQER{qer}
	}
	return pfcp.SessionEstablishmentRequest{
		NodeID:  node,
		CPFSEID: pfcp.FSEID{IPv4: local},
		CreatePDRs: []pfcp.CreatePDR{{
			PDRID: uplinkID, Precedence: precedence,
			PDI: pfcp.PDI{
				SourceInterface: pfcp.InterfaceAccess, NetworkInstance: ni,
				UEIPAddresses: make([]pfcp.UEIPAddress, 1),
			},
			OuterHeaderRemoval: pfcp.Some(pfcp.OuterHeaderRemoval{Description: pfcp.RemoveGTPUUDPIPv4}),
			FARID:              pfcp.Some(uint32(uplinkID)), QERIDs: qers,
		}, {
			PDRID: downlinkID, Precedence: precedence,
			PDI: pfcp.PDI{
				SourceInterface: pfcp.InterfaceCore, NetworkInstance: ni,
				UEIPAddresses: make([]pfcp.UEIPAddress, 1),
			},
			FARID: pfcp.Some(uint32(downlinkID)), QERIDs: qers,
		}},
		CreateFARs: []pfcp.CreateFAR{
			{
				FARID: uplinkID, ApplyAction: pfcp.ApplyFORW,
				ForwardingParameters: pfcp.Some(pfcp.ForwardingParameters{DestinationInterface: pfcp.InterfaceCore, NetworkInstance: ni}),
			}, {
				FARID: downlinkID, ApplyAction: pfcp.ApplyFORW,
				ForwardingParameters: pfcp.Some(pfcp.ForwardingParameters{
					DestinationInterface: pfcp.InterfaceAccess, NetworkInstance: ni, OuterHeaderCreation: t.tunnel(),
				}),
			},
		},
		CreateQERs: createQERs,
		APNDNN:     pfcp.NewName(t.DNN),
	}
}

// tunnel returns the downlink tunnel, without the TEID.
func (t *Template) tunnel() pfcp.Optional[pfcp.OuterHeaderCreation] {
	return pfcp.Some(pfcp.OuterHeaderCreation{Description: pfcp.CreateGTPUUDPIPv4, IPv4: t.GNB})
}

// fill puts one session into the request.
func (s *Session) fill(m *pfcp.SessionEstablishmentRequest) {
	m.CPFSEID.SEID = s.LocalSEID
	up, down := &m.CreatePDRs[0].PDI, &m.CreatePDRs[1].PDI
	if s.ULTEID == 0 {
		up.FTEID = pfcp.Some(pfcp.FTEID{CH: true, V4: true})
	} else {
		up.FTEID = pfcp.Some(pfcp.FTEID{V4: true, TEID: s.ULTEID, IPv4: s.N3})
	}
	up.UEIPAddresses[0] = pfcp.UEIPAddress{IPv4: s.UE}
	if s.UEPrefix.IsValid() {
		up.UEIPAddresses[0].IPv6 = s.UEPrefix.Addr()
	}
	down.UEIPAddresses[0] = up.UEIPAddresses[0]
	down.UEIPAddresses[0].Destination = true
	m.CreateFARs[1].ForwardingParameters.Value.OuterHeaderCreation.Value.TEID = s.DLTEID
}
