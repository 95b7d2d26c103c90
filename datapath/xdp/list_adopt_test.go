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
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// TestAdoptLists: over a restart a list forwards on before its session is applied
// again, is then found to be the same, with its meters and counters, and goes whole
// when its session does.
func TestAdoptLists(t *testing.T) {
	pin := pinFor(t)
	session := conformance.Sessions()[0]
	session.Qers = append(session.Qers, &api.QER{Id: 2, UplinkMbrBps: 1e9, UplinkGbrBps: 1e9}, &api.QER{Id: 3, UplinkMbrBps: 1e9})
	session.Urrs = []*api.URR{{Id: 1}, {Id: 2, BeforeEnforcement: true}}
	session.Rules[0].QerIds, session.Rules[0].UrrIds = []uint32{1, 2, 3}, []uint32{1, 2}
	session.Rules[1].Detect.FramedRoutes = []*api.Prefix{{Address: []byte{10, 77, 0, 0}, Bits: 16}}
	up, down := conformance.Frames(conformance.N3)[0], bytes.Clone(conformance.Frames(conformance.N6)[0])
	copy(down[inet.LenEthernet+16:], []byte{10, 77, 1, 2})
	fast := func(t *testing.T, b *bed, when string) {
		t.Helper()
		for port, frame := range map[conformance.Port][]byte{conformance.N3: up, conformance.N6: down} {
			if got := b.Frame(t, port, bytes.Clone(frame)); got.Reason != datapath.ReasonNone || got.Ethernet == nil {
				t.Fatalf("%s, port %d: %v, by the fast path %v", when, port, got.Reason, got.Ethernet != nil)
			}
		}
	}

	before := openPinned(t, conformance.MaxSessions, pin)
	apply(t, before, session)
	fast(t, before, "before")
	if err := before.Close(); err != nil {
		t.Fatal(err)
	}
	after := openPinned(t, conformance.MaxSessions, pin)
	if !after.adopting {
		t.Fatal("the tables were not adopted")
	}
	fast(t, after, "before its session is applied")
	was := after.teids.slots[1]
	apply(t, after, session)
	if now := after.teids.slots[1]; now.Ctl != was.Ctl || now.Meter != was.Meter || now.UeIp6 != was.UeIp6 {
		t.Errorf("the list was written although it is the same: %+v, was %+v", now, was)
	}
	if err := after.Settle(context.Background()); err != nil {
		t.Fatal(err)
	}
	fast(t, after, "settled")
	checkListUsage(t, after)
	if err := after.Apply(context.Background(), &api.Change{Seid: session.GetSeid()}); err != nil {
		t.Fatal(err)
	}
	checkFree(t, after)
	l := after.lists
	if got := free(&l.freeEntries); got != l.freeEntries.next-1 {
		t.Errorf("%d of %d entries are free", got, l.freeEntries.next-1)
	}
	if got := free(&l.freePDRs); got != l.freePDRs.next-1 {
		t.Errorf("%d of %d PDRs are free", got, l.freePDRs.next-1)
	}
	if got := free(&l.freeCounters); got != l.freeCounters.next-1 {
		t.Errorf("%d of %d counters are free", got, l.freeCounters.next-1)
	}
	if got := len(after.framed.key); got != 0 {
		t.Errorf("%d framed routes are left", got)
	}
	if got := after.Frame(t, conformance.N6, bytes.Clone(down)); got.Reason != datapath.PassHost {
		t.Errorf("after the end: %v, want %v", got.Reason, datapath.PassHost)
	}
}

func checkListUsage(t *testing.T, b *bed) {
	t.Helper()
	got, err := b.Usage(1)
	if err != nil {
		t.Fatal(err)
	}
	octets := got.GetRules()[0].GetOctets() / 3
	want := &api.SessionUsage{
		Rules: []*api.Usage{{PdrId: 1, Packets: 3, Octets: 3 * octets}, {PdrId: 2, Packets: 3, Octets: 3 * octets}},
		Urrs: []*api.URRUsage{
			{UrrId: 1, UplinkPackets: 3, UplinkOctets: 3 * octets}, {UrrId: 2, UplinkPackets: 3, UplinkOctets: 3 * octets},
		},
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("usage over the restart (-want +got):\n%s", diff)
	}
}

// free returns how many slots lie in runs that were given back.
func free(r *runs) (n uint32) {
	for class := range r.freed {
		n += uint32(len(r.freed[class].slots)-r.freed[class].head) << class
	}
	return n
}
