package rrc_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/ran/radio"
	"github.com/plumbline-upf/plumbline/ran/radio/rrc"
)

func config(pattern string, k1, k2 int) radio.Config {
	return radio.Config{
		Numerology: 1, PRBs: 106, Layers: 1, MCS: 28, Pattern: pattern, SpecialDL: 6, SpecialUL: 4,
		K1: k1, K2: k2, SRPeriod: len(pattern), SROffset: strings.IndexByte(pattern, 'U'), RLC: "um",
		UEs: []radio.UE{{RNTI: 0x4601, Preamble: 0}, {RNTI: 0x4602, Preamble: 1}},
	}
}

func TestCodebook(t *testing.T) {
	for _, test := range []struct {
		pattern string
		k1      int
		slot    slot.Number
		want    []int
	}{
		// 2 of slot 7 falls into 9, so 9 has all of 8 to 2 that are downlink.
		{"DDDDDDDSUU", 2, 8, []int{8, 7, 6, 5, 4, 3, 2}},
		{"DDDDDDDSUU", 2, 9, []int{8, 7, 6, 5, 4, 3, 2}},
		{"DDDDDDDSUU", 1, 18, []int{8, 7, 6, 5, 4, 3, 2, 1}},
		// S has no uplink slot 2 later before the next period: 6.
		{"DDDSU", 2, 4, []int{6, 4, 3, 2}},
		{"SU", 1, 1, []int{1}},
		{"SU", 2, 3, []int{3}},
		{"DDDDDDDSUU", 2, 3, nil}, // downlink
	} {
		c := config(test.pattern, test.k1, 6)
		r, err := rrc.New(&c)
		if err != nil {
			t.Errorf("%s, k1 %d: %v", test.pattern, test.k1, err)
			continue
		}
		if got := r.Codebook(test.slot); !slices.Equal(got, test.want) {
			t.Errorf("%s, k1 %d: codebook of slot %d is %v, want %v", test.pattern, test.k1, test.slot, got, test.want)
		}
	}
}

// TestBit: every PDSCH of a cycle has a bit of its own in the slot of its feedback,
// where SFNs come round, too.
func TestBit(t *testing.T) {
	for _, pattern := range []string{"DDDDDDDSUU", "DDDSU", "DDSU", "SU", "DSUUU"} {
		for k1 := 1; k1 <= 4; k1++ {
			c := config(pattern, k1, 6)
			r, err := rrc.New(&c)
			if err != nil {
				t.Fatal(err)
			}
			type place struct {
				slot slot.Number
				bit  int
			}
			taken := map[place]slot.Number{}
			for n := range slot.Number(r.Numerology.PerCycle()) {
				s := r.Slot(n)
				if s.PDSCH.Length == 0 {
					continue
				}
				at := place{slot: r.Numerology.Add(n, s.K1)}
				at.bit = r.Bit(at.slot, n)
				if at.bit < 0 || at.bit >= len(r.Codebook(at.slot)) {
					t.Fatalf("%s, k1 %d: PDSCH of slot %d has bit %d of %d in slot %d", pattern, k1, n, at.bit, len(r.Codebook(at.slot)), at.slot)
				}
				if other, ok := taken[at]; ok {
					t.Fatalf("%s, k1 %d: PDSCHs of slots %d and %d have the same bit %v", pattern, k1, other, n, at)
				}
				taken[at] = n
			}
		}
	}
	c := config("DDDDDDDSUU", 2, 6)
	r, _ := rrc.New(&c)
	if got := r.Bit(8, 7); got != -1 {
		t.Errorf("a PDSCH one slot before has bit %d, want none", got)
	}
}

