package session

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEstablish(t *testing.T) {
	m, dp := newManager(t, 8)
	req := establishment(IPv4{10, 45, 0, 2})
	s, err := establish(m, req)
	if err != nil {
		t.Fatal(err)
	}
	teid := s.PDR(2).PDI.FTEID.TEID
	if s.SEID == 0 || teid == 0 {
		t.Errorf("SEID %#x, TEID %#x; want neither 0", s.SEID, teid)
	}
	want := &Session{
		SEID: s.SEID, Owner: 1, CP: req.CP,
		PDRs: append([]PDR(nil), req.CreatePDRs...), FARs: req.CreateFARs, QERs: req.CreateQERs,
	}
	want.PDRs[1].PDI.FTEID = FTEID{TEID: teid, IPv4: n3}
	for name, got := range map[string]*Session{
		"result": s, "Get": m.Get(s.SEID), "ByFTEID": m.ByFTEID(FTEID{TEID: teid, IPv4: n3}), "datapath": dp.sessions[s.SEID],
		"ByUEAddress": m.ByUEAddress(UEAddress{IPv4: IPv4{10, 45, 0, 2}}),
	} {
		if d := cmp.Diff(want, got, equal); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	// The manager has copied what it keeps.
	req.CreatePDRs[0].QERIDs[0] = 77
	if got := m.Get(s.SEID).PDRs[0].QERIDs[0]; got != 1 {
		t.Errorf("QER ID %d after the request's memory was used again, want 1", got)
	}
	if err := remove(m, s.SEID, 1); err != nil {
		t.Fatal(err)
	}
	checkEmpty(t, m, dp)
}

func TestOwner(t *testing.T) {
	m, _ := newManager(t, 8)
	s, err := establish(m, establishment(IPv4{10, 45, 0, 2}))
	if err != nil {
		t.Fatal(err)
	}
	if err := remove(m, s.SEID, 2); cause(err) != CauseSessionContextNotFound {
		t.Errorf("Delete by another owner: %v, want cause %d", err, CauseSessionContextNotFound)
	}
	if _, err := modify(m, &Modification{SEID: s.SEID, Owner: 2}); cause(err) != CauseSessionContextNotFound {
		t.Errorf("Modify by another owner: %v, want cause %d", err, CauseSessionContextNotFound)
	}
	if d := cmp.Diff(s, m.Get(s.SEID), equal); d != "" {
		t.Errorf("the session changed:\n%s", d)
	}
}

func TestFull(t *testing.T) {
	m, dp := newManager(t, 2)
	for i := range byte(2) {
		if _, err := establish(m, establishment(IPv4{10, 45, 0, i + 2})); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := establish(m, establishment(IPv4{10, 45, 0, 9})); cause(err) != CauseNoResources {
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
	first, err := establish(m, establishment(IPv4{10, 45, 0, 2}))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		req  func() *Establishment
		pdr  uint32
	}{
		{"UE address, of another owner", func() *Establishment {
			e := establishment(IPv4{10, 45, 0, 2})
			e.Owner = 2
			return e
		}, 1},
		{"UE address, in another data network", func() *Establishment {
			e := establishment(IPv4{10, 45, 0, 2})
			e.DNN = "ims"
			return e
		}, 1},
		{"TEID allocated here", func() *Establishment {
			e := establishment(IPv4{10, 45, 0, 3})
			e.CreatePDRs[1].PDI.Choose = Choose{}
			e.CreatePDRs[1].PDI.FTEID = first.PDR(2).PDI.FTEID
			return e
		}, 2},
	} {
		_, err := establish(m, tc.req())
		var e *Error
		if !errors.As(err, &e) || e.Cause != CauseRuleFailure || e.Rule != RulePDR || e.RuleID != tc.pdr || !errors.Is(err, ErrHeld) {
			t.Errorf("%s: %v, want PDR %d %v", tc.name, err, tc.pdr, ErrHeld)
		}
	}
	given := establishment(IPv4{10, 45, 0, 3})
	given.CreatePDRs[1].PDI.Choose = Choose{}
	given.CreatePDRs[1].PDI.FTEID = FTEID{TEID: 1, IPv4: n3}
	second, err := establish(m, given)
	if err != nil {
		t.Fatal(err)
	}
	given.CP.SEID = lastCP.Add(1)
	given.CreatePDRs[0].PDI.UEAddress.IPv4[3] = 4
	given.CreatePDRs[1].PDI.UEAddress.IPv4[3] = 4
	if _, err := establish(m, given); !errors.Is(err, ErrHeld) {
		t.Errorf("TEID chosen twice: %v, want %v", err, ErrHeld)
	}
	for _, s := range []*Session{first, second} {
		if err := remove(m, s.SEID, 1); err != nil {
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
	if _, err := establish(m, establishment(IPv4{10, 45, 0, 2})); !errors.Is(err, refusal) {
		t.Errorf("Establish: %v, want %v", err, refusal)
	}
	checkEmpty(t, m, dp)

	dp.fail = nil
	s, err := establish(m, establishment(IPv4{10, 45, 0, 2}))
	if err != nil {
		t.Fatal(err)
	}
	dp.fail = func() error { return errFake }
	change := establishment(IPv4{10, 45, 0, 3})
	mod := &Modification{
		SEID: s.SEID, Owner: 1, RemovePDRs: []uint16{1, 2}, CreatePDRs: change.CreatePDRs,
	}
	if _, err := modify(m, mod); cause(err) != CauseSystemFailure {
		t.Errorf("Modify: %v, want cause %d", err, CauseSystemFailure)
	}
	if err := remove(m, s.SEID, 1); cause(err) != CauseSystemFailure {
		t.Errorf("Delete: %v, want cause %d", err, CauseSystemFailure)
	}
	for _, got := range []*Session{m.Get(s.SEID), m.ByFTEID(s.PDR(2).PDI.FTEID)} {
		if d := cmp.Diff(s, got, equal); d != "" || m.ByUEAddress(change.CreatePDRs[0].PDI.UEAddress) != nil {
			t.Errorf("a failed change left its mark:\n%s", d)
		}
	}
	dp.fail = nil
	if _, err := modify(m, mod); err != nil {
		t.Fatal(err)
	}
	if m.ByUEAddress(UEAddress{IPv4: IPv4{10, 45, 0, 2}}) != nil || m.ByUEAddress(UEAddress{IPv4: IPv4{10, 45, 0, 3}}) == nil {
		t.Error("the UE address did not change")
	}
	if err := remove(m, s.SEID, 1); err != nil {
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

// TestChooseID: PDRs with the same CHOOSE ID get one F-TEID, in one request and in
// later ones, until the last of them has gone; another CHOOSE ID is another F-TEID.
func TestChooseID(t *testing.T) {
	m, dp := newManager(t, 8)
	req := establishment(IPv4{10, 45, 0, 2})
	choose := func(id uint16, choose uint8) PDR {
		r := req.CreatePDRs[1]
		r.ID, r.PDI.Choose = id, Choose{CH: true, CHID: true, ID: choose}
		return r
	}
	req.CreatePDRs = []PDR{req.CreatePDRs[0], choose(2, 7), choose(3, 7), choose(4, 8)}
	s, err := establish(m, req)
	if err != nil {
		t.Fatal(err)
	}
	a, b, c := s.PDR(2).PDI.FTEID, s.PDR(3).PDI.FTEID, s.PDR(4).PDI.FTEID
	if a != b || a == c || m.claims.teids.slots.taken != 2 {
		t.Errorf("F-TEIDs %v %v %v, %d allocated; want the first two equal and 2", a, b, c, m.claims.teids.slots.taken)
	}
	again := choose(2, 7)
	again.PDI.QFIs.Add(5)
	after, err := modify(m, &Modification{SEID: s.SEID, Owner: 1, UpdatePDRs: []UpdatePDR{{ID: 2, PDI: Some(again.PDI)}}})
	if err != nil {
		t.Fatal(err)
	}
	if now := after.PDR(2).PDI.FTEID; now != a || !after.PDR(2).PDI.QFIs.Has(5) {
		t.Errorf("F-TEID %v, then %v with QFIs %x; want the same, and QFI 5", a, now, after.PDR(2).PDI.QFIs)
	}
	later := choose(5, 7)
	later.PDI.UEAddress = UEAddress{}
	after = mustModify(t, m, s.SEID, Modification{RemovePDRs: []uint16{2}, CreatePDRs: []PDR{later}})
	if now := after.PDR(5).PDI.FTEID; now != a {
		t.Errorf("a PDR created later has F-TEID %v, want %v", now, a)
	}
	mustModify(t, m, s.SEID, Modification{RemovePDRs: []uint16{3, 5}})
	if m.ByFTEID(a) != nil {
		t.Errorf("the F-TEID of the PDRs that have gone is held by %v, want none", m.ByFTEID(a))
	}
	if now := mustModify(t, m, s.SEID, Modification{CreatePDRs: []PDR{choose(2, 7)}}).PDR(2).PDI.FTEID; now == a || now == c {
		t.Errorf("F-TEID %v of a PDR with the CHOOSE ID of those that have gone, want another than %v and %v", now, a, c)
	}
	if err := remove(m, s.SEID, 1); err != nil {
		t.Fatal(err)
	}
	checkEmpty(t, m, dp)
}

// TestReplaced: a CP function that sets up a session again, of the same F-SEID,
// has not heard that it exists, or has forgotten it.
func TestReplaced(t *testing.T) {
	m, dp := newManager(t, 8)
	req := establishment(IPv4{10, 45, 0, 2})
	first, err := establish(m, req)
	if err != nil {
		t.Fatal(err)
	}
	r := new(Result)
	req.Owner = 2
	if err := m.Establish(t.Context(), req, r); !errors.Is(err, ErrHeld) || m.Get(first.SEID) == nil {
		t.Errorf("same F-SEID and UE address, of another owner: %v, want %v", err, ErrHeld)
	}
	req.Owner = 1
	if err := m.Establish(t.Context(), req, r); err != nil || !slices.Equal(r.Replaced, []uint64{first.SEID}) {
		t.Errorf("same F-SEID and UE address: %v, replaced %#x; want %#x", err, r.Replaced, first.SEID)
	}
	second := r.Session.SEID
	if m.Get(first.SEID) != nil || m.Len() != 1 || dp.sessions[first.SEID] != nil || dp.sessions[second] == nil {
		t.Errorf("%d sessions, want the second one alone", m.Len())
	}
	req.CreatePDRs[0].PDI.UEAddress.IPv4, req.CreatePDRs[1].PDI.UEAddress.IPv4 = IPv4{10, 45, 0, 3}, IPv4{10, 45, 0, 3}
	if err := m.Establish(t.Context(), req, r); err != nil || len(r.Replaced) != 0 {
		t.Errorf("same F-SEID, but nothing that clashes: %v, replaced %#x; want none", err, r.Replaced)
	}
	if n, err := m.DeleteOwned(t.Context(), 1); n != 2 || err != nil {
		t.Errorf("DeleteOwned = %d, %v; want 2", n, err)
	}
	checkEmpty(t, m, dp)
}

// TestLost: a CP function that gives a UE's address to a new session, of another F-SEID, has
// lost the one that has it; that is ended, with its last reports.
func TestLost(t *testing.T) {
	m, dp := newManager(t, 8)
	req := establishment(IPv4{10, 45, 0, 2})
	req.CreateURRs = []URR{{ID: 1, Method: MeasureVolume}}
	req.CreatePDRs[0].URRIDs = []uint32{1}
	first := must(t, m, req)
	again := establishment(IPv4{10, 45, 0, 2})
	r := new(Result)
	if err := m.Establish(t.Context(), again, r); err != nil || !slices.Equal(r.Replaced, []uint64{first.SEID}) {
		t.Fatalf("same UE address: %v, replaced %#x; want %#x", err, r.Replaced, first.SEID)
	}
	if len(r.Lost) != 1 || r.Lost[0].SEID != first.SEID || r.Lost[0].CP != first.CP || len(r.Lost[0].Reports) != 1 ||
		r.Lost[0].Reports[0].Trigger&TriggerTERMR == 0 {
		t.Errorf("lost %+v, want the last report of URR 1", r.Lost)
	}
	if m.Get(first.SEID) != nil || dp.sessions[first.SEID] != nil || m.Len() != 1 {
		t.Errorf("%d sessions, want the second one alone", m.Len())
	}
	if err := remove(m, r.Session.SEID, 1); err != nil {
		t.Fatal(err)
	}
	checkEmpty(t, m, dp)
}
