// Package scheduler is the MAC of a gNB: it schedules downlink and uplink of all UEs for each slot,
// some slots ahead of the air.
//
//	core ─ Downlink ─► bearer ─► PDSCH: DL_TTI, TX_DATA ─► k1 ─► PUCCH ─► UCI: ACK, or again
//	                             SR, BSR ─► UL_DCI ─► k2 ─► PUSCH: UL_TTI ─► CRC, RX_DATA ─► bearer ─► core
//
// A UE is known when its preamble has come (RACH.indication). The preamble is its own,
// so no random access response and no contention resolution are needed; a first grant
// tells the UE that it was heard.
//
// Each HARQ process is free, waits for the result of a slot, or is due for a retransmission or its
// grant. There is no other state of a transmission, so any loss on the way (a request, an
// indication, the tick of a slot) ends in one of two ways: the result is overdue and the process
// becomes due, or after [Options].Transmissions it is abandoned, counted and free. Results for a
// slot that no process waits for are stale, counted and ignored.
//
// A retransmission has the PRBs, symbols and MCS of the first transmission, because they determine
// the size of the transport block; it waits for a slot with such symbols.
//
// Source: TS 38.321 V18, 5.3, 5.4; TS 38.214 V18, 5.1, 6.1.
package scheduler

import (
	"fmt"

	"github.com/plumbline-upf/plumbline/nfapi/cell"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/ran/radio"
	"github.com/plumbline-upf/plumbline/ran/radio/dci"
	"github.com/plumbline-upf/plumbline/ran/radio/grid"
	"github.com/plumbline-upf/plumbline/ran/radio/rrc"
)

// TransmissionsDefault is how often a transport block is sent at most.
const TransmissionsDefault = 8

// Options are what a [radio.Config] does not say, because no UE needs to know it.
type Options struct {
	// Transmissions is the maximum number of transmissions of a transport block. 0:
	// [TransmissionsDefault].
	Transmissions int
}

// Scheduler is the MAC of one cell. It implements [fapi.MAC], for one goroutine, and
// [radio.Downlink], for any.
type Scheduler struct {
	config  radio.Config
	cell    *cell.Config
	rrc     *rrc.Config
	mu      slot.Numerology
	formats *dci.Formats
	core    radio.Core
	limit   uint8 // transmissions

	ues    []ue
	byRNTI map[uint16]*ue
	byRACH map[uint8]*ue

	downlinks []sizes // of each symbols that a PDSCH may have
	uplinks   sizes
	grants    [][]int // k2 of what is granted in each slot of a frame
	plans     [planned]plan
	templates templates
	maxDCIs   int // in each direction and slot

	turn      [turns]int // the UE that is first next time
	served    [turns]int // how many were served since the turn advanced by one
	wants     []want     // of the slot at hand
	refused   int        // the first UE that there was no room for in it; -1: none
	delivered bool       // the core has packets that it may hold back

	overdue overdue
	count   counters
}

// sizes are the octets of a transport block for each number of PRBs, for some symbols.
type sizes struct {
	symbols grid.Symbols
	octets  []int // index: PRBs
	least   int   // PRBs that are worth a transport block
}

// New makes the MAC of a cell.
//
// Errors: those of [rrc.New] and package bearer: c makes no cell.
func New(c radio.Config, core radio.Core, o Options) (*Scheduler, error) {
	r, err := rrc.New(&c)
	if err != nil {
		return nil, err
	}
	phy, err := c.Cell()
	if err != nil {
		return nil, err
	}
	phy.PRACH = cell.PRACH{
		ConfigIndex: r.PRACHIndex(), ShortSequence: true, Subcarriers: c.Numerology, Occasions: []cell.Occasion{r.PRACHOccasion()},
	}
	if o.Transmissions == 0 {
		o.Transmissions = TransmissionsDefault
	}
	if o.Transmissions < 1 || o.Transmissions > 255 {
		return nil, fmt.Errorf("scheduler: %d transmissions of a transport block: 1 to 255", o.Transmissions)
	}
	s := &Scheduler{
		config: c, cell: phy, rrc: r, mu: c.Numerology, formats: dci.New(r.Grid), core: core, limit: uint8(o.Transmissions),
		byRNTI: map[uint16]*ue{}, byRACH: map[uint8]*ue{}, grants: make([][]int, c.Numerology.PerFrame()),
		wants: make([]want, 0, len(c.UEs)), overdue: newOverdue(),
	}
	s.size()
	s.templates = newTemplates(&c, r, phy)
	return s, s.addUEs()
}

