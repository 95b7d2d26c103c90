package grid

import (
	"math"
	"testing"

	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/ran/radio"
)

// config is the cell of OpenAirInterface's measurements of 2024: 40 MHz, 64QAM.
func config() radio.Config {
	return radio.Config{
		Numerology: 1, PRBs: 106, Layers: 1, MCS: 28, Pattern: "DDDDDDDSUU", SpecialDL: 6, SpecialUL: 4,
		K1: 4, K2: 6, SRPeriod: 10, SROffset: 8, RLC: "um",
	}
}

func TestGrid(t *testing.T) {
	c := config()
	g, err := New(&c)
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range map[slot.Number]Slot{
		0:     {PDSCH: Symbols{1, 13}, K1: 8},
		4:     {PDSCH: Symbols{1, 13}, K1: 4},
		5:     {PDSCH: Symbols{1, 13}, K1: 4},
		6:     {PDSCH: Symbols{1, 13}, K1: 12},
		7:     {PDSCH: Symbols{1, 5}, K1: 11},
		8:     {PUSCH: Symbols{0, 13}, PUCCH: true, Grant: 6},
		9:     {PUSCH: Symbols{0, 13}, PUCCH: true, Grant: 6},
		20478: {PUSCH: Symbols{0, 13}, PUCCH: true, Grant: 6},
	} {
		if got := *g.Slot(n); got != want {
			t.Errorf("slot %d: got %+v, want %+v", n, got, want)
		}
	}
	if g.SR(7) || !g.SR(8) || g.SR(9) || !g.SR(20478) {
		t.Error("scheduling requests are not in slots 8, 18, …")
	}
}

// TestGrantInLastDownlinkSlot: with k2 1 the PUSCH of slot 9 is granted in slot 7, as
// 8 is uplink.
func TestGrantInLastDownlinkSlot(t *testing.T) {
	c := config()
	c.K2 = 1
	g, err := New(&c)
	if err != nil {
		t.Fatal(err)
	}
	if got := [2]int{g.Slot(8).Grant, g.Slot(9).Grant}; got != [2]int{1, 2} {
		t.Errorf("k2 is %v, want [1 2]", got)
	}
}

// TestBound: computed by hand. The sizes of 7 D slots and of S in 5 ms are 83976 and
// 28168 bits at 40 MHz; without the steps between sizes it would be 124.3 Mbit/s.
func TestBound(t *testing.T) {
	for _, test := range []struct {
		name     string
		change   func(*radio.Config)
		down, up float64 // Mbit/s
	}{
		{"40 MHz 64QAM", func(*radio.Config) {}, 123.2, 33.5904},
		{"100 MHz 256QAM 4 layers", func(c *radio.Config) { c.PRBs, c.MCSTable, c.MCS, c.Layers = 273, 1, 27, 4 }, 1728.864, 471.9456},
	} {
		c := config()
		test.change(&c)
		g, err := New(&c)
		if err != nil {
			t.Fatal(err)
		}
		down, up := g.Bound()
		if math.Abs(down/1e6-test.down) > 1e-6 || math.Abs(up/1e6-test.up) > 1e-6 {
			t.Errorf("%s: got %f and %f Mbit/s, want %f and %f", test.name, down/1e6, up/1e6, test.down, test.up)
		}
	}
}

// TestHARQBound: 16 processes are enough while feedback is near; further ahead they carry as
// many blocks as there are round trips, if all slots were alike.
func TestHARQBound(t *testing.T) {
	c := config()
	g, err := New(&c)
	if err != nil {
		t.Fatal(err)
	}
	down, up := g.Bound()
	for _, ahead := range []int{1, 2, 6} {
		if gotDown, gotUp := g.HARQBound(ahead); gotDown != down || gotUp != up {
			t.Errorf("%d slots ahead: got %g and %g bit/s, want all, %g and %g", ahead, gotDown, gotUp, down, up)
		}
	}
	// A round trip of 200 slots, up to the pattern's 10, has 16 blocks in each direction;
	// without HARQ there would be 8 for each 10 slots, and 2.
	gotDown, gotUp := g.HARQBound(200 - 1 - 5)
	if share := gotDown / down; share < 16.0/160*0.9 || share > 16.0/160*1.1 {
		t.Errorf("200 slots: got %.3f of the downlink, want about 16 of 160 blocks", share)
	}
	if share := gotUp / up; share < 16.0/42*0.9 || share > 16.0/40*1.05 {
		t.Errorf("200 slots: got %.3f of the uplink, want about 16 of 40 blocks", share)
	}
}

func TestErrors(t *testing.T) {
	for name, change := range map[string]func(*radio.Config){
		"no PRB":                   func(c *radio.Config) { c.PRBs = 0 },
		"too many PRBs":            func(c *radio.Config) { c.PRBs = 276 },
		"no layer":                 func(c *radio.Config) { c.Layers = 0 },
		"5 layers":                 func(c *radio.Config) { c.Layers = 5 },
		"reserved MCS":             func(c *radio.Config) { c.MCS = 29 },
		"unknown table":            func(c *radio.Config) { c.MCSTable = 2 },
		"k1 of 0":                  func(c *radio.Config) { c.K1 = 0 },
		"k1 of 16":                 func(c *radio.Config) { c.K1 = 16 },
		"k2 of 0":                  func(c *radio.Config) { c.K2 = 0 },
		"k2 of 18":                 func(c *radio.Config) { c.K2 = 18 },
		"SR period":                func(c *radio.Config) { c.SRPeriod = 3 },
		"SR offset":                func(c *radio.Config) { c.SROffset = 10 },
		"SR in downlink":           func(c *radio.Config) { c.SROffset = 0 },
		"SR in downlink, at times": func(c *radio.Config) { c.SRPeriod = 4; c.SROffset = 0 },
		"all uplink":               func(c *radio.Config) { c.Pattern = "U" },
		"all downlink":             func(c *radio.Config) { c.Pattern = "D" },
		"pattern":                  func(c *radio.Config) { c.Pattern = "DDX" },
		"feedback too far":         func(c *radio.Config) { c.Pattern = "DDDDDDDDDDDDDDDDDDSU"; c.SRPeriod, c.SROffset = 20, 19 },
		"too many k1": func(c *radio.Config) {
			c.Pattern, c.K1, c.SROffset = "DDDDDDDDSU", 1, 9
		},
	} {
		c := config()
		change(&c)
		if g, err := New(&c); err == nil {
			t.Errorf("%s: it is a grid: %+v", name, g)
		}
	}
}
