package xdp

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/datapath"
)

// TestTotals: what rules counted stays in the totals when they go and when
// their slot is taken by another.
func TestTotals(t *testing.T) {
	b := openTables(t, 64)
	install := func(tab *table, key uint64) *upfRule {
		slot, err := tab.reserve(key)
		if err != nil {
			t.Fatal(err)
		}
		tab.write(slot, &upfRule{Key: key, Ctl: direction(tab)}, 0)
		return &tab.slots[slot]
	}
	remove := func(tab *table, key uint64) {
		slot, ok := tab.find(key)
		if !ok {
			t.Fatalf("no rule %#x", key)
		}
		tab.clear(slot)
		tab.release(slot, key)
	}
	check := func(when string, wantUplink, wantDownlink datapath.Total) {
		t.Helper()
		uplink, downlink := b.Totals()
		if diff := cmp.Diff([]datapath.Total{wantUplink, wantDownlink}, []datapath.Total{uplink, downlink}); diff != "" {
			t.Errorf("%s: -want +got\n%s", when, diff)
		}
	}
	first := install(b.teids, 1<<32|5)
	first.Packets, first.Octets, first.Dropped = 3, 300, 1
	down := install(b.ues, 1<<32|5)
	down.Packets, down.Octets = 7, 7000
	check("two rules", datapath.Total{Packets: 3, Octets: 300, Dropped: 1}, datapath.Total{Packets: 7, Octets: 7000, Dropped: 0})

	remove(b.teids, 1<<32|5)
	check("one removed", datapath.Total{Packets: 3, Octets: 300, Dropped: 1}, datapath.Total{Packets: 7, Octets: 7000, Dropped: 0})
	first.Packets++ // a packet that was on its way
	first.Octets += 100

	second := install(b.teids, 2<<32|5)
	if second != first || second.Packets != 0 {
		t.Errorf("second rule: %d packets in slot %p, want 0 in %p", second.Packets, second, first)
	}
	second.Packets, second.Octets = 10, 1000
	check("its slot taken by another", datapath.Total{Packets: 14, Octets: 1400, Dropped: 1}, datapath.Total{Packets: 7, Octets: 7000, Dropped: 0})
	b.ues.write(uint32(5), &upfRule{Key: 1<<32 | 5, Ctl: ruleForw | ruleDSCP}, 0)
	check("a rule changed", datapath.Total{Packets: 14, Octets: 1400, Dropped: 1}, datapath.Total{Packets: 7, Octets: 7000, Dropped: 0})

	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	check("closed", datapath.Total{Packets: 14, Octets: 1400, Dropped: 1}, datapath.Total{Packets: 7, Octets: 7000, Dropped: 0})
}

// BenchmarkTotals is what a scrape of metrics costs.
func BenchmarkTotals(b *testing.B) {
	bed := openBed(b, 1<<20)
	for i := range uint64(1 << 20) {
		for _, tab := range []*table{bed.teids, bed.ues} {
			slot, err := tab.reserve(i + 1<<32)
			if err != nil {
				b.Fatal(err)
			}
			tab.write(slot, &upfRule{Key: i + 1<<32, Ctl: direction(tab)}, 0)
		}
	}
	b.ResetTimer()
	for b.Loop() {
		bed.Totals()
	}
}

func direction(t *table) uint32 {
	if t.kind == ruleByTEID {
		return ruleForw | ruleUplink
	}
	return ruleForw
}

// Totals adds up what uplink and downlink rules counted.
func (d *Driver) Totals() (uplink, downlink datapath.Total) {
	for _, s := range d.SliceTotals() {
		uplink.Add(s.Uplink)
		downlink.Add(s.Downlink)
	}
	return uplink, downlink
}
