package session

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestModify: each row changes the usual session, and want is what differs.
func TestModify(t *testing.T) {
	for _, tc := range []struct {
		name   string
		req    Modification
		change func(*Session) // of the session before
	}{
		{"nothing", Modification{}, func(*Session) {}},
		{"F-SEID of the CP function", Modification{CP: Some(FSEID{SEID: 5, IPv4: IPv4{1, 2, 3, 4}})},
			func(s *Session) { s.CP = FSEID{SEID: 5, IPv4: IPv4{1, 2, 3, 4}} }},
		{"path switch changes the tunnel alone", Modification{UpdateFARs: []UpdateFAR{{
			ID: 1, HasForwarding: true, OuterHeaderCreation: Some(OuterHeaderCreation{TEID: 9, IPv4: IPv4{10, 3, 0, 9}}),
		}}}, func(s *Session) {
			s.FARs[0].Forwarding.OuterHeaderCreation = OuterHeaderCreation{TEID: 9, IPv4: IPv4{10, 3, 0, 9}}
		}},
		{"DROP keeps the parameters", Modification{UpdateFARs: []UpdateFAR{{ID: 1, ApplyAction: Some(Drop)}}},
			func(s *Session) { s.FARs[0].ApplyAction = Drop }},
		{"DSCP and Network Instance", Modification{UpdateFARs: []UpdateFAR{{
			ID: 1, HasForwarding: true, DSCP: Some(uint8(46)), NetworkInstance: Some("access"),
		}}}, func(s *Session) {
			f := &s.FARs[0].Forwarding
			f.DSCP, f.NetworkInstance = Some(uint8(46)), "access"
		}},
		{"gates, MBR, GBR, QFI", Modification{UpdateQERs: []UpdateQER{{
			ID: 1, Gates: Some(GateStatus{true, false}), MBR: Some(Rate{3, 4}), GBR: Some(Rate{1, 2}), QFI: Some(uint8(5)),
		}}}, func(s *Session) {
			s.QERs[0] = QER{ID: 1, UplinkGateClosed: true, HasMBR: true, MBR: Rate{3, 4}, HasGBR: true, GBR: Rate{1, 2}, QFI: 5}
		}},
		{"precedence puts the PDR first", Modification{UpdatePDRs: []UpdatePDR{{ID: 2, Precedence: Some(uint32(1))}}},
			func(s *Session) { s.PDRs[1].Precedence = 1; s.PDRs[0], s.PDRs[1] = s.PDRs[1], s.PDRs[0] }},
		{"QER taken from a PDR", Modification{UpdatePDRs: []UpdatePDR{{ID: 1, QERIDs: []uint32{}}}},
			func(s *Session) { s.PDRs[0].QERIDs = nil }},
		{"FAR replaced by another of its ID", Modification{
			RemoveFARs: []uint32{2},
			CreateFARs: []FAR{{ID: 2, ApplyAction: Drop}},
		}, func(s *Session) { s.FARs[1] = FAR{ID: 2, ApplyAction: Drop} }},
		{"FAR and QER added", Modification{
			CreateFARs: []FAR{{ID: 3, ApplyAction: Drop}}, CreateQERs: []QER{{ID: 0, QFI: 3}},
		}, func(s *Session) {
			s.FARs = append(s.FARs, FAR{ID: 3, ApplyAction: Drop})
			s.QERs = append([]QER{{QFI: 3}}, s.QERs...)
		}},
		{"PDR removed with its FAR", Modification{RemovePDRs: []uint16{1}, RemoveFARs: []uint32{1}},
			func(s *Session) { s.PDRs, s.FARs = s.PDRs[1:], s.FARs[1:] }},
		{"FAR removed that a PDR names", Modification{RemoveFARs: []uint32{1}}, func(s *Session) {
			s.FARs, s.PDRs[0].FARID, s.PDRs[0].NoFAR = s.FARs[1:], 0, true
		}},
		{"QER removed that PDRs name", Modification{RemoveQERs: []uint32{1}}, func(s *Session) {
			s.QERs = nil
			for i := range s.PDRs {
				s.PDRs[i].QERIDs = nil
			}
		}},
		{"all PDRs removed", Modification{RemovePDRs: []uint16{2, 1}}, func(s *Session) { s.PDRs = nil }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, dp := newManager(t, 8)
			before, err := establish(m, establishment(IPv4{10, 45, 0, 2}))
			if err != nil {
				t.Fatal(err)
			}
			want := clone(before)
			tc.change(want)
			tc.req.SEID, tc.req.Owner = before.SEID, 1
			got, err := modify(m, &tc.req)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got, equal); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if d := cmp.Diff(m.Get(before.SEID), got, equal) + cmp.Diff(dp.sessions[before.SEID], got, equal); d != "" {
				t.Errorf("manager and datapath hold another session than the result (-they +result):\n%s", d)
			}
			if err := remove(m, before.SEID, 1); err != nil {
				t.Fatal(err)
			}
			checkEmpty(t, m, dp)
		})
	}
}

