package probetest_test

import (
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/probe"
	"github.com/plumbline-upf/plumbline/probe/probetest"
)

// harm is what a forwarder does to packets where they should come to harm.
var harm = probetest.Harm{Drop: 100, Hold: 16, For: 3, Double: 50}

// Timeouts: nothing that a busy machine does lasts so long. The first one is waited for
// where packets are lost.
const (
	enough = 2 * time.Second
	ample  = time.Minute
)

// exchange is traffic in both directions, and what a probe says of it.
type exchange struct {
	place *place
	watch *watch
	count int // packets of each kind and direction
	drop  int // every so many-th is dropped; 0: none
	apart int // how far behind those of uplink the numbers of downlink packets are
}

// run sends a kind both ways at the same time, and waits until the forwarder has done its
// work.
func (x *exchange) run(t *testing.T, kind *probetest.Traffic) {
	t.Helper()
	x.send(t, func(s *probetest.Sender, e probetest.Ends) error {
		first := 1
		if s == x.place.down {
			first += x.apart
		}
		return s.Send(kind, e, first, x.count)
	}, kind.IPv6)
}

func (x *exchange) send(t *testing.T, f func(*probetest.Sender, probetest.Ends) error, ipv6 bool) {
	t.Helper()
	ue, server := ue4, server4
	if ipv6 {
		ue, server = ue6, server6
	}
	var sending sync.WaitGroup
	sending.Go(func() { mustBe(t, f(x.place.up, probetest.Ends{From: ue, To: server})) })
	sending.Go(func() { mustBe(t, f(x.place.down, probetest.Ends{From: server, To: x.towards(ue)})) })
	sending.Wait()
	x.arrived(t)
}

// towards is how the data network calls the UE.
func (x *exchange) towards(ue netip.Addr) netip.Addr {
	if ue == ue4 && x.place.nat != nil {
		return x.place.nat.Public
	}
	return ue
}

// arrived waits until the forwarder has had all packets and holds none.
func (x *exchange) arrived(t *testing.T) {
	t.Helper()
	p := x.place
	rest := func(records []probetest.Record, sent int) bool {
		_, _, stayed := probetest.Left(records)
		return len(records) == sent && stayed == x.dropped(sent)
	}
	if !await(func() bool {
		return rest(p.forwarder.Uplink(), len(p.up.Sent)) && rest(p.forwarder.Downlink(), len(p.down.Sent))
	}) {
		t.Fatalf("sent %d and %d packets, the forwarder has had %d and %d", len(p.up.Sent), len(p.down.Sent),
			len(p.forwarder.Uplink()), len(p.forwarder.Downlink()))
	}
}

func (x *exchange) dropped(sent int) int {
	if x.drop == 0 {
		return 0
	}
	return sent / x.drop
}

// way is one direction of an exchange.
type way struct {
	direction            probe.Direction
	records              []probetest.Record
	sender               *probetest.Sender
	leaves               probe.Side
	left, copies, stayed int
}

func (x *exchange) ways() []way {
	f := x.place.forwarder
	list := []way{
		{direction: probe.Uplink, records: f.Uplink(), sender: x.place.up, leaves: probe.N6},
		{direction: probe.Downlink, records: f.Downlink(), sender: x.place.down, leaves: probe.N3},
	}
	for i := range list {
		w := &list[i]
		w.left, w.copies, w.stayed = probetest.Left(w.records)
	}
	return list
}

// counts wants the account to be that of the forwarder, to the octet.
func (x *exchange) counts(t *testing.T) {
	t.Helper()
	for _, w := range x.ways() {
		x.watch.wants(t, w.direction, probe.Account{In: uint64(len(w.records)), Matched: uint64(w.left), Lost: uint64(w.stayed)})
		octets := uint64(0)
		for _, r := range w.records {
			if r.Copies > 0 {
				octets += uint64(r.Octets)
			}
		}
		if got := x.watch.account(t, w.direction).Octets; got != octets {
			t.Errorf("%v: %d octets, want %d", w.direction, got, octets)
		}
		out := x.watch.points(t, probe.Out, w.leaves)
		if out.Packets != uint64(w.left+w.copies) || out.Unmatched != uint64(w.copies) || out.AmbiguousOut+out.Unparsed != 0 {
			t.Errorf("%v: exit %+v, want %d packets, %d unmatched", w.direction, out, w.left+w.copies, w.copies)
		}
	}
}

// judge wants a sample of each packet that left, too, and each of the right pair.
func (x *exchange) judge(t *testing.T) {
	t.Helper()
	x.counts(t)
	for _, w := range x.ways() {
		await(func() bool { return len(x.watch.of(w.direction)) >= w.left })
		v := probetest.Judge(w.records, x.watch.of(w.direction), w.sender.First, w.sender.Sent)
		if v.Right != w.left || len(v.Wrong) > 0 {
			t.Errorf("%v: %d right samples of %d packets, %d wrong: %.500q", w.direction, v.Right, w.left, len(v.Wrong), v.Wrong)
		}
		t.Logf("%v: %d packets, %d lost, %d doubled; from send to hook %d ns, from write to hook %d ns (medians)",
			w.direction, len(w.records), w.stayed, w.copies, v.Before, v.After)
	}
}

