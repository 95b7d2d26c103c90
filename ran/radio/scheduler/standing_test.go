package scheduler_test

import (
	"testing"

	"github.com/plumbline-upf/plumbline/ran/radio"
)

// standing is a cell whose UEs are granted without asking.
func standing(ues int) radio.Config {
	c := config("DDDDDDDSUU", ues)
	c.StandingGrant = true
	return c
}

// uplinkOf keeps the uplink of the first UEs busy for so many slots, and returns the octets
// that came from each of them.
func uplinkOf(t *testing.T, c radio.Config, busy, slots int) []int {
	t.Helper()
	const size = 1500
	to := &core{received: make([][]uint32, len(c.UEs))}
	a, err := newAir(c, 6, 1, to)
	if err != nil {
		t.Fatal(err)
	}
	attach(t, a)
	for _, n := range []int{200, slots} {
		clear(to.received)
		for range n {
			fill(a.ues[:busy])
			a.tick()
		}
	}
	if a.problem != nil {
		t.Error(a.problem)
	}
	octets := make([]int, busy)
	for i := range octets {
		octets[i] = len(to.received[i]) * size
	}
	return octets
}

func fill(ues []*airUE) {
	for _, u := range ues {
		for u.bearer.Buffered() < 1_000_000 && u.bearer.Send(1, packet(1, 1500)) {
		}
	}
}

// TestStandingBusy: UEs that have nothing to send leave the uplink to those that have.
func TestStandingBusy(t *testing.T) {
	const slots = 2000
	alone := uplinkOf(t, standing(1), 1, slots)[0]
	// Of the grants of a slot, 8, the busy one has one, and 2 PRBs of 106 carry 160 octets.
	least := float64(alone) * 7 * 2 / 106
	if got := uplinkOf(t, standing(16), 1, slots)[0]; float64(got) < 0.97*(float64(alone)-least) {
		t.Errorf("one busy UE of 16 sends %d octets, alone %d; the others' grants are worth %.0f", got, alone, least)
	}
	two := uplinkOf(t, standing(16), 2, slots)
	if sum := two[0] + two[1]; float64(sum) < 0.97*(float64(alone)-least) || float64(min(two[0], two[1])) < 0.9*float64(max(two[0], two[1])) {
		t.Errorf("two busy UEs of 16 send %v octets, one alone %d", two, alone)
	}
}

// TestStandingTwoSlots: two uplink slots that are granted in the same one share its DCIs.
func TestStandingTwoSlots(t *testing.T) {
	alone, c := standing(1), standing(16)
	alone.K2, c.K2 = 1, 1
	want := 0.85 * float64(uplinkOf(t, alone, 1, 1000)[0])
	if got := uplinkOf(t, c, 1, 1000)[0]; float64(got) < want {
		t.Errorf("one busy UE of 16 sends %d octets, want %.0f at least", got, want)
	}
}

// TestStandingIdle: the first packet of a UE that had nothing to send leaves when its turn
// comes, without a request, however busy others are.
func TestStandingIdle(t *testing.T) {
	for _, test := range []struct {
		ues, busy, most int // most: uplink slots
	}{
		{1, 0, 1},
		{8, 0, 1},
		{16, 0, 2},
		{16, 1, 3},  // 7 of 8 grants for 15
		{16, 2, 3},  // 6 for 14
		{16, 12, 2}, // 2 for 4
	} {
		to := &core{received: make([][]uint32, test.ues)}
		a, err := newAir(standing(test.ues), 6, 1, to)
		if err != nil {
			t.Fatal(err)
		}
		attach(t, a)
		longest := 0
		for i := range 600 {
			u := a.ues[test.busy+i%(test.ues-test.busy)]
			fill(a.ues[:test.busy])
			a.tick()
			if i < 40 || u.bearer.Buffered() > 0 {
				continue
			}
			u.bearer.Send(1, packet(1, 84))
			passed := 0
			for ; u.bearer.Buffered() > 0 && passed < 20; a.tick() {
				fill(a.ues[:test.busy])
				if a.rrc.Slot(a.now).PUSCH.Length > 0 {
					passed++
				}
			}
			longest = max(longest, passed)
		}
		if longest > test.most || longest == 0 {
			t.Errorf("%d of %d UEs are busy: a packet of another one left in the %dth uplink slot, want the %dth at the latest", test.busy, test.ues, longest, test.most)
		}
	}
}

// TestDownlinkBusy: in downlink only UEs that have something to receive have a share.
func TestDownlinkBusy(t *testing.T) {
	c := config("DDDDDDDSUU", 16)
	for _, busy := range []int{1, 2} {
		to := &core{received: make([][]uint32, len(c.UEs))}
		a, err := newAir(c, 6, 1, to)
		if err != nil {
			t.Fatal(err)
		}
		attach(t, a)
		const slots, size = 2000, 1500
		for _, n := range []int{200, slots} {
			for _, u := range a.ues {
				u.received = nil
			}
			for range n {
				for i := range busy {
					for a.mac.Buffered(i) < 1_000_000 && a.mac.Downlink(i, 1, packet(1, size)) {
					}
				}
				a.tick()
			}
		}
		bound, _ := a.rrc.Bound()
		bound *= slots * c.Numerology.Duration().Seconds() / 8 / float64(busy)
		for i := range busy {
			if got := float64(len(a.ues[i].received) * size); got < 0.97*bound || got > 1.02*bound {
				t.Errorf("%d busy: ue %d received %.0f octets, its share of the grid is %.0f", busy, i, got, bound)
			}
		}
	}
}
