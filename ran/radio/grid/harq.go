package grid

import (
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/ran/radio"
)

// HARQBound is [Grid.Bound] for one UE that is scheduled this number of slots ahead of the air. It
// has [radio.MaxHARQ] processes in each direction, and each is busy from a transport block until
// the MAC knows its result when it schedules the next one:
//
//	downlink  slot n: PDSCH ─ k1 ─► PUCCH ─ 1 ─► UCI.indication ─ ahead ─► PDSCH
//	uplink    slot n: PUSCH ─ 1 ─► CRC.indication ─ ahead ─► grant ─ k2 ─► PUSCH
//
// It is less than Bound where more slots than there are processes lie in between.
func (g *Grid) HARQBound(ahead int) (downlink, uplink float64) {
	downlink = g.carried(func(n int, s *Slot) (Symbols, int, int) { return s.PDSCH, n, n + s.K1 + 1 + ahead })
	uplink = g.carried(func(n int, s *Slot) (Symbols, int, int) { return s.PUSCH, n - s.Grant, n + 1 + ahead })
	return downlink, uplink
}

// carried is the rate of transport blocks, in bit/s, for which a process is free in time. of
// says of slot n: the symbols; the slot that is scheduled when a process has to be free;
// the first one that is scheduled when it is free again.
func (g *Grid) carried(of func(n int, s *Slot) (symbols Symbols, taken, free int)) float64 {
	const before, frames, framesPerSecond = 16, 64, 100 // in the first ones processes are free that would not be
	var processes [radio.MaxHARQ]int
	perFrame := len(g.slots)
	octets := 0
	for n := range (before + frames) * perFrame {
		symbols, taken, free := of(n, g.Slot(slot.Number(n)))
		if symbols.Length == 0 {
			continue
		}
		for i := range processes {
			if processes[i] > taken {
				continue
			}
			processes[i] = free
			if n >= before*perFrame {
				octets += g.Allocation(symbols, g.PRBs, g.MCS).TransportBlock()
			}
			break
		}
	}
	return float64(8*octets) * framesPerSecond / frames
}
