package mono_test

import (
	"testing"

	"github.com/plumbline-upf/plumbline/ran/radio/phy"
)

// TestLongStall: a process that was held for more than half of the time in which slot numbers
// come round goes on at once when it runs again.
func TestLongStall(t *testing.T) {
	g := newGNB(t, seedRadio(1), phy.Config{}, 6, 0)
	g.attach()
	got := 0
	g.downlink = func(int, []byte) { got++ }
	send := func(slots int) {
		for range slots {
			g.mac.Downlink(0, 9, make([]byte, 1400))
			g.tick()
		}
	}
	send(100)
	g.now = g.radio.Numerology.Add(g.now, g.radio.Numerology.PerCycle()*3/4)
	got = 0
	send(400)
	if got < 300 {
		t.Errorf("%d packets arrived in 400 slots after the stall, want 300 at least", got)
	}
}
