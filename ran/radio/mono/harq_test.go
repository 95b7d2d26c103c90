package mono_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/ran/radio"
	"github.com/plumbline-upf/plumbline/ran/radio/phy"
)

// TestTimersOutlastHARQ: with RLC UM nothing is lost but what HARQ has given up, in slots of
// any length: t-Reassembly and t-Reordering wait for a last transmission.
func TestTimersOutlastHARQ(t *testing.T) {
	for mu := range slot.MaxNumerology + 1 {
		t.Run(fmt.Sprint("mu ", mu), func(t *testing.T) {
			r := seedRadio(1)
			r.RLC, r.Numerology = radio.UM, mu
			g := newGNB(t, r, phy.Config{CRCFailureDownlink: 0.4, CRCFailureUplink: 0.4, Seed: 1}, max(2<<mu, 6), 0)
			g.attach()
			var up, down stream
			g.uplink = func(_ int, p []byte) { up.receive(p) }
			g.downlink = func(_ int, p []byte) { down.receive(p) }
			random := rand.New(rand.NewPCG(3, 4))
			for range 30_000 {
				if random.IntN(2) == 0 {
					g.mac.Downlink(0, 9, down.next(random))
				}
				if random.IntN(8) == 0 {
					g.phy.UE(0).Send(up.next(random))
				}
				g.tick()
			}
			for slots := 0; slots < 2000; slots++ {
				g.tick()
			}
			const packetsOfBlock = 32 // of 748 octets in 10 kB, at most about
			s := g.mac.Stats()
			if lost := uint64(down.sent - down.got); lost > packetsOfBlock*s.Downlink.GivenUp || down.wrong != "" {
				t.Errorf("downlink: %d of %d packets are lost with %d transport blocks; %s", lost, down.sent, s.Downlink.GivenUp, down.wrong)
			}
			if lost := uint64(up.sent - up.got); lost > packetsOfBlock*s.Uplink.GivenUp || up.wrong != "" {
				t.Errorf("uplink: %d of %d packets are lost with %d transport blocks; %s", lost, up.sent, s.Uplink.GivenUp, up.wrong)
			}
		})
	}
}
