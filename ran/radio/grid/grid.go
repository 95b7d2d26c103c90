// Package grid is the resource grid of a cell: which symbols of each slot carry a
// PDSCH, a PUSCH and a PUCCH, when feedback and grants go, and how many octets fit.
//
//	symbol   0      1 … 12         13
//	D       PDCCH   PDSCH ─────────────     all 14 symbols are downlink
//	S       PDCCH   PDSCH … guard … -       the PDSCH is shorter
//	U       PUSCH ──────────────── PUCCH
//
// PDSCH and PUSCH have one symbol of DMRS, type 1, that nothing else shares: 12
// resource elements per PRB.
//
// Both ends have a grid, made of the same configuration, as a real UE has it from RRC.
//
// Source: TS 38.214 V18, 5.1.2, 5.1.3, 6.1.2 and 6.1.4 (resources, sizes); TS 38.213
// V18, 9.2 (PUCCH).
package grid

import (
	"fmt"
	"slices"

	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/ran/radio"
)

const (
	// CORESETSymbols is how many symbols of a downlink slot are for PDCCH, from the
	// first.
	CORESETSymbols = 1
	// PUCCHSymbols is how many symbols of an uplink slot are for PUCCH, at its end.
	PUCCHSymbols = 1
	// PUCCHStart is the first of them.
	PUCCHStart = slot.Symbols - PUCCHSymbols
	// DMRSSymbol is which symbol of an allocation has the DMRS, from its start: it is
	// front-loaded.
	DMRSSymbol = 0
	// DMRSPerPRB is how many resource elements of a PRB the DMRS takes, those left
	// empty included.
	DMRSPerPRB = Subcarriers

	// minPDSCH is the least symbols that a PDSCH is worth having: DMRS and two more.
	minPDSCH = 3

	maxPRBs   = 275
	maxLayers = 4
	// maxK1s is how many slots for feedback the DCI can tell apart, MaxK1 the furthest.
	// Source: TS 38.213 V18, 9.2.3; TS 38.331 V18, dl-DataToUL-ACK.
	maxK1s = 8
	// MaxK1 is how many slots there may be from a PDSCH to its feedback.
	MaxK1 = 15
	// MaxK2 is how many slots there may be from a grant to its PUSCH. Source:
	// TS 38.331 V18, PUSCH-TimeDomainResourceAllocation.
	MaxK2 = 32
	// K2s is how many values of k2 a grant can tell: from the configured one on.
	K2s = 16
)

// srPeriods are the periods of scheduling requests that there are, in slots. Source:
// TS 38.331 V18, SchedulingRequestResourceConfig.
var srPeriods = []int{1, 2, 4, 5, 8, 10, 16, 20, 40, 80, 160, 320, 640}

// Symbols are consecutive symbols of a slot. A Length of 0: there are none.
type Symbols struct{ Start, Length int }

// Slot is what a slot is for.
type Slot struct {
	PDSCH Symbols
	PUSCH Symbols
	// PUCCH says that feedback and scheduling requests can be in it.
	PUCCH bool
	// K1 is how many slots later the feedback for its PDSCH is due; 0 if it has none.
	K1 int
	// Grant is how many slots before it the latest grant for its PUSCH is sent, with
	// DL_TTI's downlink control region; 0 if it has none. It is k2.
	Grant int
}

// Grid is the grid of a cell.
type Grid struct {
	PRBs, Layers int
	Table, MCS   uint8
	Numerology   slot.Numerology
	TDD          slot.TDD
	K1s          []int // those that occur, in rising order
	MinK2        int

	slots              []Slot
	srPeriod, srOffset int
}

// New makes the grid of a configuration.
//
// Errors: a field out of range; a pattern without uplink, or with feedback or grants at a distance
// that a DCI cannot encode; scheduling requests in a slot that is not uplink.
func New(c *radio.Config) (*Grid, error) {
	tdd, err := slot.ParseTDD(c.Numerology, c.Pattern, c.SpecialDL, c.SpecialUL)
	if err != nil {
		return nil, err
	}
	if err := check(c); err != nil {
		return nil, err
	}
	g := &Grid{
		PRBs: c.PRBs, Layers: c.Layers, Table: c.MCSTable, MCS: c.MCS, Numerology: c.Numerology, TDD: tdd,
		MinK2: c.K2, srPeriod: c.SRPeriod, srOffset: c.SROffset, slots: make([]Slot, c.Numerology.PerFrame()),
	}
	g.divide()
	if err := g.feedback(c.K1); err != nil {
		return nil, err
	}
	if err := g.grants(c.K2); err != nil {
		return nil, err
	}
	return g, g.requests()
}

func check(c *radio.Config) error {
	qm, _ := Modulation(c.MCSTable, c.MCS)
	switch {
	case c.PRBs < 1 || c.PRBs > maxPRBs:
		return fmt.Errorf("grid: %d PRBs, a carrier has 1 to %d", c.PRBs, maxPRBs)
	case c.Layers < 1 || c.Layers > maxLayers:
		return fmt.Errorf("grid: %d layers, there are 1 to %d", c.Layers, maxLayers)
	case qm == 0:
		return fmt.Errorf("grid: MCS %d of table %d: there is no such one for a new transport block", c.MCS, c.MCSTable)
	case c.K1 < 1 || c.K1 > MaxK1:
		return fmt.Errorf("grid: k1 of %d slots, there are 1 to %d", c.K1, MaxK1)
	case c.K2 < 1 || c.K2+K2s-1 > MaxK2:
		return fmt.Errorf("grid: k2 of %d slots, there are 1 to %d", c.K2, MaxK2-K2s+1)
	case !slices.Contains(srPeriods, c.SRPeriod):
		return fmt.Errorf("grid: scheduling requests every %d slots, there are %v", c.SRPeriod, srPeriods)
	case c.SROffset < 0 || c.SROffset >= c.SRPeriod:
		return fmt.Errorf("grid: scheduling requests from slot %d on, it has to be below their period, %d", c.SROffset, c.SRPeriod)
	}
	return nil
}

