package vector

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/gtpu"
)

// message lets a GTP-U message come to our N3 address.
func (b *bed) message(from netip.Addr, octets []byte) {
	p := packetOf(octets)
	p.From, p.To = netip.AddrPortFrom(from, gtpu.Port), conformance.N3Address
	b.vector(p)
}

// TestSupervise: a peer in use that does not answer is asked N3 times and told of, and
// again when it answers. A stranger's answer does not count, and who is no peer any
// more is not asked.
func TestSupervise(t *testing.T) {
	b := openBed(t, func(_ *bed, c *Config) { c.Echo = time.Minute })
	s := benchSession(0, limited{})
	if err := b.Apply(t.Context(), &api.Change{Seid: 1, Session: s}); err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1000, 0)
	round := func(after time.Duration, requests int) {
		t.Helper()
		now = now.Add(after)
		b.supervise(now)
		if sent := b.Sent(t); len(sent) != requests {
			t.Errorf("at %v: %x sent, want %d", now, sent, requests)
		}
	}
	expect := func(kind api.EventKind) {
		t.Helper()
		if e, err := b.Next(t.Context()); err != nil || e.GetKind() != kind || e.GetTunnel().GetIpv4() != 0x0a030002 {
			t.Errorf("got %v, %v; want %v", e, err, kind)
		}
	}
	round(0, 1)
	b.message(conformance.GNBAddress, gtpu.AppendEchoResponse(nil, 1))
	round(time.Second, 0)
	round(time.Minute, 1) // number 2
	b.message(conformance.GNBAddress2, gtpu.AppendEchoResponse(nil, 2))
	round(stages.EchoT3, 1)
	round(stages.EchoT3, 1)
	round(stages.EchoT3, 0)
	expect(api.EventKind_PATH_DOWN)
	round(time.Minute, 1) // number 3
	b.message(conformance.GNBAddress, gtpu.AppendEchoResponse(nil, 3))
	round(time.Second, 0)
	expect(api.EventKind_PATH_UP)
	if err := b.Apply(t.Context(), &api.Change{Seid: 1}); err != nil {
		t.Fatal(err)
	}
	round(time.Hour, 0)
}

// TestEchoRequests: a peer in use has all answered, strangers together 100 a second.
func TestEchoRequests(t *testing.T) {
	b := openBed(t)
	if err := b.Apply(t.Context(), &api.Change{Seid: 1, Session: benchSession(0, limited{})}); err != nil {
		t.Fatal(err)
	}
	for from, want := range map[netip.Addr]int{conformance.GNBAddress: 500, conformance.GNBAddress2: answersPerSecond + 1} {
		for n := range uint16(500) {
			b.message(from, gtpu.AppendEchoRequest(nil, n))
		}
		if sent := len(b.Sent(t)); sent != want {
			t.Errorf("%v: %d Echo Responses, want %d", from, sent, want)
		}
	}
}

// TestSliceTotals: what a slice has counted stays its own, whatever becomes of its
// sessions.
func TestSliceTotals(t *testing.T) {
	b := openBed(t)
	up, down := userPackets()
	send := func(octets []byte, uplink bool, packets int) {
		s := newStream(octets, uplink, 1)
		b.worker.Run(s.next(0)[:packets], s.take)
	}
	apply := func(slice uint32, teid uint32) {
		t.Helper()
		s := benchSession(0, limited{})
		s.Slice, s.Rules[0].Detect.FTeid.Teid = slice, teid
		if err := b.Apply(t.Context(), &api.Change{Seid: 1, Session: s}); err != nil {
			t.Fatal(err)
		}
	}
	octets := uint64(len(down))
	total := func(packets uint64) datapath.Total { return datapath.Total{Packets: packets, Octets: packets * octets} }
	apply(1, benchTEID)
	send(up, true, 3)
	send(down, false, 5)
	apply(2, benchTEID) // of another slice, the same rules
	send(up, true, 7)
	apply(2, benchTEID+1) // another rule
	apply(2, benchTEID)
	send(down, false, 2)
	want := []datapath.SliceTotal{{Slice: 1, Uplink: total(3), Downlink: total(5)}, {Slice: 2, Uplink: total(7), Downlink: total(2)}}
	if diff := cmp.Diff(want, b.SliceTotals()); diff != "" {
		t.Errorf("totals (-want +got):\n%s", diff)
	}
	if err := b.Apply(t.Context(), &api.Change{Seid: 1}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, b.SliceTotals()); diff != "" {
		t.Errorf("totals without sessions (-want +got):\n%s", diff)
	}
}