// minTB is the smallest transport block that is worth its DCI, in octets.
const minTB = 64

// size computes what does not change: the sizes of transport blocks, and what is
// granted when.
func (s *Scheduler) size() {
	for _, symbols := range s.rrc.PDSCHs() {
		s.downlinks = append(s.downlinks, s.sizesOf(symbols))
	}
	for i := range s.grants {
		n := slot.Number(i)
		at := s.rrc.Slot(n)
		if at.PUSCH.Length == 0 {
			continue
		}
		s.uplinks = s.sizesOf(at.PUSCH)
		d := (i + 4*len(s.grants) - at.Grant) % len(s.grants)
		s.grants[d] = append(s.grants[d], at.Grant)
	}
	for i := range s.plans {
		s.plans[i].list = make([]planEntry, 0, maxDCIs)
	}
	s.maxDCIs = max(1, min(maxDCIs, s.config.PRBs/prbsPerCCE/2))
}

func (s *Scheduler) sizesOf(symbols grid.Symbols) sizes {
	z := sizes{symbols: symbols, octets: make([]int, s.config.PRBs+1), least: s.config.PRBs}
	for prbs := s.config.PRBs; prbs > 0; prbs-- {
		z.octets[prbs] = s.rrc.Allocation(symbols, prbs, s.config.MCS).TransportBlock()
		if z.octets[prbs] >= minTB {
			z.least = prbs
		}
	}
	return z
}

// prbs is the number of PRBs needed for the octets, or all.
func (z *sizes) prbs(octets int) int {
	low, high := z.least, len(z.octets)-1
	for low < high {
		if middle := (low + high) / 2; z.octets[middle] < octets {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// Cell implements [fapi.MAC].
func (s *Scheduler) Cell() *cell.Config { return s.cell }

// Start implements [fapi.MAC]: every UE has to send its preamble.
func (s *Scheduler) Start() { s.forget() }

// Stop implements [fapi.MAC].
func (s *Scheduler) Stop() { s.forget() }

func (s *Scheduler) forget() {
	for i := range s.ues {
		s.ues[i].forget()
	}
	for i := range s.plans {
		s.plans[i].valid = false
	}
	s.overdue = newOverdue()
	s.count.UEs.Store(0)
	s.count.Downlink.Busy.Store(0)
	s.count.Uplink.Busy.Store(0)
}

// Schedule implements [fapi.MAC].
func (s *Scheduler) Schedule(r *fapi.Requests) {
	n := r.At
	s.expire(n)
	s.tick(n)
	s.ssb(r)
	s.assign(r)
	s.grant(r)
	s.receive(r)
	s.overdue.scheduled(n)
	s.count.Slots.Add(1)
}

// tick is a slot more for the timers of the bearers.
func (s *Scheduler) tick(n slot.Number) {
	var missing uint64
	for i := range s.ues {
		u := &s.ues[i]
		if u.known {
			u.bearer.Tick(n)
		}
		missing += u.bearer.Stats().PDCP.Lost
	}
	s.count.Uplink.Missing.Store(missing)
	s.flush()
}

func (s *Scheduler) flush() {
	if s.delivered {
		s.delivered = false
		s.core.Flush()
	}
}

// Downlink implements [radio.Downlink].
func (s *Scheduler) Downlink(index int, qfi uint8, packet []byte) bool {
	if index >= 0 && index < len(s.ues) {
		if u := &s.ues[index]; u.open.Load() && u.bearer.Send(qfi, packet) {
			s.count.Downlink.Packets.Add(1)
			return true
		}
	}
	s.count.Downlink.Refused.Add(1)
	return false
}
