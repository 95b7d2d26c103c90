package xdp

import (
	"bytes"
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
)

// TestAdopt: a driver over the tables of one before it finds slots, counters and
// URRs of the sessions that are applied again, and gives back all that is not.
func TestAdopt(t *testing.T) {
	pin := pinFor(t)
	up := conformance.Frames(conformance.N3)[0]
	before := openPinned(t, conformance.MaxSessions, pin)
	for _, s := range adoptSessions() {
		apply(t, before, s)
	}
	if got := before.Frame(t, conformance.N3, bytes.Clone(up)); got.Reason != datapath.ReasonNone {
		t.Fatalf("before: %v", got.Reason)
	}
	want, err := before.Usage(1)
	if err != nil {
		t.Fatal(err)
	}
	free := [2]int{before.teids.held, before.ues.held}
	if err := before.Close(); err != nil {
		t.Fatal(err)
	}

	after := openPinned(t, conformance.MaxSessions, pin)
	if !after.adopting || after.teids.held != free[0] || after.ues.held != free[1] {
		t.Fatalf("adopting %v, %d and %d rules; want %v", after.adopting, after.teids.held, after.ues.held, free)
	}
	if got := after.Frame(t, conformance.N3, bytes.Clone(up)); got.Reason != datapath.ReasonNone {
		t.Errorf("before its session is applied: %v", got.Reason)
	}
	generation := after.teids.slots[1].Ctl
	apply(t, after, adoptSessions()[0])
	if got := after.teids.slots[1].Ctl; got != generation {
		t.Errorf("the rule was written although it is the same: control word %#x, was %#x", got, generation)
	}
	if err := after.Settle(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, u := range want.GetUrrs() {
		u.UplinkPackets, u.UplinkOctets = 2*u.GetUplinkPackets(), 2*u.GetUplinkOctets()
	}
	got, err := after.Usage(1)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.GetUrrs(), got.GetUrrs(), protocmp.Transform()); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
	if after.teids.held != 1 || after.ues.held != 1 {
		t.Errorf("%d and %d rules are left, want those of one session", after.teids.held, after.ues.held)
	}
	if err := after.Apply(context.Background(), &api.Change{Seid: 1}); err != nil {
		t.Fatal(err)
	}
	checkFree(t, after)
}

// adoptSessions are two sessions with meters and a URR each.
func adoptSessions() []*api.Session {
	all := []*api.Session{conformance.Sessions()[0], conformance.Sessions()[3]}
	for _, s := range all {
		s.Rules[1].Detect.UeAddress.Ipv6Prefix = 0
		s.Urrs = []*api.URR{{Id: 4}}
		for _, r := range s.Rules {
			r.UrrIds = []uint32{4}
			r.QerIds = []uint32{1}
		}
		s.Qers = []*api.QER{{Id: 1, Qfi: 9, UplinkMbrBps: 1e9, DownlinkMbrBps: 1e9}}
	}
	return all
}

// checkFree: nothing is held, and every slot that was ever used can be used again.
func checkFree(t *testing.T, b *bed) {
	t.Helper()
	if b.teids.held != 0 || b.ues.held != 0 {
		t.Errorf("%d and %d rules are held", b.teids.held, b.ues.held)
	}
	if n := b.meters.places.free(); n != 2*len(b.meters.slots)-2 {
		t.Errorf("%d of %d meters are free", n, 2*len(b.meters.slots)-2)
	}
	if n := b.urrs.places.free(); n != len(b.urrs.slots)-1 {
		t.Errorf("%d of %d URRs are free", n, len(b.urrs.slots)-1)
	}
}
