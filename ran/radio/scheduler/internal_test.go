package scheduler

import (
	"slices"
	"testing"

	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/ran/radio"
)

func TestShare(t *testing.T) {
	for _, test := range []struct {
		prbs int
		want []int
		got  []int
	}{
		{106, []int{106}, []int{106}},
		{106, []int{3}, []int{3}},
		{106, []int{106, 106}, []int{53, 53}},
		{106, []int{10, 106}, []int{10, 96}},
		{106, []int{106, 10, 106}, []int{48, 10, 48}},
		{106, []int{40, 30, 106}, []int{38, 30, 38}},
		{107, []int{106, 106, 106}, []int{35, 36, 36}},
		{106, nil, nil},
	} {
		var list []want
		for _, prbs := range test.want {
			list = append(list, want{prbs: prbs})
		}
		share(list, test.prbs)
		var got []int
		for _, w := range list {
			got = append(got, w.prbs)
		}
		if !slices.Equal(got, test.got) {
			t.Errorf("%d PRBs for %v: got %v, want %v", test.prbs, test.want, got, test.got)
		}
	}
}

// FuzzShare: nobody gets more than wanted or nothing, no PRB is given twice, and none
// is left while somebody wants it.
func FuzzShare(f *testing.F) {
	f.Add(uint16(106), []byte{1, 2, 255})
	f.Add(uint16(275), []byte{200, 200, 200, 1, 1, 1, 90, 7})
	f.Fuzz(func(t *testing.T, prbs uint16, wants []byte) {
		wants = wants[:min(len(wants), maxDCIs)]
		total := int(prbs)%275 + maxDCIs // each gets one at least
		var list []want
		wanted := 0
		for _, w := range wants {
			list = append(list, want{prbs: int(w) + 1})
			wanted += int(w) + 1
		}
		share(list, total)
		given := 0
		for i, w := range list {
			if w.prbs < 1 || w.prbs > int(wants[i])+1 {
				t.Errorf("%d PRBs for one that wants %d", w.prbs, int(wants[i])+1)
			}
			given += w.prbs
		}
		if given != min(wanted, total) {
			t.Errorf("%d PRBs given of %d, %d are wanted: %v", given, total, wanted, list)
		}
	})
}

// TestOverdue: how long to wait follows from what came, not from what is configured.
func TestOverdue(t *testing.T) {
	o := newOverdue()
	if got := o.limit(); got != aheadUnknown+1+overdueMargin {
		t.Errorf("at first the limit is %d slots", got)
	}
	pass := func(from, ahead, slots int) {
		for n := from; n < from+slots; n++ {
			// Tick n-ahead: first what was received in the slot that has ended.
			o.indicated(1, s(n-ahead-1))
			o.scheduled(s(n))
		}
	}
	pass(20400, 7, 2*overdueWindow) // slots come round
	if got := o.limit(); got != 7+1+overdueMargin {
		t.Errorf("7 slots ahead the limit is %d", got)
	}
	o.indicated(1, s(20400+2*overdueWindow-1-12))
	if got := o.limit(); got != 12+1+overdueMargin {
		t.Errorf("a later one makes the limit %d", got)
	}
	o.indicated(1, s(20400+2*overdueWindow-1-aheadMost-1))
	o.indicated(1, s(20400+2*overdueWindow+5))
	if got := o.limit(); got != 12+1+overdueMargin {
		t.Errorf("what cannot be makes the limit %d", got)
	}
	pass(20400+2*overdueWindow, 3, 2*overdueWindow)
	if got := o.limit(); got != 3+1+overdueMargin {
		t.Errorf("after a window of 3 slots ahead the limit is %d", got)
	}
}

func s(n int) slot.Number { return slot.Number(n % 20480) }

func TestNewErrors(t *testing.T) {
	good := radio.Default()
	if _, err := New(good, nil, Options{}); err != nil {
		t.Fatalf("the default cell: %v", err)
	}
	for name, change := range map[string]func(*radio.Config, *Options){
		"no UE":             func(c *radio.Config, _ *Options) { c.UEs = nil },
		"pattern":           func(c *radio.Config, _ *Options) { c.Pattern = "DDD" },
		"RLC mode":          func(c *radio.Config, _ *Options) { c.RLC = "tm" },
		"no transmission":   func(_ *radio.Config, o *Options) { o.Transmissions = -1 },
		"256 transmissions": func(_ *radio.Config, o *Options) { o.Transmissions = 256 },
	} {
		c, o := good, Options{}
		change(&c, &o)
		if s, err := New(c, nil, o); err == nil {
			t.Errorf("%s: it is a scheduler: %+v", name, s.Stats())
		}
	}
}