// TestModifyRefused: the rule at fault is named and the session is as before.
func TestModifyRefused(t *testing.T) {
	for _, tc := range []struct {
		name string
		req  Modification
		want Error
	}{
		{"FAR removed that an update of a PDR names", Modification{
			RemoveFARs: []uint32{1}, UpdatePDRs: []UpdatePDR{{ID: 1, FARID: Some(uint32(1))}},
		}, Error{CauseRuleFailure, 0, true, RuleFAR, 1, ErrInUse}},
		{"QER removed that an update of a PDR names", Modification{
			RemoveQERs: []uint32{1}, UpdatePDRs: []UpdatePDR{{ID: 1, QERIDs: []uint32{1}}},
		}, Error{CauseRuleFailure, 0, true, RuleQER, 1, ErrInUse}},
		{"PDR to an unknown FAR", Modification{UpdatePDRs: []UpdatePDR{{ID: 1, FARID: Some(uint32(8))}}},
			Error{CauseRuleFailure, 0, true, RulePDR, 1, ErrReference}},
		{"PDR to an unknown QER", Modification{UpdatePDRs: []UpdatePDR{{ID: 2, QERIDs: []uint32{8}}}},
			Error{CauseRuleFailure, 0, true, RulePDR, 2, ErrReference}},
		{"no such PDR to update", Modification{UpdatePDRs: []UpdatePDR{{ID: 8}}}, Error{CauseRuleFailure, 0, true, RulePDR, 8, ErrNoRule}},
		{"no such FAR to update", Modification{UpdateFARs: []UpdateFAR{{ID: 8}}}, Error{CauseRuleFailure, 0, true, RuleFAR, 8, ErrNoRule}},
		{"no such QER to update", Modification{UpdateQERs: []UpdateQER{{ID: 8}}}, Error{CauseRuleFailure, 0, true, RuleQER, 8, ErrNoRule}},
		{"no such PDR to remove", Modification{RemovePDRs: []uint16{8}}, Error{CauseRuleFailure, 0, true, RulePDR, 8, ErrNoRule}},
		{"no such FAR to remove", Modification{RemoveFARs: []uint32{8}}, Error{CauseRuleFailure, 0, true, RuleFAR, 8, ErrNoRule}},
		{"no such QER to remove", Modification{RemoveQERs: []uint32{8}}, Error{CauseRuleFailure, 0, true, RuleQER, 8, ErrNoRule}},
		{"removed twice", Modification{RemovePDRs: []uint16{1, 1}}, Error{CauseRuleFailure, 0, true, RulePDR, 1, ErrNoRule}},
		{"created twice", Modification{CreateFARs: []FAR{{ID: 1, ApplyAction: Drop}}}, Error{CauseRuleFailure, 0, true, RuleFAR, 1, ErrDuplicate}},
		{"DUPL", Modification{UpdateFARs: []UpdateFAR{{ID: 1, ApplyAction: Some(ApplyAction(0x12))}}},
			Error{CauseRuleFailure, 0, true, RuleFAR, 1, ErrIncomplete}},
		{"URR asked for that there is not", Modification{QueryURRs: []uint32{8}}, Error{CauseRuleFailure, 0, true, RuleURR, 8, ErrNoRule}},
		{"no such Traffic Endpoint to update", Modification{UpdateEndpoints: []UpdateTrafficEndpoint{{ID: 8}}},
			Error{CauseRuleFailure, IEUpdateTrafficEndpoint, false, 0, 0, ErrNoRule}},
		{"predefined rule that is not active", Modification{UpdatePDRs: []UpdatePDR{{ID: 2, Deactivate: []string{"x"}}}},
			Error{CauseRuleFailure, 0, true, RulePDR, 2, ErrNoRule}},
		{"the good first, the bad last", Modification{
			RemovePDRs: []uint16{1}, UpdateQERs: []UpdateQER{{ID: 1, QFI: Some(uint8(3))}},
			CreatePDRs: []PDR{{ID: 9, FARID: 2, OuterHeaderRemoval: true,
				PDI: PDI{SourceInterface: Access, Choose: Choose{CH: true}}}},
			CreateQERs: []QER{{ID: 2, QFI: 70}},
		}, Error{CauseRuleFailure, 0, true, RuleQER, 2, ErrUnsupported}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, dp := newManager(t, 8)
			before, err := establish(m, establishment(IPv4{10, 45, 0, 2}))
			if err != nil {
				t.Fatal(err)
			}
			copied := clone(before)
			tc.req.SEID, tc.req.Owner = before.SEID, 1
			_, err = modify(m, &tc.req)
			checkError(t, err, tc.want)
			if d := cmp.Diff(copied, m.Get(before.SEID), equal) + cmp.Diff(copied, dp.sessions[before.SEID], equal); d != "" {
				t.Errorf("the session changed (-want +got):\n%s", d)
			}
			if err := remove(m, before.SEID, 1); err != nil {
				t.Fatal(err)
			}
			checkEmpty(t, m, dp)
		})
	}
}