// TestTraffic sends packets of all kinds both ways past a forwarder that drops, holds and
// doubles some, and wants every pair right and every count exact, to the octet.
func TestTraffic(t *testing.T) {
	p := newPlace(t, "probe-traffic", func(c *probetest.Config) { c.Uplink, c.Downlink = harm, harm })
	w := newWatch(t, probe.Config{UPFs: []probe.UPF{p.upf("upf")}, Timeout: enough, Sample: probe.Sampling{Every: 1}}, p.inside(0))
	x := &exchange{place: p, watch: w, count: 800, drop: harm.Drop}
	for i := range probetest.Kinds {
		x.run(t, &probetest.Kinds[i])
	}
	x.judge(t)
}

// TestNAT is the same with other addresses, ports and identifiers on N6. IPv6 is not
// translated, but the fingerprint does without addresses all the same: packets of both
// directions that differ in nothing else would be one.
func TestNAT(t *testing.T) {
	nat := &probetest.NAT{UE: ue4, Public: netip.MustParseAddr("10.64.200.1")}
	p := newPlace(t, "probe-nat", func(c *probetest.Config) { c.Uplink, c.Downlink, c.NAT = harm, harm, nat })
	p.nat = nat
	w := newWatch(t, probe.Config{UPFs: []probe.UPF{p.upf("upf")}, NAT: true, Timeout: enough, Sample: probe.Sampling{Every: 1}}, p.inside(0))
	x := &exchange{place: p, watch: w, count: 300, drop: harm.Drop, apart: 10_000}
	for i := range probetest.Kinds {
		if probetest.Kinds[i].NAT {
			x.run(t, &probetest.Kinds[i])
		}
	}
	x.judge(t)
}

// TestSuperPackets sends runs of packets in one, as the kernel has them that it has still
// to cut, and has the forwarder write such: a packet is the same one, whoever cuts and
// whoever merges.
func TestSuperPackets(t *testing.T) {
	p := newPlace(t, "probe-super", func(c *probetest.Config) { c.Merge = true })
	w := newWatch(t, probe.Config{UPFs: []probe.UPF{p.upf("upf")}, Timeout: ample, Sample: probe.Sampling{Every: 1}}, p.inside(0))
	x := &exchange{place: p, watch: w}
	for _, kind := range []probetest.Traffic{probetest.TCPData, probetest.TCPData6, probetest.UDPRun, probetest.UDPRun6} {
		x.send(t, func(s *probetest.Sender, e probetest.Ends) error {
			for run := range 50 {
				var packets [][]byte
				for n := range 2 + run%30 {
					packets = append(packets, kind.Packet(e, 100*run+n))
				}
				if err := s.SendTogether(packets); err != nil {
					return err
				}
			}
			return nil
		}, kind.IPv6)
	}
	x.judge(t)
}

// TestPlaces has the points outside of a forwarder of frames, as for any UPF whose inside
// is not seen. At its own devices a packet socket has a frame before the probe has it.
func TestPlaces(t *testing.T) {
	around := func(p *place) []probe.Point { return outside(p.Topology, 0) }
	frames := func(c *probetest.Config) { c.TUN = "" }
	for _, tc := range []struct {
		name   string
		adjust func(*probetest.Config)
		points func(*place) []probe.Point
	}{
		{"at the other ends", frames, around},
		{"host-wide", func(*probetest.Config) {}, func(p *place) []probe.Point { return devices(p.Topology, 0, probe.HostIngress, probe.HostEgress) }},
		{"tags", func(c *probetest.Config) { c.TUN, c.N3.VLAN, c.N6.VLAN = "", 3, 6 }, around},
		{"N3 over IPv6", func(c *probetest.Config) {
			c.TUN, c.N3.From, c.N3.To = "", netip.MustParseAddr("fd03::1"), netip.MustParseAddr("fd03::2")
		}, around},
		{"N6 behind the kernel", func(*probetest.Config) {}, func(p *place) []probe.Point { return devices(p.Topology, 0, probe.Ingress, probe.Egress) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPlace(t, "probe-places", func(c *probetest.Config) {
				c.Uplink = probetest.Harm{Hold: 16, For: 3, Double: 50}
				c.Downlink = c.Uplink
				tc.adjust(c)
			})
			w := newWatch(t, probe.Config{UPFs: []probe.UPF{p.upf("upf")}, Timeout: ample}, tc.points(p))
			x := &exchange{place: p, watch: w, count: 500}
			for i := range probetest.Kinds[:3] {
				x.run(t, &probetest.Kinds[i])
			}
			x.counts(t)
		})
	}
}
