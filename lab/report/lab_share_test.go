package report

import (
	"math"
	"strings"
	"testing"
)

// TestShareOfFrames has a UPF carry every frame, and wants a share of 1 also where the bed's
// frames are longer or shorter than those that the UPF sends.
func TestShareOfFrames(t *testing.T) {
	rates := func(octets float64) []Figure {
		return []Figure{
			{Name: "Rx", Unit: "bit/s", Better: Higher, Value: 8 * octets * 1e5},
			{Name: "Rx frames", Unit: "pps", Better: Higher, Value: 1e5},
		}
	}
	l := &Lab{
		Plan:    LabPlan{Methods: []string{"campaign"}, Repeats: 1, Cells: []LabCell{{Method: "campaign", Direction: Uplink}, {Method: "campaign", Direction: Downlink}}},
		Systems: []System{{Name: SystemBed}, {Name: "upf"}},
		Turns: []Turn{
			{Cell: 0, System: SystemBed, Repeat: 1, Figures: rates(108)}, {Cell: 0, System: "upf", Repeat: 1, Figures: rates(64)},
			{Cell: 1, System: SystemBed, Repeat: 1, Figures: rates(64)}, {Cell: 1, System: "upf", Repeat: 1, Figures: rates(108)},
		},
	}
	v := newLabView(l)
	for cell, d := range Directions {
		if got := v.share(cell, "upf", "Rx").Median; math.Abs(got-1) > 1e-9 {
			t.Errorf("%s: share of the bed %.3f, want 1", d, got)
		}
	}
	m := v.methods()[0]
	for i := range m.figures {
		if f := &m.figures[i]; !m.sharesOf(f) {
			t.Errorf("%s: no share of the bed", f.name)
		}
	}
	m.figures = m.figures[:1]
	if m.sharesOf(&m.figures[0]) {
		t.Error("a share of bits without frames beside them")
	}
}

// TestSelfLimits wants what is said of a slow sender not to contradict the loss.
func TestSelfLimits(t *testing.T) {
	l := &Lab{Turns: []Turn{{Trials: []Trial{
		{Kind: Paced, IntendedPPS: 2000, OfferedPPS: 1243},
		{Kind: Paced, IntendedPPS: 2000, OfferedPPS: 2000},
		{Kind: Search, IntendedPPS: 2000, OfferedPPS: 1000},
	}}}}
	got := newLabView(l).selfLimits()
	if !strings.HasPrefix(got, "in 1 of 2 trials") || !strings.Contains(got, "loss is of what it sent") {
		t.Errorf("got %q", got)
	}
}
