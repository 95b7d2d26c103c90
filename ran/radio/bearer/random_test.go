package bearer

import (
	"math/rand/v2"
	"testing"

	"github.com/plumbline-upf/plumbline/nfapi/slot"
)

// TestNothingSticks: AM with any losses, sizes of blocks and of packets, small queues:
// when losses end, all that was accepted is delivered, and both ends come to rest. Seeds
// 15, 22 and 60 have blocks too small for a report of all that is missing of a packet.
func TestNothingSticks(t *testing.T) {
	for seed := range uint64(64) {
		random := rand.New(rand.NewPCG(seed, 77))
		loss, late := random.Float64()*0.5, random.Float64()*0.5
		largest := []int{60, 300, 3000, 30000}[random.IntN(4)]
		longest := []int{10, 100, 1500, 8000}[random.IntN(4)]
		down, up := &packets{random: random}, &packets{random: random}
		c := Config{Mode: "am", Numerology: 1, Downlink: 1, Uplink: 1}
		gnb, err := New(c, up.deliver)
		if err != nil {
			t.Fatal(err)
		}
		c.UE = true
		ue, err := New(c, down.deliver)
		if err != nil {
			t.Fatal(err)
		}
		toUE, toGNB := &air{random: random, loss: loss, late: late}, &air{random: random, loss: loss, late: late}
		tb := make([]byte, largest)
		const lossy, end = 1500, 200_000
		now, rest := 0, false
		for ; now < end && !rest; now++ {
			at := slot.Numerology(1).Add(0, now)
			gnb.Tick(at)
			ue.Tick(at)
			toUE.receive(now, ue, t)
			toGNB.receive(now, gnb, t)
			if now < lossy {
				offer(random, gnb, down, longest)
				offer(random, ue, up, longest)
			} else {
				toUE.loss, toGNB.loss = 0, 0
				rest = gnb.Buffered() == 0 && ue.Buffered() == 0 && down.delivered == down.sent && up.delivered == up.sent
			}
			fill(random, gnb, toUE, now, tb)
			fill(random, ue, toGNB, now, tb)
		}
		if down.err != nil || up.err != nil || !rest {
			t.Errorf("seed %d: %v, %v; after %d slots %d of %d and %d of %d packets; gNB %+v, UE %+v",
				seed, down.err, up.err, now, down.delivered, down.sent, up.delivered, up.sent, gnb.Stats(), ue.Stats())
		}
	}
}

func offer(random *rand.Rand, from *Bearer, p *packets, longest int) {
	for range random.IntN(3) {
		if from.Send(9, p.make(longest)) {
			p.sent++
		}
	}
}

func fill(random *rand.Rand, from *Bearer, to *air, now int, tb []byte) {
	tb = tb[:1+random.IntN(len(tb))]
	from.Fill(tb)
	to.send(now, tb)
}
