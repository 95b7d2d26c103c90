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
		f.load(m.LoadControl, m.OverloadControl)
		f.fqCSIDs(m.FQCSIDs)
		f.created(m.CreatedTEPs)
	case *SessionModificationRequest:
		f.modification(m)
	case *SessionModificationResponse:
		f.result(m.Cause, m.OffendingIE, m.FailedRuleID)
		f.createdPDRs(m.CreatedPDRs)
		f.load(m.LoadControl, m.OverloadControl)
		f.usage(IEUsageReportModification, m.UsageReports)
		f.additional(m.AdditionalUsageReports)
		f.created(m.CreatedTEPs)
	case *SessionDeletionRequest:
		if m.NodeID.Present {
			f.nodeID(m.NodeID.Value)
			f.fseid(m.CPFSEID.Value)
		}
	case *SessionDeletionResponse:
		f.result(m.Cause, m.OffendingIE, Optional[FailedRuleID]{})
		f.load(m.LoadControl, m.OverloadControl)
		f.usage(IEUsageReportDeletion, m.UsageReports)
		f.additional(m.AdditionalUsageReports)
	default:
		f.reports(t, m)
	}
	slices.Sort(*f.out)
	return *f.out
}

// reports states what the messages about reports, PFDs and sets say.
func (f facts) reports(t *testing.T, m Message) {
	t.Helper()
	none := Optional[FailedRuleID]{}
	switch m := m.(type) {
	case *SessionReportRequest:
		f.sessionReport(m)
	case *SessionReportResponse:
		f.result(m.Cause, m.OffendingIE, none)
		if m.UpdateBAR.Present {
			f.bar(IEUpdateBARReport, &m.UpdateBAR.Value)
		}
		if m.NodeID.Present {
			f.nodeID(m.NodeID.Value)
			f.fseid(m.CPFSEID.Value)
		}
		f.fqCSIDs(m.FQCSIDs)
	case *NodeReportRequest:
		f.nodeID(m.NodeID)
		f.ie(IENodeReportType).is("UPFR", number(m.ReportType&NodeReportUPFR != 0))
		f.peers(IEUserPlanePathFailureReport, m.PathFailure)
	case *NodeReportResponse:
		f.nodeID(m.NodeID)
		f.result(m.Cause, m.OffendingIE, none)
	case *SessionSetDeletionRequest:
		f.nodeID(m.NodeID)
		f.fqCSIDs(m.FQCSIDs)
	case *SessionSetDeletionResponse:
		f.nodeID(m.NodeID)
		f.result(m.Cause, m.OffendingIE, none)
	case *PFDManagementRequest:
		f.pfds(m.Applications)
	case *PFDManagementResponse:
		f.result(m.Cause, m.OffendingIE, none)
	default:
		t.Fatalf("no facts about %T", m)
	}
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
	for i := range m.CreateURRs {
		f.createURR(&m.CreateURRs[i])
	}
	for _, v := range m.CreateQERs {
		f.createQER(v)
	}
	for i := range m.CreateBARs {
		f.bar(IECreateBAR, &m.CreateBARs[i])
	}
	for i := range m.CreateTEPs {
		f.trafficEndpoint(IECreateTrafficEndpoint, &m.CreateTEPs[i])
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
		g.ids(IEURRID, v.URRIDs)
		g.ids(IEQERID, v.QERIDs)
	}
	for _, v := range m.UpdateFARs {
		f.updateFAR(v)
	}
	f.modificationUsage(m)
	for _, v := range m.UpdateQERs {
		g := f.ie(IEUpdateQER)
		g.id(IEQERID, v.QERID)
		g.rates(IEMBR, v.MBR)
		g.rates(IEGBR, v.GBR)
	}
}

// modificationUsage states what a modification says of URRs, BARs and Traffic
// Endpoints.
func (f facts) modificationUsage(m *SessionModificationRequest) {
	for i := range m.CreateURRs {
		f.createURR(&m.CreateURRs[i])
	}
	for i := range m.UpdateURRs {
		f.updateURR(&m.UpdateURRs[i])
	}
	for i := range m.CreateBARs {
		f.bar(IECreateBAR, &m.CreateBARs[i])
	}
	for i := range m.UpdateBARs {
		f.bar(IEUpdateBAR, &m.UpdateBARs[i])
	}
	for i := range m.CreateTEPs {
		f.trafficEndpoint(IECreateTrafficEndpoint, &m.CreateTEPs[i])
	}
	for i := range m.UpdateTEPs {
		f.trafficEndpoint(IEUpdateTrafficEndpoint, &m.UpdateTEPs[i])
	}
	for _, id := range m.QueryURRs {
		f.ie(IEQueryURR).id(IEURRID, id)
	}
	f.number32(IEQueryURRReference, "reference", m.QueryURRReference)
	if m.SMReqFlags&SMReqSNDEM != 0 {
		f.ie(IEPFCPSMReqFlags).is("SNDEM", 1)
	}
}
