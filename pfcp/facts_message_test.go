package pfcp

import (
	"slices"
	"testing"
)

// ourFacts states what m says.
func ourFacts(t *testing.T, h Header, m Message) []string {
	t.Helper()
	f := newFacts(h)
	switch m := m.(type) {
	case *HeartbeatRequest:
		f.timestamp(m.RecoveryTimeStamp)
	case *HeartbeatResponse:
		f.timestamp(m.RecoveryTimeStamp)
	case *AssociationSetupRequest:
		f.nodeID(m.NodeID)
		f.timestamp(m.RecoveryTimeStamp)
		f.features(m.UPFunctionFeatures, m.CPFunctionFeatures)
	case *AssociationSetupResponse:
		f.nodeID(m.NodeID)
		f.result(m.Cause, Optional[IEType]{}, Optional[FailedRuleID]{})
		f.timestamp(m.RecoveryTimeStamp)
		f.features(m.UPFunctionFeatures, m.CPFunctionFeatures)
	case *AssociationUpdateRequest:
		f.nodeID(m.NodeID)
		f.features(m.UPFunctionFeatures, m.CPFunctionFeatures)
	case *AssociationUpdateResponse:
		f.nodeID(m.NodeID)
		f.result(m.Cause, Optional[IEType]{}, Optional[FailedRuleID]{})
		f.features(m.UPFunctionFeatures, m.CPFunctionFeatures)
	case *AssociationReleaseRequest:
		f.nodeID(m.NodeID)
	case *AssociationReleaseResponse:
		f.nodeID(m.NodeID)
		f.result(m.Cause, Optional[IEType]{}, Optional[FailedRuleID]{})
	case *SessionEstablishmentRequest:
		f.establishment(m)
	case *SessionEstablishmentResponse:
		f.nodeID(m.NodeID)
		f.result(m.Cause, m.OffendingIE, m.FailedRuleID)
		if m.UPFSEID.Present {
			f.fseid(m.UPFSEID.Value)
		}
		f.createdPDRs(m.CreatedPDRs)
	case *SessionModificationRequest:
		f.modification(m)
	case *SessionModificationResponse:
		f.result(m.Cause, m.OffendingIE, m.FailedRuleID)
		f.createdPDRs(m.CreatedPDRs)
	case *SessionDeletionRequest:
	case *SessionDeletionResponse:
		f.result(m.Cause, m.OffendingIE, Optional[FailedRuleID]{})
	default:
		t.Fatalf("no facts about %T", m)
	}
	slices.Sort(*f.out)
	return *f.out
}

func (f facts) establishment(m *SessionEstablishmentRequest) {
	f.nodeID(m.NodeID)
	f.fseid(m.CPFSEID)
	for _, v := range m.CreatePDRs {
		f.createPDR(v)
	}
	for _, v := range m.CreateFARs {
		f.createFAR(v)
	}
	for _, id := range m.CreateURRs {
		f.ie(IECreateURR).id(IEURRID, id)
	}
	for _, v := range m.CreateQERs {
		f.createQER(v)
	}
	for _, id := range m.CreateBARs {
		f.ie(IECreateBAR).id(IEBARID, uint32(id))
	}
	if m.PDNType.Present {
		f.ie(IEPDNType).is("pdn_type", m.PDNType.Value)
	}
	f.name(IEAPNDNN, "apn_dnn", m.APNDNN)
	if m.RecoveryTimeStamp.Present {
		f.timestamp(m.RecoveryTimeStamp.Value)
	}
}

func (f facts) modification(m *SessionModificationRequest) {
	if m.CPFSEID.Present {
		f.fseid(m.CPFSEID.Value)
	}
	for _, id := range m.RemovePDRs {
		f.ie(IERemovePDR).id(IEPDRID, uint32(id))
	}
	for _, id := range m.RemoveFARs {
		f.ie(IERemoveFAR).id(IEFARID, id)
	}
	for _, id := range m.RemoveQERs {
		f.ie(IERemoveQER).id(IEQERID, id)
	}
	for _, v := range m.CreatePDRs {
		f.createPDR(v)
	}
	for _, v := range m.CreateFARs {
		f.createFAR(v)
	}
	for _, v := range m.CreateQERs {
		f.createQER(v)
	}
	for _, v := range m.UpdatePDRs {
		g := f.ie(IEUpdatePDR)
		g.id(IEPDRID, uint32(v.PDRID))
		g.removal(v.OuterHeaderRemoval)
		if v.Precedence.Present {
			g.ie(IEPrecedence).is("precedence", v.Precedence.Value)
		}
		if v.PDI.Present {
			g.pdi(v.PDI.Value)
		}
		if v.FARID.Present {
			g.id(IEFARID, v.FARID.Value)
		}
		g.ids(IEQERID, v.QERIDs)
	}
	for _, v := range m.UpdateFARs {
		f.updateFAR(v)
	}
	for _, v := range m.UpdateQERs {
		g := f.ie(IEUpdateQER)
		g.id(IEQERID, v.QERID)
		g.rates(IEMBR, v.MBR)
		g.rates(IEGBR, v.GBR)
	}
}