func clone(s *Session) *Session {
	c := *s
	c.PDRs = append([]PDR(nil), s.PDRs...)
	c.FARs = append([]FAR(nil), s.FARs...)
	c.QERs = append([]QER(nil), s.QERs...)
	return &c
}

// equal compares sessions: an empty list is one that is not there.
var equal = cmp.Options{cmpopts.EquateEmpty(), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })}

// TestRemoveNamed: a rule that others name is removed with its ID there, the last report
// of a URR is in the result, and of what is left nothing names what there is not.
func TestRemoveNamed(t *testing.T) {
	m, dp := newManager(t, 8)
	e := establishment(IPv4{10, 45, 0, 2})
	e.CreateBARs = []BAR{{ID: 4}}
	e.CreateFARs = append(e.CreateFARs, FAR{ID: 7, ApplyAction: Drop}, FAR{ID: 8, ApplyAction: Buffer, BARID: Some(uint8(4))})
	e.CreateURRs = []URR{
		{ID: 1, Method: MeasureVolume, LinkedURRs: []uint32{2}}, {ID: 2, Method: MeasureVolume, QuotaFAR: Some(uint32(7))},
	}
	for i := range e.CreatePDRs {
		e.CreatePDRs[i].URRIDs = []uint32{1, 2}
	}
	s := must(t, m, e)
	var r Result
	if err := m.Modify(t.Context(), &Modification{
		SEID: s.SEID, Owner: 1, RemoveURRs: []uint32{2}, RemoveFARs: []uint32{7, 1}, RemoveBARs: []uint8{4},
	}, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Reports) != 1 || r.Reports[0].URRID != 2 || r.Reports[0].Trigger&TriggerTERMR == 0 {
		t.Errorf("reports %+v, want the last one of URR 2", r.Reports)
	}
	got := m.Get(s.SEID)
	if p := got.PDR(1); !p.NoFAR || !slices.Equal(p.URRIDs, []uint32{1}) {
		t.Errorf("PDR 1: FAR %d, none %v, URRs %v; want none, and URR 1", p.FARID, p.NoFAR, p.URRIDs)
	}
	if f := got.FAR(8); f.BARID.Present || len(got.BARs) != 0 {
		t.Errorf("FAR 8 names BAR %v", f.BARID)
	}
	if u := got.URR(1); len(u.LinkedURRs) != 0 || len(got.URRs) != 1 {
		t.Errorf("URRs %+v, want URR 1 without link", got.URRs)
	}
	mustModify(t, m, s.SEID, Modification{
		CreateFARs: []FAR{{ID: 1, ApplyAction: Drop}}, UpdatePDRs: []UpdatePDR{{ID: 1, FARID: Some(uint32(1))}},
	})
	if err := remove(m, s.SEID, 1); err != nil {
		t.Fatal(err)
	}
	checkEmpty(t, m, dp)
}
