package split

import (
	"fmt"
	"time"

	"github.com/plumbline-upf/plumbline/ran/radio"
)

// OAIRadio is the radio on which OpenAirInterface was measured in 2024: see
// [radio.Default]. Grants are asked for, six slots ahead.
func OAIRadio() radio.Config { return radio.Default() }

// BestRadio is the same carrier with what shortens the round trip: the UE has a grant
// for each uplink slot, and k2 is as short as slot_ahead.
func BestRadio() radio.Config {
	c := radio.Default()
	c.K2, c.StandingGrant = 2, true
	return c
}

// WideRadio is 100 MHz with four layers of 256QAM: transport blocks that are longer than
// a datagram.
func WideRadio() radio.Config {
	c := radio.Default()
	c.PRBs, c.Layers, c.MCS, c.MCSTable = 273, 4, 27, 1
	c.K2, c.StandingGrant = 2, true
	return c
}

// Slots ahead of the air.
const (
	oaiAhead  = 6
	bestAhead = 2
)

// Short is what is measured in about a minute: both radios, split and in one piece.
func Short() []Case {
	var cases []Case
	for _, c := range []Case{
		{Name: "OAI's settings", SlotAhead: oaiAhead, Radio: OAIRadio()},
		{Name: "best settings", SlotAhead: bestAhead, Radio: BestRadio()},
	} {
		c.Ping, c.TCP, c.UDP, c.Realtime = true, true, true, true
		cases = append(cases, c)
		c.OnePiece = true
		cases = append(cases, c)
	}
	return cases
}

// Full adds to Short the wide radio, losses and failures, and a while of only keeping
// the slot.
func Full(idle time.Duration) []Case {
	cases := append(Short(), Case{Name: "100 MHz, 4 layers", SlotAhead: oaiAhead, Radio: WideRadio(), TCP: true})
	cases = append(cases, Case{Name: "100 MHz, 4 layers", SlotAhead: oaiAhead, Radio: WideRadio(), TCP: true, OnePiece: true})
	for _, loss := range []float64{0, 1e-3, 1e-2} {
		for _, failure := range []float64{0, 0.1} {
			cases = append(cases, Case{
				Name: fmt.Sprintf("loss %g, CRC failures %g %%", loss, 100*failure), SlotAhead: oaiAhead, Radio: OAIRadio(),
				Loss: loss, CRCFailure: failure, Grid: true, Realtime: true, Ping: true, TCP: true, UDP: true,
			})
		}
	}
	return append(cases, Case{Name: "idle", SlotAhead: oaiAhead, Radio: OAIRadio(), Realtime: true, Idle: idle})
}