func TestOccasions(t *testing.T) {
	c := config("DDDDDDDSUU", 2, 6)
	r, err := rrc.New(&c)
	if err != nil {
		t.Fatal(err)
	}
	ssb, prach := 0, 0
	for n := range slot.Number(r.Numerology.PerCycle()) {
		if r.SSB(n) {
			ssb++
		}
		if r.PRACH(n) {
			prach++
			if r.TDD.UplinkSymbols(n) != slot.Symbols || r.PUSCHPRBs(n) != 94 {
				t.Errorf("PRACH in slot %s with %d uplink symbols leaves %d PRBs", r.Numerology.String(n), r.TDD.UplinkSymbols(n), r.PUSCHPRBs(n))
			}
		}
	}
	if ssb != 512 || prach != 64 {
		t.Errorf("%d SSBs and %d PRACH occasions in a cycle, want one each 20 ms and each 160 ms", ssb, prach)
	}
	if got, want := r.Feedback(1, 8), (rrc.Resource{Format: 2, PRB: 1}); got != want {
		t.Errorf("feedback of 7 bits is in %v, want %v", got, want)
	}
	short := config("SU", 1, 1)
	if r, err = rrc.New(&short); err != nil {
		t.Fatal(err)
	}
	if got, want := r.Feedback(1, 1), (rrc.Resource{PRB: 1}); got != want {
		t.Errorf("feedback of 1 bit is in %v, want %v", got, want)
	}
	if r.Feedback(0, 1) == r.Request(0) || r.Request(0) == r.Request(1) {
		t.Error("PUCCHs of different meaning or UE lie in the same place")
	}
}

func TestErrors(t *testing.T) {
	for name, change := range map[string]func(*radio.Config){
		"no UE":              func(c *radio.Config) { c.UEs = nil },
		"same RNTI":          func(c *radio.Config) { c.UEs[1].RNTI = c.UEs[0].RNTI },
		"same preamble":      func(c *radio.Config) { c.UEs[1].Preamble = c.UEs[0].Preamble },
		"reserved RNTI":      func(c *radio.Config) { c.UEs[0].RNTI = 0xffff },
		"no RNTI":            func(c *radio.Config) { c.UEs[0].RNTI = 0 },
		"preamble 64":        func(c *radio.Config) { c.UEs[0].Preamble = 64 },
		"SSB has no PRB":     func(c *radio.Config) { c.PRBs = 19 },
		"SSB has no symbols": func(c *radio.Config) { c.Pattern, c.SRPeriod, c.SROffset, c.SpecialDL = "SU", 2, 1, 5 },
		"grid":               func(c *radio.Config) { c.Pattern = "DDX" },
	} {
		c := config("DDDDDDDSUU", 2, 6)
		change(&c)
		if _, err := rrc.New(&c); err == nil {
			t.Errorf("%s: it is a cell", name)
		}
	}
}

// TestPRACH: preambles may be sent where the configuration index says, from SFN 1 on each
// 16th frame, in the last slot; a pattern that ends with no uplink slot is refused.
func TestPRACH(t *testing.T) {
	for mu, index := range map[slot.Numerology]uint8{0: 87, 1: 87, 2: 29, 3: 29} {
		c := config("DDDSU", 2, 3)
		c.Numerology = mu
		r, err := rrc.New(&c)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.PRACHIndex(); got != index {
			t.Errorf("mu %d: index %d, want %d", mu, got, index)
		}
		for n := range slot.Number(mu.PerCycle()) {
			sfn, s := mu.Split(n)
			if want := sfn%16 == 1 && int(s) == mu.PerFrame()-1; r.PRACH(n) != want {
				t.Errorf("mu %d: slot %s: %v, want %v", mu, mu.String(n), r.PRACH(n), want)
			}
		}
	}
	for _, pattern := range []string{"DSUUD", "DSUD"} {
		c := config(pattern, 2, 3)
		if _, err := rrc.New(&c); err == nil || !strings.Contains(err.Error(), "PRACH configuration index 87") {
			t.Errorf("%s: got %v, want it refused for its PRACH", pattern, err)
		}
	}
}
