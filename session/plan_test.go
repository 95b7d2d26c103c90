package session

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func ptr[T any](v T) *T { return &v }

// TestModify: each row changes the usual session, and want is what differs.
func TestModify(t *testing.T) {
	for _, tc := range []struct {
		name   string
		req    Modification
		change func(*Session) // of the session before
	}{
		{"nothing", Modification{}, func(*Session) {}},
		{"F-SEID of the CP function", Modification{CP: &FSEID{SEID: 5, IPv4: IPv4{1, 2, 3, 4}}},
			func(s *Session) { s.CP = FSEID{SEID: 5, IPv4: IPv4{1, 2, 3, 4}} }},
		{"path switch changes the tunnel alone", Modification{UpdateFARs: []UpdateFAR{{
			ID: 1, HasForwarding: true, OuterHeaderCreation: &OuterHeaderCreation{TEID: 9, IPv4: IPv4{10, 3, 0, 9}},
		}}}, func(s *Session) {
			s.FARs[0].Forwarding.OuterHeaderCreation = OuterHeaderCreation{TEID: 9, IPv4: IPv4{10, 3, 0, 9}}
		}},
		{"DROP keeps the parameters", Modification{UpdateFARs: []UpdateFAR{{ID: 1, ApplyAction: ptr(Drop)}}},
			func(s *Session) { s.FARs[0].ApplyAction = Drop }},
		{"DSCP and Network Instance", Modification{UpdateFARs: []UpdateFAR{{
			ID: 1, HasForwarding: true, DSCP: ptr(uint8(46)), NetworkInstance: ptr("access"),
		}}}, func(s *Session) {
			f := &s.FARs[0].Forwarding
			f.HasDSCP, f.DSCP, f.NetworkInstance = true, 46, "access"
		}},
		{"gates, MBR, GBR, QFI", Modification{UpdateQERs: []UpdateQER{{
			ID: 1, Gates: &GateStatus{true, false}, MBR: &Rate{3, 4}, GBR: &Rate{1, 2}, QFI: ptr(uint8(5)),
		}}}, func(s *Session) {
			s.QERs[0] = QER{ID: 1, UplinkGateClosed: true, HasMBR: true, MBR: Rate{3, 4}, HasGBR: true, GBR: Rate{1, 2}, QFI: 5}
		}},
		{"precedence puts the PDR first", Modification{UpdatePDRs: []UpdatePDR{{ID: 2, Precedence: ptr(uint32(1))}}},
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
		{"all PDRs removed", Modification{RemovePDRs: []uint16{2, 1}}, func(s *Session) { s.PDRs = nil }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, dp := newManager(t, 8)
			before, err := m.Establish(t.Context(), establishment(IPv4{10, 45, 0, 2}))
			if err != nil {
				t.Fatal(err)
			}
			want := clone(before)
			tc.change(want)
			tc.req.SEID, tc.req.Owner = before.SEID, 1
			got, err := m.Modify(t.Context(), &tc.req)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(normal(want), normal(got)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if m.Get(before.SEID) != got || dp.sessions[before.SEID] != got {
				t.Error("manager and datapath hold another session than the result")
			}
			if err := m.Delete(t.Context(), before.SEID, 1); err != nil {
				t.Fatal(err)
			}
			checkEmpty(t, m, dp)
		})
	}
}

// TestModifyRefused: the rule at fault is named and the session is as before.
func TestModifyRefused(t *testing.T) {
	tunnelToCore := Interface(1)
	for _, tc := range []struct {
		name string
		req  Modification
		want Error
	}{
		{"FAR removed that a PDR names", Modification{RemoveFARs: []uint32{1}}, Error{CauseRuleFailure, 0, true, RuleFAR, 1, ErrInUse}},
		{"QER removed that a PDR names", Modification{RemoveQERs: []uint32{1}}, Error{CauseRuleFailure, 0, true, RuleQER, 1, ErrInUse}},
		{"PDR to an unknown FAR", Modification{UpdatePDRs: []UpdatePDR{{ID: 1, FARID: ptr(uint32(8))}}},
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
		{"BUFF", Modification{UpdateFARs: []UpdateFAR{{ID: 1, ApplyAction: ptr(ApplyAction(4))}}},
			Error{CauseRuleFailure, 0, true, RuleFAR, 1, ErrUnsupported}},
		{"N9", Modification{UpdateFARs: []UpdateFAR{{ID: 1, HasForwarding: true, DestinationInterface: &tunnelToCore}}},
			Error{CauseRuleFailure, 0, true, RuleFAR, 1, ErrUnsupported}},
		{"SDF filter", Modification{UpdatePDRs: []UpdatePDR{{ID: 2, SDFFilters: [][]byte{[]byte("permit out 17 from any to assigned")}}}},
			Error{CauseRuleFailure, 0, true, RulePDR, 2, ErrUnsupported}},
		{"the good first, the bad last", Modification{
			RemovePDRs: []uint16{1}, UpdateQERs: []UpdateQER{{ID: 1, QFI: ptr(uint8(3))}},
			CreatePDRs: []CreatePDR{{PDR: PDR{ID: 9, FARID: 2, OuterHeaderRemoval: true,
				PDI: PDI{SourceInterface: Access, Choose: Choose{CH: true}}}}},
			CreateQERs: []QER{{ID: 2, QFI: 70}},
		}, Error{CauseRuleFailure, 0, true, RuleQER, 2, ErrUnsupported}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, dp := newManager(t, 8)
			before, err := m.Establish(t.Context(), establishment(IPv4{10, 45, 0, 2}))
			if err != nil {
				t.Fatal(err)
			}
			copied := clone(before)
			tc.req.SEID, tc.req.Owner = before.SEID, 1
			_, err = m.Modify(t.Context(), &tc.req)
			checkError(t, err, tc.want)
			if d := cmp.Diff(copied, before); d != "" || m.Get(before.SEID) != before || dp.sessions[before.SEID] != before {
				t.Errorf("the session changed (-want +got):\n%s", d)
			}
			if err := m.Delete(t.Context(), before.SEID, 1); err != nil {
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

// normal makes empty lists nil: they mean the same.
func normal(s *Session) *Session {
	c := clone(s)
	for i := range c.PDRs {
		if len(c.PDRs[i].QERIDs) == 0 {
			c.PDRs[i].QERIDs = nil
		}
	}
	return c
}
