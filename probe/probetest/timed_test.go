package probetest_test

import (
	"net/netip"
	"testing"

	"github.com/plumbline-upf/plumbline/probe"
	"github.com/plumbline-upf/plumbline/probe/probetest"
)

// inFour is how many packets one is timed of.
const inFour = 4

// TestTimed is [TestTraffic] and its like with one packet in four timed: every sample is
// right, and every packet is counted.
func TestTimed(t *testing.T) {
	ordinary := func(*probetest.Config) {}
	nat := &probetest.NAT{UE: ue4, Public: netip.MustParseAddr("10.64.200.1")}
	harmed := func(c *probetest.Config) { c.Uplink, c.Downlink = harm, harm }
	harmless := probetest.Harm{Hold: 16, For: 3, Double: 50}
	inside := func(p *place) []probe.Point { return p.inside(0) }
	outside := func(p *place) []probe.Point { return outside(p.Topology, 0) }
	for _, tc := range []struct {
		name   string
		adjust func(*probetest.Config)
		points func(*place) []probe.Point
		nat    *probetest.NAT
		drop   int
		kinds  []probetest.Traffic
	}{
		{"all kinds", harmed, inside, nil, harm.Drop, probetest.Kinds[:]},
		{"translated", func(c *probetest.Config) { harmed(c); c.NAT = nat }, inside, nat, harm.Drop, translated()},
		{"merged", func(c *probetest.Config) { c.Merge = true }, inside, nil, 0, []probetest.Traffic{probetest.TCPData, probetest.TCPData6, probetest.UDPRun, probetest.UDPRun6}},
		{"tags", func(c *probetest.Config) {
			c.TUN, c.N3.VLAN, c.N6.VLAN = "", 3, 6
			c.Uplink, c.Downlink = harmless, harmless
		}, outside, nil, 0, probetest.Kinds[:3]},
		{"host-wide", ordinary, func(p *place) []probe.Point { return devices(p.Topology, 0, probe.HostIngress, probe.HostEgress) }, nil, 0, probetest.Kinds[:3]},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPlace(t, "probe-timed", tc.adjust)
			p.nat = tc.nat
			c := probe.Config{UPFs: []probe.UPF{p.upf("upf")}, NAT: tc.nat != nil, Timeout: enough, Timed: inFour, Sample: probe.Sampling{Every: 1}}
			x := &exchange{place: p, watch: newWatch(t, c, tc.points(p)), count: 400, drop: tc.drop, apart: 10_000}
			for i := range tc.kinds {
				x.run(t, &tc.kinds[i])
			}
			x.judgeTimed(t)
		})
	}
}

// translated are the kinds that NAT can translate.
func translated() (list []probetest.Traffic) {
	for _, kind := range probetest.Kinds {
		if kind.NAT {
			list = append(list, kind)
		}
	}
	return list
}

// judgeTimed wants every packet counted at both ends, those that are timed known again, and
// each sample right. Which ones are timed is the probe's to choose, but neither few nor most.
func (x *exchange) judgeTimed(t *testing.T) {
	t.Helper()
	for _, w := range x.ways() {
		var got probe.Account
		var out passed
		in, left := uint64(len(w.records)), uint64(w.left)
		so := func() bool {
			got, out = x.watch.account(t, w.direction), x.watch.points(t, probe.Out, w.leaves)
			// Of those that stayed, and of copies, some are timed.
			untimedOut := got.Untimed - (uint64(w.stayed) - got.Lost) + uint64(w.copies) - out.Unmatched
			return got.In == in && got.InFlight == 0 && got.Ambiguous+got.Evicted == 0 &&
				got.Lost <= uint64(w.stayed) && got.Matched <= left && got.Matched+got.Lost > in/8 && got.Matched+got.Lost < in/2 &&
				out.Packets == left+uint64(w.copies) && out.UntimedOut == untimedOut &&
				out.Packets == got.Matched+out.Unmatched+out.UntimedOut && out.AmbiguousOut+out.Unparsed == 0
		}
		if !await(so) {
			t.Errorf("%v: %+v, exit %+v, want %d packets in, %d and %d copies out, and about one in %d timed",
				w.direction, got, out, in, left, w.copies, inFour)
		}
		await(func() bool { return len(x.watch.of(w.direction)) >= int(got.Matched) })
		v := probetest.Judge(w.records, x.watch.of(w.direction), w.sender.First, w.sender.Sent)
		if v.Right != int(got.Matched) || len(v.Wrong) > 0 {
			t.Errorf("%v: %d right samples of %d timed packets that left, %d wrong: %.500q", w.direction, v.Right, got.Matched, len(v.Wrong), v.Wrong)
		}
		x.octetsTimed(t, w, got)
	}
}

// octetsTimed wants all octets counted; what is dropped may be timed, or not.
func (x *exchange) octetsTimed(t *testing.T, w way, got probe.Account) {
	t.Helper()
	all, least := uint64(0), uint64(0)
	for _, r := range w.records {
		all += uint64(r.Octets)
		if r.Copies > 0 {
			least += uint64(r.Octets)
		}
	}
	if _, octets := got.Seen(); octets < least || octets > all {
		t.Errorf("%v: %d octets, want %d to %d", w.direction, octets, least, all)
	}
}

// TestTimedAmbiguous sends packets that nobody can tell from each other, again and again. They
// are timed together or not at all, and ambiguous as ever if they are.
func TestTimedAmbiguous(t *testing.T) {
	p, w := stopped(t, "probe-timed-ambiguous", probe.Config{Timeout: ample, Timed: inFour})
	const kinds, alike = 64, 3
	for n := range kinds {
		for range alike {
			p.sendUp(t, &probetest.Kinds[0], n, 1)
		}
	}
	p.has(t, kinds*alike)
	var got probe.Account
	if !await(func() bool { got = w.account(t, probe.Uplink); return got.In == kinds*alike }) ||
		got.Ambiguous%alike != 0 || got.Untimed%alike != 0 || got.Ambiguous+got.Untimed != got.In || got.Ambiguous == 0 || got.Untimed == 0 {
		t.Fatalf("account %+v, want %d packets, by threes ambiguous or not timed", got, kinds*alike)
	}
	p.forwarder.Go()
	w.exit(t, passed{Packets: kinds * alike, AmbiguousOut: got.Ambiguous, UntimedOut: got.Untimed})
}
