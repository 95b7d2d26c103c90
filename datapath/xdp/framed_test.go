package xdp

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
)

// TestFramedOrphans: a framed route of a session from before the restart goes to who
// asks for it first: its session may be gone. If that one is refused for another
// reason, the route leads to where it did.
func TestFramedOrphans(t *testing.T) {
	pin := pinFor(t)
	route := netip.MustParsePrefix("10.77.0.0/16")
	first := conformance.Sessions()[0]
	first.Rules[1].Detect.FramedRoutes = []*api.Prefix{{Address: []byte{10, 77, 0, 0}, Bits: 16}}
	second := proto.CloneOf(first)
	second.Seid = first.GetSeid() + 1000
	for _, r := range second.GetRules() {
		if r.GetDetect().GetFTeid() != nil {
			r.Detect.FTeid.Teid += 0x100
		}
		if ue := r.GetDetect().GetUeAddress(); ue.GetIpv4() != 0 {
			ue.Ipv4 += 0x100
		}
	}
	before := openPinned(t, conformance.MaxSessions, pin)
	apply(t, before, first)
	if err := before.Apply(context.Background(), &api.Change{Seid: second.GetSeid(), Session: second}); !errors.Is(err, datapath.ErrClash) {
		t.Errorf("the same route of a second session: %v, want a clash", err)
	}
	if err := before.Close(); err != nil {
		t.Fatal(err)
	}

	after := openPinned(t, conformance.MaxSessions, pin)
	leads := func(when string, want uint64) {
		t.Helper()
		var key uint64
		if err := after.framed.trie.Lookup(framedKey(route), &key); err != nil || key != want || after.framed.key[route] != want ||
			!slices.Contains(after.framed.prefixes[want], route) || len(after.framed.prefixes) != 1 {
			t.Errorf("%s: the route leads to %#x, %v; %v; want %#x", when, key, err, after.framed.prefixes, want)
		}
	}
	leads("adopted", routesKey(first.GetSeid()))
	if fresh, err := after.framed.add(route, routesKey(second.GetSeid())); err != nil || !fresh {
		t.Fatalf("%v, %v", fresh, err)
	}
	after.framed.giveBack(route)
	leads("given back", routesKey(first.GetSeid()))
	apply(t, after, second)
	leads("of the second session", routesKey(second.GetSeid()))
	if err := after.Apply(context.Background(), &api.Change{Seid: first.GetSeid(), Session: first}); !errors.Is(err, datapath.ErrClash) {
		t.Errorf("the first session, later: %v, want a clash", err)
	}
	if err := after.Settle(context.Background()); err != nil {
		t.Fatal(err)
	}
	leads("settled", routesKey(second.GetSeid()))
}
