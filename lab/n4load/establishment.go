package n4load

import (
	"fmt"
	"net/netip"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// IDs of the rules of every session.
const (
	uplinkID, downlinkID = 1, 2
	qerID, urrID         = 1, 1
	precedence           = 100 // of the first two PDRs

	volumeThreshold = 1 << 30 // octets
)

// establishment returns the request that all sessions have in common.
func (t *Template) establishment(node pfcp.NodeID, local netip.Addr) pfcp.SessionEstablishmentRequest {
	ni := pfcp.NewName(t.NetworkInstance)
	m := pfcp.SessionEstablishmentRequest{
		NodeID:  node,
		CPFSEID: pfcp.FSEID{IPv4: local},
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
		CreateQERs: t.qers(),
		CreateURRs: t.urrs(),
		APNDNN:     pfcp.NewName(t.DNN),
		SNSSAI:     t.SNSSAI,
		PDNType:    pfcp.Some(pfcp.PDNTypeIPv4), // fill says which
	}
	for pair := range max(t.PDRs, 2) / 2 {
		m.CreatePDRs = append(m.CreatePDRs, t.pdrs(ni, pair)...)
	}
	t.Dialect.Adapt(&m)
	return m
}

// pdrs returns a pair of PDRs, uplink and downlink. The first pair matches
// everything.
func (t *Template) pdrs(ni pfcp.Name, pair int) []pfcp.CreatePDR {
	up := pfcp.CreatePDR{
		PDRID: uint16(uplinkID + 2*pair), Precedence: uint32(precedence - pair),
		PDI: pfcp.PDI{
			SourceInterface: pfcp.InterfaceAccess, NetworkInstance: ni,
			UEIPAddresses: make([]pfcp.UEIPAddress, 1),
		},
		OuterHeaderRemoval: pfcp.Some(pfcp.OuterHeaderRemoval{Description: pfcp.RemoveGTPUUDPIPv4}),
		FARID:              pfcp.Some(uint32(uplinkID)),
	}
	down := pfcp.CreatePDR{
		PDRID: uint16(downlinkID + 2*pair), Precedence: uint32(precedence - pair),
		PDI: pfcp.PDI{
			SourceInterface: pfcp.InterfaceCore, NetworkInstance: ni,
			UEIPAddresses: make([]pfcp.UEIPAddress, 1),
		},
		FARID: pfcp.Some(uint32(downlinkID)),
	}
	list := []pfcp.CreatePDR{up, down}
	for i := range list {
		if t.hasQER() {
			list[i].QERIDs = []uint32{qerID}
		}
		if t.URR {
			list[i].URRIDs = []uint32{urrID}
		}
		if pair > 0 { // TEST-NET-2; one filter, for both directions (TS 29.244, 5.2.1A.2A)
			flow := fmt.Sprintf("permit out udp from 198.51.100.%d to assigned", pair)
			list[i].PDI.SDFFilters = []pfcp.SDFFilter{{FlowDescription: []byte(flow)}}
		}
	}
	return list
}

func (t *Template) hasQER() bool { return t.QFI != 0 || t.MBR != (pfcp.BitRates{}) }

func (t *Template) qers() []pfcp.CreateQER {
	if !t.hasQER() {
		return nil
	}
	qer := pfcp.CreateQER{QERID: qerID}
	if t.QFI != 0 {
		qer.QFI = pfcp.Some(t.QFI)
	}
	if t.MBR != (pfcp.BitRates{}) {
		qer.MBR = pfcp.Some(t.MBR)
	}
	return []pfcp.CreateQER{qer}
}

func (t *Template) urrs() []pfcp.CreateURR {
	if !t.URR {
		return nil
	}
	urr := pfcp.CreateURR{URRID: urrID, MeasurementMethod: pfcp.MeasureVOLUM, ReportingTriggers: pfcp.ReportVOLTH}
	urr.VolumeThreshold = pfcp.Some(pfcp.Volume{Total: pfcp.Some(uint64(volumeThreshold))})
	return []pfcp.CreateURR{urr}
}

// tunnel returns the downlink tunnel, without the TEID.
func (t *Template) tunnel() pfcp.Optional[pfcp.OuterHeaderCreation] {
	return pfcp.Some(pfcp.OuterHeaderCreation{Description: pfcp.CreateGTPUUDPIPv4, IPv4: t.GNB})
}

// pdnType is what the addresses of its UE make it.
func (s *Session) pdnType() pfcp.PDNType {
	switch {
	case !s.UEPrefix.IsValid():
		return pfcp.PDNTypeIPv4
	case s.UE.IsValid():
		return pfcp.PDNTypeIPv4v6
	}
	return pfcp.PDNTypeIPv6
}

// fill puts one session into the request. All uplink PDRs share an F-TEID: by
// one CHOOSE ID, if the UP function chooses it.
func (s *Session) fill(m *pfcp.SessionEstablishmentRequest) {
	m.CPFSEID.SEID = s.LocalSEID
	fteid := pfcp.FTEID{V4: true, TEID: s.ULTEID, IPv4: s.N3}
	if s.ULTEID == 0 {
		fteid = pfcp.FTEID{CH: true, V4: true}
		if len(m.CreatePDRs) > 2 {
			fteid.CHID = pfcp.Some(uint8(1))
		}
	}
	ue := pfcp.UEIPAddress{IPv4: s.UE}
	if s.UEPrefix.IsValid() {
		ue.IPv6 = s.UEPrefix.Addr()
	}
	m.PDNType.Value = s.pdnType()
	for i := range m.CreatePDRs {
		d := &m.CreatePDRs[i].PDI
		d.UEIPAddresses[0] = ue
		if d.SourceInterface == pfcp.InterfaceAccess {
			d.FTEID = pfcp.Some(fteid)
		} else {
			d.UEIPAddresses[0].Destination = true
		}
	}
	m.CreateFARs[1].ForwardingParameters.Value.OuterHeaderCreation.Value.TEID = s.DLTEID
}
