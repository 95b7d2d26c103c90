package session

import (
	"errors"
	"testing"
)

// TestEstablishRefused: every request that asks for what is not done, or makes
// no sense, names the rule at fault and leaves nothing behind.
func TestEstablishRefused(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Establishment)
		want   Error // Err: what it wraps
	}{
		{"URR", func(e *Establishment) {
			e.Unsupported = []Unsupported{{HasRule: true, Rule: RuleURR, RuleID: 4, IE: 6, What: "Create URR"}}
		}, Error{CauseRuleFailure, 0, true, RuleURR, 4, ErrUnsupported}},
		{"Traffic Endpoint", func(e *Establishment) {
			e.Unsupported = []Unsupported{{IE: 127, What: "Create Traffic Endpoint"}}
		}, Error{CauseServiceNotSupported, 127, false, 0, 0, ErrUnsupported}},
		{"SDF filter", func(e *Establishment) {
			e.CreatePDRs[1].SDFFilters = [][]byte{[]byte("permit out udp from any 53 to assigned")}
		}, Error{CauseRuleFailure, 0, true, RulePDR, 2, ErrUnsupported}},
		{"PDR twice", func(e *Establishment) { e.CreatePDRs[1].ID = 1 }, Error{CauseRuleFailure, 0, true, RulePDR, 1, ErrDuplicate}},
		{"FAR twice", func(e *Establishment) { e.CreateFARs[1].ID = 1 }, Error{CauseRuleFailure, 0, true, RuleFAR, 1, ErrDuplicate}},
		{"QER twice", func(e *Establishment) { e.CreateQERs = append(e.CreateQERs, e.CreateQERs[0]) },
			Error{CauseRuleFailure, 0, true, RuleQER, 1, ErrDuplicate}},
		{"unknown FAR", func(e *Establishment) { e.CreatePDRs[0].FARID = 9 }, Error{CauseRuleFailure, 0, true, RulePDR, 1, ErrReference}},
		{"unknown QER", func(e *Establishment) { e.CreatePDRs[1].QERIDs = []uint32{1, 9} }, Error{CauseRuleFailure, 0, true, RulePDR, 2, ErrReference}},
		{"FAR 0 is not there by itself", func(e *Establishment) { e.CreatePDRs[0].FARID = 0 },
			Error{CauseRuleFailure, 0, true, RulePDR, 1, ErrReference}},
		{"BUFF and NOCP", func(e *Establishment) { e.CreateFARs[0].ApplyAction = 0x0c }, Error{CauseRuleFailure, 0, true, RuleFAR, 1, ErrUnsupported}},
		{"FORW and DUPL", func(e *Establishment) { e.CreateFARs[0].ApplyAction = 0x12 }, Error{CauseRuleFailure, 0, true, RuleFAR, 1, ErrUnsupported}},
		{"no action", func(e *Establishment) { e.CreateFARs[0].ApplyAction = 0 }, Error{CauseRuleFailure, 0, true, RuleFAR, 1, ErrUnsupported}},
		{"FORW without parameters", func(e *Establishment) { e.CreateFARs[1].HasForwarding = false },
			Error{CauseConditionalIEMissing, IEForwardingParameters, false, 0, 0, ErrIncomplete}},
		{"N9", func(e *Establishment) { e.CreateFARs[0].Forwarding.DestinationInterface = Core },
			Error{CauseRuleFailure, 0, true, RuleFAR, 1, ErrUnsupported}},
		{"towards the CP function", func(e *Establishment) { e.CreateFARs[1].Forwarding.DestinationInterface = 3 },
			Error{CauseRuleFailure, 0, true, RuleFAR, 2, ErrUnsupported}},
		{"no tunnel towards Access", func(e *Establishment) { e.CreateFARs[0].Forwarding.OuterHeaderCreation = OuterHeaderCreation{} },
			Error{CauseRuleFailure, 0, true, RuleFAR, 1, ErrUnsupported}},
		{"tunnel to nowhere", func(e *Establishment) { e.CreateFARs[0].Forwarding.OuterHeaderCreation.IPv4 = IPv4{} },
			Error{CauseRuleFailure, 0, true, RuleFAR, 1, ErrIncomplete}},
		{"tunnel with TEID 0", func(e *Establishment) { e.CreateFARs[0].Forwarding.OuterHeaderCreation.TEID = 0 },
			Error{CauseRuleFailure, 0, true, RuleFAR, 1, ErrIncomplete}},
		{"from Core to Core", func(e *Establishment) { e.CreatePDRs[0].FARID = 2 }, Error{CauseRuleFailure, 0, true, RulePDR, 1, ErrUnsupported}},
		{"from Access to Access", func(e *Establishment) { e.CreatePDRs[1].FARID = 1 }, Error{CauseRuleFailure, 0, true, RulePDR, 2, ErrUnsupported}},
		{"no Outer Header Removal", func(e *Establishment) { e.CreatePDRs[1].OuterHeaderRemoval = false },
			Error{CauseRuleFailure, 0, true, RulePDR, 2, ErrIncomplete}},
		{"Outer Header Removal at Core", func(e *Establishment) { e.CreatePDRs[0].OuterHeaderRemoval = true },
			Error{CauseRuleFailure, 0, true, RulePDR, 1, ErrUnsupported}},
		{"no F-TEID", func(e *Establishment) { e.CreatePDRs[1].PDI.Choose = Choose{} }, Error{CauseRuleFailure, 0, true, RulePDR, 2, ErrIncomplete}},
		{"F-TEID elsewhere", func(e *Establishment) {
			e.CreatePDRs[1].PDI.Choose, e.CreatePDRs[1].PDI.FTEID = Choose{}, FTEID{7, IPv4{9, 9, 9, 9}}
		}, Error{CauseRuleFailure, 0, true, RulePDR, 2, ErrUnsupported}},
		{"F-TEID at Core", func(e *Establishment) { e.CreatePDRs[0].PDI.Choose.CH = true }, Error{CauseRuleFailure, 0, true, RulePDR, 1, ErrUnsupported}},
		{"QFI at Core", func(e *Establishment) { e.CreatePDRs[0].PDI.QFIs.Add(1) }, Error{CauseRuleFailure, 0, true, RulePDR, 1, ErrUnsupported}},
		{"no UE address", func(e *Establishment) { e.CreatePDRs[0].PDI.UEAddress = UEAddress{} }, Error{CauseRuleFailure, 0, true, RulePDR, 1, ErrIncomplete}},
		{"Source Interface CP-function", func(e *Establishment) { e.CreatePDRs[1].PDI.SourceInterface = 3 },
			Error{CauseRuleFailure, 0, true, RulePDR, 2, ErrUnsupported}},
		{"two PDRs for one UE address", func(e *Establishment) {
			again := e.CreatePDRs[0]
			again.ID, again.Precedence = 3, 1
			e.CreatePDRs = append(e.CreatePDRs, again)
		}, Error{CauseRuleFailure, 0, true, RulePDR, 1, ErrUnsupported}},
		{"QFI 64", func(e *Establishment) { e.CreateQERs[0].QFI = 64 }, Error{CauseRuleFailure, 0, true, RuleQER, 1, ErrUnsupported}},
		{"17 PDRs", func(e *Establishment) {
			for i := range uint16(15) {
				r := e.CreatePDRs[1]
				r.ID = 10 + i
				e.CreatePDRs = append(e.CreatePDRs, r)
			}
		}, Error{CauseNoResources, 0, true, RulePDR, 24, ErrFull}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, dp := newManager(t, 8)
			req := establishment(IPv4{10, 45, 0, 2})
			tc.change(req)
			_, err := m.Establish(t.Context(), req)
			checkError(t, err, tc.want)
			checkEmpty(t, m, dp)
		})
	}
}

// checkError compares all of an [Error] but for its reason, which it must wrap.
func checkError(t *testing.T, err error, want Error) {
	t.Helper()
	var got *Error
	if !errors.As(err, &got) {
		t.Fatalf("%v, want cause %d", err, want.Cause)
	}
	if !errors.Is(err, want.Err) {
		t.Errorf("%v, want %v", err, want.Err)
	}
	g := *got
	g.Err = want.Err
	if g != want {
		t.Errorf("got %+v (%v), want %+v", g, err, want)
	}
}
