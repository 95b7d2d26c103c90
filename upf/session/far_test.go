package session

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestUpdateRareFAR: copies and redirection change part by part, and the session as it
// was keeps its own.
func TestUpdateRareFAR(t *testing.T) {
	m, dp := newManager(t, 8)
	peer := func(teid uint32) OuterHeaderCreation { return OuterHeaderCreation{TEID: teid, IPv4: IPv4{10, 3, 0, 9}} }
	e := establishment(IPv4{10, 45, 0, 1})
	f := &e.CreateFARs[0]
	f.ApplyAction = Forward | Copy
	f.Duplicates = []Duplicate{{DestinationInterface: Core, OuterHeaderCreation: peer(1), DSCP: Some(uint8(46))}}
	f.Forwarding.Redirect, f.Forwarding.ForwardingPolicy = &Redirect{URL: "http://a/"}, "gold"
	s, err := establish(m, e)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		up   UpdateFAR
		want FAR // of which Duplicates, Redirect and Policy count
	}{
		{"the first copy goes elsewhere", UpdateFAR{Duplicates: []UpdateDuplicate{{OuterHeaderCreation: Some(peer(2)), RemoveDSCP: true}}},
			FAR{Duplicates: []Duplicate{{DestinationInterface: Core, OuterHeaderCreation: peer(2)}},
				Forwarding: ForwardingParameters{Redirect: &Redirect{URL: "http://a/"}, ForwardingPolicy: "gold"}}},
		{"a second copy", UpdateFAR{Duplicates: []UpdateDuplicate{{}, {DestinationInterface: Some(LIFunction), OuterHeaderCreation: Some(peer(3)), DSCP: Some(uint8(8)), ForwardingPolicy: Some("li")}}},
			FAR{Duplicates: []Duplicate{
				{DestinationInterface: Core, OuterHeaderCreation: peer(2)},
				{DestinationInterface: LIFunction, OuterHeaderCreation: peer(3), DSCP: Some(uint8(8)), ForwardingPolicy: "li"}},
				Forwarding: ForwardingParameters{Redirect: &Redirect{URL: "http://a/"}, ForwardingPolicy: "gold"}}},
		{"other redirection and policy", UpdateFAR{HasForwarding: true, Redirect: Some(&Redirect{IPv4: IPv4{1, 2, 3, 4}}), ForwardingPolicy: Some("")},
			FAR{Duplicates: []Duplicate{
				{DestinationInterface: Core, OuterHeaderCreation: peer(2)},
				{DestinationInterface: LIFunction, OuterHeaderCreation: peer(3), DSCP: Some(uint8(8)), ForwardingPolicy: "li"}},
				Forwarding: ForwardingParameters{Redirect: &Redirect{IPv4: IPv4{1, 2, 3, 4}}}}},
		{"no redirection", UpdateFAR{HasForwarding: true, Redirect: Some[*Redirect](nil)},
			FAR{Duplicates: []Duplicate{
				{DestinationInterface: Core, OuterHeaderCreation: peer(2)},
				{DestinationInterface: LIFunction, OuterHeaderCreation: peer(3), DSCP: Some(uint8(8)), ForwardingPolicy: "li"}}}},
	} {
		tc.up.ID = 1
		if _, err := modify(m, &Modification{SEID: s.SEID, Owner: 1, UpdateFARs: []UpdateFAR{tc.up}}); err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		got := dp.sessions[s.SEID].FAR(1)
		if d := cmp.Diff(tc.want.Duplicates, got.Duplicates); d != "" {
			t.Errorf("%s: copies (-want +got):\n%s", tc.name, d)
		}
		if d := cmp.Diff(tc.want.Forwarding.Redirect, got.Forwarding.Redirect); d != "" || got.Forwarding.ForwardingPolicy != tc.want.Forwarding.ForwardingPolicy {
			t.Errorf("%s: policy %q, redirection (-want +got):\n%s", tc.name, got.Forwarding.ForwardingPolicy, d)
		}
	}
	for _, want := range []*Replacement{{DestinationIPv4: IPv4{10, 9, 0, 1}, DestinationPort: 8080}, nil} {
		up := UpdateFAR{ID: 1, HasForwarding: true, Replacement: Some(want)}
		if _, err := modify(m, &Modification{SEID: s.SEID, Owner: 1, UpdateFARs: []UpdateFAR{up}}); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, dp.sessions[s.SEID].FAR(1).Forwarding.Replacement); d != "" {
			t.Errorf("replacement (-want +got):\n%s", d)
		}
	}
	bad := UpdateFAR{ID: 1, Duplicates: []UpdateDuplicate{{OuterHeaderCreation: Some(OuterHeaderCreation{TEID: 4})}}}
	_, err = modify(m, &Modification{SEID: s.SEID, Owner: 1, UpdateFARs: []UpdateFAR{bad}})
	checkError(t, err, Error{CauseRuleFailure, 0, true, RuleFAR, 1, ErrIncomplete})
	if got := dp.sessions[s.SEID].FAR(1).Duplicates[0].OuterHeaderCreation; got != peer(2) {
		t.Errorf("a refused modification changed a copy: %+v", got)
	}
}
