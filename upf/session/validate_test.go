package session

import (
	"errors"
	"slices"
	"testing"
)

// TestChosenBesideGiven: a UE IPv4 address that is chosen counts as one that is given, in
// an establishment and in a modification.
func TestChosenBesideGiven(t *testing.T) {
	m, dp := newManagerOf(t, Config{
		MaxSessions: 8, Endpoints: []Endpoint{{Name: "n3", IPv4: n3}},
		Pools: []Pool{{Name: "p", Prefixes: prefixes("10.60.0.0/24")}},
	})
	req := establishment(IPv4{10, 45, 0, 2})
	given := req.CreatePDRs[0].PDI
	chosen := PDI{SourceInterface: Core, ChooseUE: ChooseUE{V4: true}}
	req.CreatePDRs[0].PDI = chosen
	_, err := establish(m, req)
	checkError(t, err, Error{CauseRuleFailure, 0, true, RulePDR, 2, ErrDisagree})
	checkEmpty(t, m, dp)
	req.CreatePDRs[0].PDI = given
	s := must(t, m, req)
	_, err = modify(m, &Modification{SEID: s.SEID, Owner: 1, UpdatePDRs: []UpdatePDR{{ID: 1, PDI: Some(chosen)}}})
	checkError(t, err, Error{CauseRuleFailure, 0, true, RulePDR, 2, ErrDisagree})
	if err := remove(m, s.SEID, 1); err != nil {
		t.Fatal(err)
	}
	checkEmpty(t, m, dp)
}

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
		{"PDR twice", func(e *Establishment) { e.CreatePDRs[1].ID = 1 }, Error{CauseRuleFailure, 0, true, RulePDR, 1, ErrDuplicate}},
		{"FAR twice", func(e *Establishment) { e.CreateFARs[1].ID = 1 }, Error{CauseRuleFailure, 0, true, RuleFAR, 1, ErrDuplicate}},
		{"QER twice", func(e *Establishment) { e.CreateQERs = append(e.CreateQERs, e.CreateQERs[0]) },
			Error{CauseRuleFailure, 0, true, RuleQER, 1, ErrDuplicate}},
		{"unknown FAR", func(e *Establishment) { e.CreatePDRs[0].FARID = 9 }, Error{CauseRuleFailure, 0, true, RulePDR, 1, ErrReference}},
		{"unknown QER", func(e *Establishment) { e.CreatePDRs[1].QERIDs = []uint32{1, 9} }, Error{CauseRuleFailure, 0, true, RulePDR, 2, ErrReference}},
		{"FAR 0 is not there by itself", func(e *Establishment) { e.CreatePDRs[0].FARID = 0 },
			Error{CauseRuleFailure, 0, true, RulePDR, 1, ErrReference}},
		{"DUPL to nowhere", func(e *Establishment) { e.CreateFARs[0].ApplyAction = Forward | Copy }, Error{CauseRuleFailure, 0, true, RuleFAR, 1, ErrIncomplete}},
		{"DROP and DUPL", func(e *Establishment) { e.CreateFARs[0].ApplyAction = Drop | Copy }, Error{CauseRuleFailure, 0, true, RuleFAR, 1, ErrUnsupported}},
		{"FORW and NOCP", func(e *Establishment) { e.CreateFARs[0].ApplyAction = Forward | Notify }, Error{CauseRuleFailure, 0, true, RuleFAR, 1, ErrUnsupported}},
		{"no action", func(e *Establishment) { e.CreateFARs[0].ApplyAction = 0 }, Error{CauseRuleFailure, 0, true, RuleFAR, 1, ErrUnsupported}},
		{"FORW without parameters", func(e *Establishment) { e.CreateFARs[1].HasForwarding = false },
			Error{CauseConditionalIEMissing, IEForwardingParameters, false, 0, 0, ErrIncomplete}},
		{"unknown BAR", func(e *Establishment) { e.CreateFARs[0].BARID = Some(uint8(7)) }, Error{CauseRuleFailure, 0, true, RuleFAR, 1, ErrReference}},
		{"BAR twice", func(e *Establishment) { e.CreateBARs = []BAR{{ID: 7}, {ID: 7}} }, Error{CauseRuleFailure, 0, true, RuleBAR, 7, ErrDuplicate}},
		{"towards the LI function", func(e *Establishment) { e.CreateFARs[1].Forwarding.DestinationInterface = 4 },
			Error{CauseRuleFailure, 0, true, RuleFAR, 2, ErrUnsupported}},
		{"tunnel to two places", func(e *Establishment) { e.CreateFARs[0].Forwarding.OuterHeaderCreation.IPv6 = IPv6{0x20} },
			Error{CauseRuleFailure, 0, true, RuleFAR, 1, ErrIncomplete}},
		{"unknown Linked Traffic Endpoint", func(e *Establishment) { e.CreateFARs[1].Forwarding.Endpoint = Some(uint8(1)) },
			Error{CauseRuleFailure, 0, true, RuleFAR, 2, ErrReference}},
		{"from Core to Core", func(e *Establishment) { e.CreatePDRs[0].FARID = 2 }, Error{CauseRuleFailure, 0, true, RulePDR, 1, ErrUnsupported}},
		{"no Outer Header Removal", func(e *Establishment) { e.CreatePDRs[1].OuterHeaderRemoval = false },
			Error{CauseRuleFailure, 0, true, RulePDR, 2, ErrIncomplete}},
		{"Outer Header Removal at Core", func(e *Establishment) { e.CreatePDRs[0].OuterHeaderRemoval = true },
			Error{CauseRuleFailure, 0, true, RulePDR, 1, ErrUnsupported}},
		{"no F-TEID", func(e *Establishment) { e.CreatePDRs[1].PDI.Choose = Choose{} }, Error{CauseRuleFailure, 0, true, RulePDR, 2, ErrIncomplete}},
		{"no F-TEID at CP-function", func(e *Establishment) { e.CreatePDRs[0].PDI.SourceInterface = CPFunction },
			Error{CauseRuleFailure, 0, true, RulePDR, 1, ErrIncomplete}},
		{"F-TEID elsewhere", func(e *Establishment) {
			e.CreatePDRs[1].PDI.Choose, e.CreatePDRs[1].PDI.FTEID = Choose{}, FTEID{TEID: 7, IPv4: IPv4{9, 9, 9, 9}}
		}, Error{CauseRuleFailure, 0, true, RulePDR, 2, ErrUnsupported}},
		{"F-TEID without address", func(e *Establishment) {
			e.CreatePDRs[1].PDI.Choose, e.CreatePDRs[1].PDI.FTEID = Choose{}, FTEID{TEID: 7}
		}, Error{CauseRuleFailure, 0, true, RulePDR, 2, ErrUnsupported}},
		{"F-TEID with an IPv6 address, which there is not", func(e *Establishment) {
			e.CreatePDRs[1].PDI.Choose = Choose{CH: true, V6: true}
		}, Error{CauseRuleFailure, 0, true, RulePDR, 2, ErrUnsupported}},
		{"QFI at Core", func(e *Establishment) { e.CreatePDRs[0].PDI.QFIs.Add(1) }, Error{CauseRuleFailure, 0, true, RulePDR, 1, ErrUnsupported}},
		{"no UE address in the session", func(e *Establishment) {
			e.CreatePDRs[0].PDI.UEAddress, e.CreatePDRs[1].PDI.UEAddress = UEAddress{}, UEAddress{}
		}, Error{CauseRuleFailure, 0, true, RulePDR, 1, ErrIncomplete}},
		{"two UE addresses", func(e *Establishment) { e.CreatePDRs[1].PDI.UEAddress.IPv4 = IPv4{10, 45, 0, 3} },
			Error{CauseRuleFailure, 0, true, RulePDR, 2, ErrDisagree}},
		{"two UE prefixes, and a PDR that has neither", func(e *Establishment) {
			e.CreatePDRs[0].PDI.UEAddress, e.CreatePDRs[1].PDI.UEAddress = UEAddress{IPv6Prefix: IPv6Prefix{0x20, 1}}, UEAddress{IPv6Prefix: IPv6Prefix{0x20, 2}}
			e.CreatePDRs = append(e.CreatePDRs, PDR{ID: 3, FARID: 1, PDI: PDI{SourceInterface: Core}})
		}, Error{CauseRuleFailure, 0, true, RulePDR, 3, ErrDisagree}},
		{"two F-TEIDs, and a PDR that has neither", func(e *Establishment) {
			other := e.CreatePDRs[1]
			other.ID = 3
			e.CreatePDRs = append(e.CreatePDRs, other, PDR{ID: 4, FARID: 2, OuterHeaderRemoval: true, PDI: PDI{SourceInterface: Access}})
		}, Error{CauseRuleFailure, 0, true, RulePDR, 4, ErrDisagree}},
		{"UE address out of no pool", func(e *Establishment) {
			e.CreatePDRs[0].PDI.UEAddress, e.CreatePDRs[0].PDI.ChooseUE = UEAddress{}, ChooseUE{V4: true}
		}, Error{CauseRuleFailure, 0, true, RulePDR, 1, ErrUnsupported}},
		{"Source Interface 4", func(e *Establishment) { e.CreatePDRs[1].PDI.SourceInterface = 4 },
			Error{CauseRuleFailure, 0, true, RulePDR, 2, ErrUnsupported}},
		{"SDF Filter ID of nothing", func(e *Establishment) {
			e.CreatePDRs[1].PDI.Filters = []SDFFilter{{ID: Some(uint32(3)), Reference: true}}
		}, Error{CauseRuleFailure, 0, true, RulePDR, 2, ErrReference}},
		{"unknown application", func(e *Establishment) { e.CreatePDRs[0].PDI.ApplicationID = "x" },
			Error{CauseUnknownApplication, 0, true, RulePDR, 1, ErrReference}},
		{"application and SDF filter", func(e *Establishment) {
			e.CreatePDRs[0].PDI.ApplicationID, e.CreatePDRs[0].PDI.Filters = "x", []SDFFilter{{Protocol: Some(uint8(6))}}
		}, Error{CauseRuleFailure, 0, true, RulePDR, 1, ErrUnsupported}},
		{"unknown predefined rule", func(e *Establishment) { e.CreatePDRs[0].Predefined = []string{"x"} },
			Error{CauseUnknownPredefinedRule, 0, true, RulePDR, 1, ErrReference}},
		{"unknown Traffic Endpoint", func(e *Establishment) { e.CreatePDRs[0].PDI.Endpoint = Some(uint8(9)) },
			Error{CauseRuleFailure, 0, true, RulePDR, 1, ErrReference}},
		{"Traffic Endpoint twice", func(e *Establishment) { e.CreateEndpoints = []TrafficEndpoint{{ID: 3}, {ID: 3}} },
			Error{CauseRuleFailure, IECreateTrafficEndpoint, false, 0, 0, ErrDuplicate}},
		{"Traffic Endpoint elsewhere", func(e *Establishment) {
			e.CreateEndpoints = []TrafficEndpoint{{ID: 3, FTEID: FTEID{TEID: 1, IPv4: IPv4{9, 9, 9, 9}}}}
		}, Error{CauseRuleFailure, IECreateTrafficEndpoint, false, 0, 0, ErrUnsupported}},
		{"unknown URR", func(e *Establishment) { e.CreatePDRs[0].URRIDs = []uint32{9} }, Error{CauseRuleFailure, 0, true, RulePDR, 1, ErrReference}},
		{"events measured", func(e *Establishment) { e.CreateURRs = []URR{{ID: 5, Method: MeasureEvent}} },
			Error{CauseRuleFailure, 0, true, RuleURR, 5, ErrUnsupported}},
		{"linked to no URR", func(e *Establishment) { e.CreateURRs = []URR{{ID: 5, LinkedURRs: []uint32{6}}} },
			Error{CauseRuleFailure, 0, true, RuleURR, 5, ErrReference}},
		{"QFI 64", func(e *Establishment) { e.CreateQERs[0].QFI = 64 }, Error{CauseRuleFailure, 0, true, RuleQER, 1, ErrUnsupported}},
		{"129 PDRs", func(e *Establishment) {
			for i := range uint16(127) {
				r := e.CreatePDRs[1]
				r.ID = 10 + i
				e.CreatePDRs = append(e.CreatePDRs, r)
			}
		}, Error{CauseNoResources, 0, true, RulePDR, 136, ErrFull}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, dp := newManager(t, 8)
			req := establishment(IPv4{10, 45, 0, 2})
			tc.change(req)
			_, err := establish(m, req)
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

// TestURRZero: URR 0 is measured where the session has it. Where it has none, a PDR may
// name it, unless the request removes it.
func TestURRZero(t *testing.T) {
	m, _ := newManager(t, 8)
	e := establishment(IPv4{10, 45, 0, 2})
	e.CreateURRs = []URR{{ID: 7, Method: MeasureVolume}}
	e.CreatePDRs[0].URRIDs, e.CreatePDRs[1].URRIDs = []uint32{0, 7}, []uint32{0}
	s := must(t, m, e)
	if a, b := s.PDR(1).URRIDs, s.PDR(2).URRIDs; !slices.Equal(a, []uint32{7}) || len(b) != 0 {
		t.Errorf("measured by %v and %v, want by URR 7 and none", a, b)
	}
	s = mustModify(t, m, s.SEID, Modification{
		CreateURRs: []URR{{ID: 0, Method: MeasureVolume}}, UpdatePDRs: []UpdatePDR{{ID: 2, URRIDs: []uint32{0}}},
	})
	if a := s.PDR(2).URRIDs; !slices.Equal(a, []uint32{0}) {
		t.Errorf("measured by %v, want by URR 0", a)
	}
	if _, err := modify(m, &Modification{
		SEID: s.SEID, Owner: 1, RemoveURRs: []uint32{0}, UpdatePDRs: []UpdatePDR{{ID: 2, URRIDs: []uint32{0}}},
	}); !errors.Is(err, ErrInUse) {
		t.Errorf("URR 0 removed and named: %v, want %v", err, ErrInUse)
	}
}
