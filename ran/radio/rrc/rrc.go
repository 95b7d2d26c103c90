// Package rrc is what a gNB tells its UEs by RRC about the grid of the cell: which bit
// of its feedback a PDSCH has, where the PUCCH of each UE lies, where preambles may be
// sent, when there is an SSB. Both ends derive it from the same [radio.Config].
//
//	PUCCH  symbol 13 of each uplink slot, a PRB for each UE: feedback, or the request alone
//	PRACH  the highest 12 PRBs of the last uplink slot of each 16th frame, which ends it
//	SSB    slot 0 of each 2nd frame; a PDSCH goes around it
//
// The codebook is semi-static (type 1): a bit for each downlink slot that may have its
// feedback in an uplink slot, whether there was a PDSCH or not. What was lost on the
// way to the UE does not shift the bits of what was not.
//
// A UE may send PUCCH and PUSCH in one slot. One of Release 15 would put its feedback
// into the PUSCH, and could then not acknowledge what was assigned after the grant:
// with grants 6 slots before their PUSCH, most downlink slots.
//
// Source: TS 38.213 V18, 9.1.2 (codebook), 9.2 (PUCCH), 8 and 4.1 (PRACH, SSB); TS 38.211
// V18.2.0, 6.3.3.2 (PRACH).
package rrc

import (
	"fmt"

	"github.com/plumbline-upf/plumbline/nfapi/cell"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/ran/radio"
	"github.com/plumbline-upf/plumbline/ran/radio/grid"
)

// Config is the cell as its UEs know it. It does not change, so several goroutines may
// use it.
type Config struct {
	*grid.Grid
	lastUplink int     // slot of a frame
	codebooks  [][]int // for each slot of a frame
}

const (
	// maxUEs is how many have a PRB of their own for their PUCCH, at most.
	maxUEs = 128

	maxRNTI     = 0xffef // TS 38.321 V18, 7.1
	maxPreamble = 63

	prachPRBs   = 12 // of a preamble of 139, as wide as the PUSCH's subcarriers
	prachFrames = 16

	// Both are format A2 from symbol 0 on, in frames with SFN mod 16 = 1: 87 in subframe 9, 29 in
	// slots 4, 9, 14 to 39 of 60 kHz. The last slot of a frame is in both; occasions in others are
	// not received. Source: TS 38.211 V18.2.0, tables 6.3.3.2-3, for 15 and 30 kHz, and 6.3.3.2-4,
	// for 60 and 120 kHz.
	prachIndexFR1 = 87
	prachIndexFR2 = 29

	ssbFrames = 2
	ssbPRBs   = 20

	// SSBFirst and SSBSymbols are the symbols of the first SSB, case C. Source: TS
	// 38.213 V18, 4.1.
	SSBFirst = 2
	// SSBSymbols is how many it has.
	SSBSymbols = 4
)

// New derives it.
//
// Errors: those of [grid.New]; no room for the SSB, or for the UEs' PUCCH; a frame that does
// not end with an uplink slot, for PRACH; UEs that cannot be distinguished.
func New(c *radio.Config) (*Config, error) {
	g, err := grid.New(c)
	if err != nil {
		return nil, err
	}
	if err := checkUEs(c.UEs); err != nil {
		return nil, err
	}
	if c.PRBs < ssbPRBs || c.PRBs <= prachPRBs || len(c.UEs) > c.PRBs {
		return nil, fmt.Errorf("rrc: %d PRBs: an SSB has %d, PRACH %d, and each of the %d UEs its own", c.PRBs, ssbPRBs, prachPRBs, len(c.UEs))
	}
	if n := g.TDD.DownlinkSymbols(0); n < SSBFirst+SSBSymbols {
		return nil, fmt.Errorf("rrc: pattern %s: slot 0 has %d downlink symbols, its SSB ends with the %dth", g.TDD, n, SSBFirst+SSBSymbols)
	}
	r := &Config{Grid: g, codebooks: make([][]int, g.Numerology.PerFrame())}
	for i := range r.codebooks {
		if g.Slot(slot.Number(i)).PUCCH {
			r.lastUplink = i
			r.codebooks[i] = r.codebook(i)
		}
	}
	if last := len(r.codebooks) - 1; r.lastUplink != last {
		return nil, fmt.Errorf("rrc: pattern %s: the last uplink slot of a frame is %d, PRACH configuration index %d has slot %d", g.TDD, r.lastUplink, r.PRACHIndex(), last)
	}
	return r, nil
}

