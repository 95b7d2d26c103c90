package probetest_test

import (
	"testing"

	"github.com/plumbline-upf/plumbline/probe/probetest"
)

// TestForwarder wants the forwarder's own account to be right, of packets of all kinds in
// all its forms: nothing is judged by one that is wrong.
func TestForwarder(t *testing.T) {
	for _, tc := range []struct {
		name   string
		adjust func(*probetest.Config)
	}{
		{"packets", func(*probetest.Config) {}},
		{"frames", func(c *probetest.Config) { c.TUN = "" }},
		{"frames with tags", func(c *probetest.Config) { c.TUN, c.N3.VLAN, c.N6.VLAN = "", 3, 6 }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			const count = 200
			p := newPlace(t, "probe-forwarder", func(c *probetest.Config) {
				c.Uplink, c.Downlink = harm, harm
				tc.adjust(c)
			})
			x := &exchange{place: p, count: count, drop: harm.Drop}
			octets := 0
			for i := range probetest.Kinds {
				k := &probetest.Kinds[i]
				x.run(t, k)
				for n := range count {
					octets += len(k.Packet(ends(k), 1+n))
				}
			}
			for _, w := range x.ways() {
				x.recorded(t, w, count*len(probetest.Kinds), octets)
			}
		})
	}
}

func ends(k *probetest.Traffic) probetest.Ends {
	if k.IPv6 {
		return probetest.Ends{From: ue6, To: server6}
	}
	return probetest.Ends{From: ue4, To: server4}
}

// recorded wants records of so many packets with so many octets: each once, dropped and
// doubled as it was to be, with times that ascend, and some in another order than they came.
func (x *exchange) recorded(t *testing.T, w way, packets, octets int) {
	t.Helper()
	got, doubled, reordered, last := 0, 0, 0, uint64(0)
	for i, r := range w.records {
		got += r.Octets
		if count := i + 1; r.Copies == 2 && count%harm.Double == 0 && count%harm.Drop != 0 {
			doubled++
		}
		if r.TEID != w.sender.First+uint32(i) {
			t.Fatalf("%v: packet %d has TEID %#x", w.direction, i, r.TEID)
		}
		if r.Copies > 0 && (r.Read < w.sender.Sent[i] || r.Write < r.Read || r.Written < r.Write) {
			t.Fatalf("%v: %+v was sent at %d", w.direction, r, w.sender.Sent[i])
		}
		if r.Copies > 0 && r.Write < last {
			reordered++
		}
		last = max(last, r.Write)
	}
	if len(w.records) != packets || got != octets || w.stayed != packets/harm.Drop || doubled != w.copies || reordered == 0 {
		t.Errorf("%v: %d packets of %d octets, %d stayed, %d doubled, %d reordered, want %d of %d, %d stayed", w.direction, len(w.records), got,
			w.stayed, doubled, reordered, packets, octets, packets/harm.Drop)
	}
}