// divide gives each slot's symbols to the channels.
func (g *Grid) divide() {
	for n := range g.slots {
		s := &g.slots[n]
		if down := g.TDD.DownlinkSymbols(slot.Number(n)) - CORESETSymbols; down >= minPDSCH {
			s.PDSCH = Symbols{Start: CORESETSymbols, Length: down}
		}
		if g.TDD.UplinkSymbols(slot.Number(n)) == slot.Symbols {
			s.PUSCH = Symbols{Length: slot.Symbols - PUCCHSymbols}
			s.PUCCH = true
		}
	}
}

// feedback finds for each PDSCH the first slot with PUCCH that is at least k1 later.
func (g *Grid) feedback(k1 int) error {
	for n := range g.slots {
		s := &g.slots[n]
		if s.PDSCH.Length == 0 {
			continue
		}
		for k := k1; k <= MaxK1 && s.K1 == 0; k++ {
			if g.Slot(slot.Number(n + k)).PUCCH {
				s.K1 = k
			}
		}
		if s.K1 == 0 {
			return fmt.Errorf("grid: pattern %s: no uplink slot %d to %d slots after slot %d", g.TDD, k1, MaxK1, n)
		}
		if !slices.Contains(g.K1s, s.K1) {
			g.K1s = append(g.K1s, s.K1)
		}
	}
	slices.Sort(g.K1s)
	if len(g.K1s) == 0 {
		return fmt.Errorf("grid: pattern %s has no downlink slot", g.TDD)
	}
	if len(g.K1s) > maxK1s {
		return fmt.Errorf("grid: pattern %s: feedback is %v slots away, a DCI tells %d of them apart", g.TDD, g.K1s, maxK1s)
	}
	return nil
}

// grants finds for each PUSCH the last slot with PDCCH that is at least k2 earlier.
func (g *Grid) grants(k2 int) error {
	for n := range g.slots {
		s := &g.slots[n]
		if s.PUSCH.Length == 0 {
			continue
		}
		for k := k2; k < k2+K2s && s.Grant == 0; k++ {
			if g.TDD.DownlinkSymbols(g.Numerology.Add(slot.Number(n), -k)) >= CORESETSymbols {
				s.Grant = k
			}
		}
		if s.Grant == 0 {
			return fmt.Errorf("grid: pattern %s: no downlink slot %d to %d slots before slot %d", g.TDD, k2, k2+K2s-1, n)
		}
	}
	return nil
}

// requests checks that scheduling requests are in uplink slots only.
func (g *Grid) requests() error {
	for n := g.srOffset; n < g.Numerology.PerCycle(); n += g.srPeriod {
		if !g.Slot(slot.Number(n)).PUCCH {
			return fmt.Errorf("grid: scheduling requests every %d slots from slot %d on: slot %d of pattern %s is not uplink", g.srPeriod, g.srOffset, n%len(g.slots), g.TDD)
		}
	}
	return nil
}

// Slot is what slot n is for.
func (g *Grid) Slot(n slot.Number) *Slot { return &g.slots[int(n)%len(g.slots)] }

// PDSCHs are the symbols that a PDSCH can have, each once, in the order of the slots.
func (g *Grid) PDSCHs() []Symbols {
	var list []Symbols
	for i := range g.slots {
		if s := g.slots[i].PDSCH; s.Length > 0 && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// SR reports whether a UE can send a scheduling request in slot n.
func (g *Grid) SR(n slot.Number) bool { return int(n)%g.srPeriod == g.srOffset }

// Allocation is some PRBs of the grid's carrier in a slot's symbols, with an MCS of its
// table. QM is 0 if there is no such MCS.
func (g *Grid) Allocation(s Symbols, prbs int, mcs uint8) Allocation {
	qm, rate := Modulation(g.Table, mcs)
	return Allocation{PRBs: prbs, Symbols: s.Length, DMRS: DMRSPerPRB, Layers: g.Layers, QM: qm, Rate: rate}
}

// Bound is the most that transport blocks can carry in each direction, in bit/s: all
// PRBs of each slot for one UE, sent once. Headers of MAC and above are part of it, SSB and
// PRACH take nothing away. The smaller blocks of several UEs are rounded otherwise, and may
// carry a hundredth more. The HARQ processes of one UE may carry less: [Grid.HARQBound].
func (g *Grid) Bound() (downlink, uplink float64) {
	var down, up int
	for i := range g.slots {
		down += g.Allocation(g.slots[i].PDSCH, g.PRBs, g.MCS).TransportBlock()
		up += g.Allocation(g.slots[i].PUSCH, g.PRBs, g.MCS).TransportBlock()
	}
	const framesPerSecond = 100
	return float64(8 * framesPerSecond * down), float64(8 * framesPerSecond * up)
}