func checkUEs(ues []radio.UE) error {
	if len(ues) == 0 || len(ues) > maxUEs {
		return fmt.Errorf("rrc: %d UEs: a cell has 1 to %d", len(ues), maxUEs)
	}
	rntis, preambles := map[uint16]int{}, map[uint8]int{}
	for i, u := range ues {
		if u.RNTI == 0 || u.RNTI > maxRNTI || u.Preamble > maxPreamble {
			return fmt.Errorf("rrc: ue %d: rnti %d, preamble %d: 1 to %d and 0 to %d", i, u.RNTI, u.Preamble, maxRNTI, maxPreamble)
		}
		if other, ok := rntis[u.RNTI]; ok {
			return fmt.Errorf("rrc: ues %d and %d have the same rnti %d", other, i, u.RNTI)
		}
		if other, ok := preambles[u.Preamble]; ok {
			return fmt.Errorf("rrc: ues %d and %d have the same preamble %d", other, i, u.Preamble)
		}
		rntis[u.RNTI], preambles[u.Preamble] = i, i
	}
	return nil
}

// codebook is the k1 of each bit in slot i of a frame: of those slots that have a PDSCH,
// the earliest first.
func (c *Config) codebook(i int) []int {
	var list []int
	for at := range c.K1s {
		k1 := c.K1s[len(c.K1s)-1-at]
		if c.Slot(c.Numerology.Add(slot.Number(i), -k1)).PDSCH.Length > 0 {
			list = append(list, k1)
		}
	}
	return list
}

// Codebook is the meaning of the feedback bits in slot n, first bit first: how many slots before n
// the PDSCH was.
func (c *Config) Codebook(n slot.Number) []int { return c.codebooks[int(n)%len(c.codebooks)] }

// Bit is which bit of the feedback in slot pucch is that of a PDSCH; -1 if it has none
// there.
func (c *Config) Bit(pucch, pdsch slot.Number) int {
	d := c.Numerology.Distance(pucch, pdsch)
	for i, k1 := range c.Codebook(pucch) {
		if k1 == d {
			return i
		}
	}
	return -1
}

// SSB reports whether slot n has an SSB.
func (c *Config) SSB(n slot.Number) bool {
	sfn, s := c.Numerology.Split(n)
	return s == 0 && sfn%ssbFrames == 0
}

// PRACH reports whether slot n has a PRACH occasion.
func (c *Config) PRACH(n slot.Number) bool {
	sfn, s := c.Numerology.Split(n)
	return int(s) == c.lastUplink && sfn%prachFrames == 1
}

// PUSCHPRBs is how many PRBs there are for PUSCH in slot n, from the lowest on.
func (c *Config) PUSCHPRBs(n slot.Number) int {
	if c.PRACH(n) {
		return c.PRBs - prachPRBs
	}
	return c.PRBs
}

// PRACHIndex is the configuration index of PRACH, that has the occasions of [Config.PRACH].
func (c *Config) PRACHIndex() uint8 {
	if c.Numerology > 1 {
		return prachIndexFR2
	}
	return prachIndexFR1
}

// PRACHOccasion is where preambles lie.
func (c *Config) PRACHOccasion() cell.Occasion {
	return cell.Occasion{RootSequences: 1, FrequencyStart: uint16(c.PRBs - prachPRBs)}
}

// Resource is where a PUCCH lies, in symbol [grid.PUCCHStart].
type Resource struct {
	Format      uint8 // 0 or 2
	PRB         uint16
	CyclicShift uint16
}

// Feedback is the PUCCH of a UE's feedback in slot n: of format 0 up to 2 bits, of
// format 2 above. ue is the index of its configuration.
func (c *Config) Feedback(ue int, n slot.Number) Resource {
	if len(c.Codebook(n)) <= 2 {
		return Resource{PRB: uint16(ue)}
	}
	return Resource{Format: 2, PRB: uint16(ue)}
}

// Request is the PUCCH of a UE's scheduling request in a slot where it has no feedback
// to send.
func (c *Config) Request(ue int) Resource { return Resource{PRB: uint16(ue), CyclicShift: 3} }
