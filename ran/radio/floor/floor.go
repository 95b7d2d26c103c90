// Package floor computes the least round-trip time that a cell's configuration allows:
// what a ping from a UE takes if nothing is lost, no other packet is under way, the core
// and the data network take no time, and all computing is done within its slot.
//
//	UE has the packet ─ SR ─► gNB ─ A slots ─► grant ─ k2 ─► PUSCH ─► core ─ A slots ─► PDSCH ─► UE
//
// Scheduling requests, grants, PUSCH and PDSCH have to wait for slots that the TDD
// pattern gives them; A is slot_ahead: how many slots the MAC is ahead of the air. So a
// floor is a staircase: a slot more in one place often costs a whole period of the
// pattern, or nothing.
//
// The rules, in slots; slot n is from tick n to tick n+1:
//
//  1. what a UE sends in slot n, scheduling request or PUSCH, it has by tick n-1
//  2. what the gNB receives in slot n it has at tick n+1
//  3. at tick n the MAC schedules slot n+A, and knows what was received in slot n-1
//  4. a packet that comes back from the core after tick n waits for tick n+1
//  5. what is sent in downlink slot n the UE has at tick n+1
package floor

import (
	"fmt"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/ran/radio"
	"github.com/plumbline-upf/plumbline/ran/radio/grid"
)

// Processing is what a fast physical layer takes for a round trip beyond the slots that
// are counted here: 50 us each in the UE's transmitter, the gNB's receiver and the UE's
// receiver. A simulated one, which decodes in no time, takes none.
const Processing = 150 * time.Microsecond

// maxSlotAhead is how far ahead of the air a MAC may be: a frame of the fastest clock.
const maxSlotAhead = 80

// RTT is a round-trip time, over all instants at which a ping may begin.
type RTT struct {
	Min, Mean, Max time.Duration
}

// Ping is the floor of the round-trip time of pings from a UE, with a MAC that is
// slotAhead slots ahead of the air and physical layers that take processing for a round
// trip. The mean is that of pings that begin at any instant
// with the same probability. It is computed by enumeration of these instants, not by
// sampling.
//
// Errors: those of [grid.New]; slotAhead is below 1 or above a frame.
func Ping(c *radio.Config, slotAhead int, processing time.Duration) (RTT, error) {
	g, err := grid.New(c)
	if err != nil {
		return RTT{}, err
	}
	if slotAhead < 1 || slotAhead > maxSlotAhead {
		return RTT{}, fmt.Errorf("floor: slot_ahead of %d, it is 1 to %d", slotAhead, maxSlotAhead)
	}
	m := model{grid: g, ahead: slotAhead, standing: c.StandingGrant}
	length := c.Numerology.Duration()
	result := RTT{Min: time.Duration(1<<63 - 1)}
	var sum time.Duration
	// A ping that begins after tick n-1 and not after tick n is one that the UE has at
	// tick n. It takes the same time less however much earlier that is.
	cycle := m.cycle(c.SRPeriod)
	for n := range cycle {
		shortest := time.Duration(m.back(n)-n)*length + processing
		result.Min = min(result.Min, shortest)
		result.Max = max(result.Max, shortest+length)
		sum += shortest + length/2
	}
	result.Mean = sum / time.Duration(cycle)
	return result, nil
}

type model struct {
	grid     *grid.Grid
	ahead    int
	standing bool
}

// cycle is after how many slots all of it comes again.
func (m *model) cycle(srPeriod int) int {
	frame := m.grid.Numerology.PerFrame()
	n := frame
	for n%srPeriod != 0 {
		n += frame
	}
	return n
}

// back is the tick at which the answer is at the UE, for a packet that the UE has at
// tick n.
func (m *model) back(n int) int {
	granted := 0 // the first slot that the grant can be sent in
	if !m.standing {
		sr := m.first(n+1, func(at slot.Number) bool { return m.grid.SR(at) })
		granted = sr + 1 + m.ahead
	}
	pusch := n + 1
	for !m.uplink(pusch, granted) {
		pusch++
	}
	pdsch := m.first(pusch+2+m.ahead, func(at slot.Number) bool { return m.grid.Slot(at).PDSCH.Length > 0 })
	return pdsch + 1
}

// uplink reports whether slot n has a PUSCH with a grant in slot granted or later.
func (m *model) uplink(n, granted int) bool {
	s := m.grid.Slot(slot.Number(n))
	return s.PUSCH.Length > 0 && (m.standing || n-s.Grant >= granted)
}

// first is the first slot from n on that is as wanted; the grid has one.
func (m *model) first(n int, wanted func(slot.Number) bool) int {
	for !wanted(slot.Number(n)) {
		n++
	}
	return n
}
