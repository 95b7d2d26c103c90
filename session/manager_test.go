package session

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEstablish(t *testing.T) {
	m, dp := newManager(t, 8)
	req := establishment(IPv4{10, 45, 0, 2})
	s, err := m.Establish(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	teid := s.PDR(2).PDI.FTEID.TEID
	if s.SEID == 0 || teid == 0 {
		t.Errorf("SEID %#x, TEID %#x; want neither 0", s.SEID, teid)
	}
	want := &Session{
		SEID: s.SEID, Owner: 1, CP: req.CP,
		PDRs: []PDR{req.CreatePDRs[0].PDR, req.CreatePDRs[1].PDR}, FARs: req.CreateFARs, QERs: req.CreateQERs,
	}
	want.PDRs[1].PDI.FTEID = FTEID{TEID: teid, IPv4: n3}
	for name, got := range map[string]*Session{
		"result": s, "Get": m.Get(s.SEID), "ByTEID": m.ByTEID(teid), "datapath": dp.sessions[s.SEID],
		"ByUEAddress": m.ByUEAddress(UEAddress{IPv4: IPv4{10, 45, 0, 2}}),
	} {
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	// The manager has copied what it keeps.
	req.CreatePDRs[0].QERIDs[0] = 77
	if got := m.Get(s.SEID).PDRs[0].QERIDs[0]; got != 1 {
		t.Errorf("QER ID %d after the request's memory was used again, want 1", got)
	}
	if err := m.Delete(t.Context(), s.SEID, 1); err != nil {
		t.Fatal(err)
	}
	checkEmpty(t, m, dp)
}

func TestOwner(t *testing.T) {
	m, _ := newManager(t, 8)
	s, err := m.Establish(t.Context(), establishment(IPv4{10, 45, 0, 2}))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Delete(t.Context(), s.SEID, 2); cause(err) != CauseSessionContextNotFound {
		t.Errorf("Delete by another owner: %v, want cause %d", err, CauseSessionContextNotFound)
	}
	if _, err := m.Modify(t.Context(), &Modification{SEID: s.SEID, Owner: 2}); cause(err) != CauseSessionContextNotFound {
		t.Errorf("Modify by another owner: %v, want cause %d", err, CauseSessionContextNotFound)
	}
	if m.Get(s.SEID) != s {
		t.Error("the session changed")
	}
}

func TestFull(t *testing.T) {
	m, dp := newManager(t, 2)
	for i := range byte(2) {
		if _, err := m.Establish(t.Context(), establishment(IPv4{10, 45, 0, i + 2})); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.Establish(t.Context(), establishment(IPv4{10, 45, 0, 9})); cause(err) != CauseNoResources {
		t.Errorf("session 3 of 2: %v, want cause %d", err, CauseNoResources)
	}
	if n, err := m.DeleteOwned(t.Context(), 2); n != 0 || err != nil {
		t.Errorf("DeleteOwned of nobody = %d, %v", n, err)
	}
	if n, err := m.DeleteOwned(t.Context(), 1); n != 2 || err != nil {
		t.Errorf("DeleteOwned = %d, %v; want 2", n, err)
	}
	checkEmpty(t, m, dp)
}

// TestHeld: a second session may not claim what the first one has, whoever
// chose it, and nothing is left of it.
func TestHeld(t *testing.T) {
	m, dp := newManager(t, 8)
	first, err := m.Establish(t.Context(), establishment(IPv4{10, 45, 0, 2}))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		req  func() *Establishment
		pdr  uint32
	}{
		{"UE address", func() *Establishment { return establishment(IPv4{10, 45, 0, 2}) }, 1},
		{"TEID allocated here", func() *Establishment {
			e := establishment(IPv4{10, 45, 0, 3})
			e.CreatePDRs[1].PDI.Choose = Choose{}
			e.CreatePDRs[1].PDI.FTEID = first.PDR(2).PDI.FTEID
			return e
		}, 2},
	} {
		_, err := m.Establish(t.Context(), tc.req())
		var e *Error
		if !errors.As(err, &e) || e.Cause != CauseRuleFailure || e.Rule != RulePDR || e.RuleID != tc.pdr || !errors.Is(err, ErrHeld) {
			t.Errorf("%s: %v, want PDR %d %v", tc.name, err, tc.pdr, ErrHeld)
		}
	}
	given := establishment(IPv4{10, 45, 0, 3})
	given.CreatePDRs[1].PDI.Choose = Choose{}
	given.CreatePDRs[1].PDI.FTEID = FTEID{TEID: 1, IPv4: n3}
	second, err := m.Establish(t.Context(), given)
	if err != nil {
		t.Fatal(err)
	}
	given.CreatePDRs[0].PDI.UEAddress.IPv4[3] = 4
	given.CreatePDRs[1].PDI.UEAddress.IPv4[3] = 4
	if _, err := m.Establish(t.Context(), given); !errors.Is(err, ErrHeld) {
		t.Errorf("TEID chosen twice: %v, want %v", err, ErrHeld)
	}
	for _, s := range []*Session{first, second} {
		if err := m.Delete(t.Context(), s.SEID, 1); err != nil {
			t.Fatal(err)
		}
	}
	checkEmpty(t, m, dp)
}

// TestRollback: what the datapath refuses leaves nothing behind.
func TestRollback(t *testing.T) {
	m, dp := newManager(t, 8)
	refusal := &Error{Cause: CauseRuleFailure, HasRule: true, Rule: RuleFAR, RuleID: 2, Err: errFake}
	dp.fail = func() error { return refusal }
	if _, err := m.Establish(t.Context(), establishment(IPv4{10, 45, 0, 2})); !errors.Is(err, refusal) {
		t.Errorf("Establish: %v, want %v", err, refusal)
	}
	checkEmpty(t, m, dp)

	dp.fail = nil
	s, err := m.Establish(t.Context(), establishment(IPv4{10, 45, 0, 2}))
	if err != nil {
		t.Fatal(err)
	}
	dp.fail = func() error { return errFake }
	change := establishment(IPv4{10, 45, 0, 3})
	mod := &Modification{
		SEID: s.SEID, Owner: 1, RemovePDRs: []uint16{1, 2}, CreatePDRs: change.CreatePDRs,
	}
	if _, err := m.Modify(t.Context(), mod); cause(err) != CauseSystemFailure {
		t.Errorf("Modify: %v, want cause %d", err, CauseSystemFailure)
	}
	if err := m.Delete(t.Context(), s.SEID, 1); cause(err) != CauseSystemFailure {
		t.Errorf("Delete: %v, want cause %d", err, CauseSystemFailure)
	}
	if m.Get(s.SEID) != s || m.ByTEID(s.PDR(2).PDI.FTEID.TEID) != s || m.ByUEAddress(change.CreatePDRs[0].PDI.UEAddress) != nil {
		t.Error("a failed change left its mark")
	}
	dp.fail = nil
	if _, err := m.Modify(t.Context(), mod); err != nil {
		t.Fatal(err)
	}
	if m.ByUEAddress(UEAddress{IPv4: IPv4{10, 45, 0, 2}}) != nil || m.ByUEAddress(UEAddress{IPv4: IPv4{10, 45, 0, 3}}) == nil {
		t.Error("the UE address did not change")
	}
	if err := m.Delete(t.Context(), s.SEID, 1); err != nil {
		t.Fatal(err)
	}
	checkEmpty(t, m, dp)
}

// cause returns the Cause of an [Error], or 0.
func cause(err error) Cause {
	var e *Error
	if errors.As(err, &e) {
		return e.Cause
	}
	return 0
}

// TestChooseID: PDRs with the same CHOOSE ID get one F-TEID, and as no datapath
// can tell two such PDRs apart yet, the second one is at fault.
func TestChooseID(t *testing.T) {
	m, dp := newManager(t, 8)
	req := establishment(IPv4{10, 45, 0, 2})
	req.CreatePDRs[1].PDI.Choose = Choose{CH: true, CHID: true, ID: 7}
	second := req.CreatePDRs[1]
	second.ID = 3
	req.CreatePDRs = append(req.CreatePDRs, second)
	_, err := m.Establish(t.Context(), req)
	var e *Error
	if !errors.As(err, &e) || e.RuleID != 3 || !errors.Is(err, ErrUnsupported) {
		t.Errorf("two PDRs with one CHOOSE ID: %v, want PDR 3 %v", err, ErrUnsupported)
	}
	checkEmpty(t, m, dp)

	// Plan and allocation by themselves: one F-TEID for both, another for CHOOSE ID 8.
	third := second
	third.ID, third.PDI.Choose.ID = 4, 8
	req.CreatePDRs = append(req.CreatePDRs, third)
	p := plan{n3: []IPv4{n3}}
	if err := p.establish(req, 1); err != nil {
		t.Fatal(err)
	}
	var taken []resource
	if err := m.allocate(&p, &taken); err != nil {
		t.Fatal(err)
	}
	a, b, c := p.next.PDR(2).PDI.FTEID, p.next.PDR(3).PDI.FTEID, p.next.PDR(4).PDI.FTEID
	if a != b || a == c || len(taken) != 2 {
		t.Errorf("F-TEIDs %v %v %v, %d allocated; want the first two equal and 2", a, b, c, len(taken))
	}
	m.release(taken)

	// In a later request the same CHOOSE ID means another F-TEID, and the old one
	// is free again.
	req.CreatePDRs = req.CreatePDRs[:2]
	s, err := m.Establish(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	pdi := req.CreatePDRs[1].PDI
	pdi.QFIs.Add(5)
	after, err := m.Modify(t.Context(), &Modification{SEID: s.SEID, Owner: 1, UpdatePDRs: []UpdatePDR{{ID: 2, PDI: &pdi}}})
	if err != nil {
		t.Fatal(err)
	}
	before, now := s.PDR(2).PDI.FTEID.TEID, after.PDR(2).PDI.FTEID.TEID
	if before == now || m.ByTEID(before) != nil || m.ByTEID(now) != after || !after.PDR(2).PDI.QFIs.Has(5) {
		t.Errorf("TEID %#x, then %#x; sessions %v, %v", before, now, m.ByTEID(before), m.ByTEID(now))
	}
	if err := m.Delete(t.Context(), s.SEID, 1); err != nil {
		t.Fatal(err)
	}
	checkEmpty(t, m, dp)
}
