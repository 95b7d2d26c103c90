package analyze

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestFeedback: of a codebook's bits those count that a PDSCH has, whatever k1 is, how many
// PDSCHs there are, and how many of them are lost.
func TestFeedback(t *testing.T) {
	for k1 := 1; k1 <= 4; k1++ {
		for _, load := range []float64{0.1, 0.5, 1} {
			for _, dynamic := range []bool{false, true} {
				t.Run(fmt.Sprintf("k1 %d, load %v, dynamic %v", k1, load, dynamic), func(t *testing.T) {
					r := newRecording(t)
					want, without := r.codebooks(k1, load, dynamic)
					for given, wantK1 := range map[int]int{0: k1, k1: k1} {
						c := r.analysis(Options{SlotAhead: -1, K1: given}).Cells[0]
						got := c.Downlink
						got.Blocks, got.Octets = 0, 0
						if got != want || c.BitsWithoutPDSCH != without || c.UEs[0].BitsWithoutPDSCH != without {
							t.Errorf("k1 %d (given %d): got %+v, %d bits without PDSCH, want %+v, %d", c.K1, given, got, c.BitsWithoutPDSCH, want, without)
						}
						if load < 1 && c.K1 != wantK1 {
							t.Errorf("got a k1 of %d, want %d", c.K1, wantK1)
						}
					}
				})
			}
		}
	}
}

// codebooks records PDSCHs in seven slots of ten, of which one in ten is not received, and
// their feedback in the eighth and ninth: by a codebook with a bit for each slot from 8 to k1
// before (type 1), or one with a bit for each PDSCH (dynamic, type 2).
func (r *recording) codebooks(k1 int, load float64, dynamic bool) (want Blocks, without uint64) {
	const slots, first = 2000, 20
	const ack, nack = 0, 1
	random := rand.New(rand.NewPCG(1, uint64(k1)))
	r.ticks(slots)
	sent, received := [slots]bool{}, [slots]bool{}
	for i := range slots - r.ahead - 2 {
		if i%10 < 8 && i%10+k1 <= 9 && i >= first && random.Float64() < load {
			r.downlink(i, 0, 0)
			sent[i], received[i] = true, random.Float64() < 0.9
		}
		if i%10 < 8 || i < first {
			continue
		}
		var values []byte
		listens := false
		for d := 8; d >= k1; d-- {
			if (i-d)%10 >= 8 {
				continue // an uplink slot
			}
			due := sent[i-d] && (i%10 == 8 || (i-d)%10+k1 > 8) // not in the slot before
			listens = listens || due
			switch {
			case due && received[i-d]:
				values = append(values, ack)
				want.Good++
			case due:
				values = append(values, nack)
				want.Bad++
			case !dynamic:
				values = append(values, nack)
			}
		}
		if !listens {
			continue
		}
		without += uint64(len(values))
		r.feedback(i, values...)
	}
	return want, without - want.Good - want.Bad
}

// TestFeedbackNotDetected: DTX is of the PDSCHs that are due, no more.
func TestFeedbackNotDetected(t *testing.T) {
	r := newRecording(t)
	r.ticks(100)
	r.downlink(20, us, 0)
	r.downlink(23, us, 0)
	r.feedback(28, 2, 2, 2, 2, 2, 2, 2)
	c := r.analysis(Options{SlotAhead: -1}).Cells[0]
	if c.Downlink.Uncertain != 2 || c.Downlink.Good+c.Downlink.Bad != 0 || c.BitsWithoutPDSCH != 5 {
		t.Errorf("got %+v, %d bits without PDSCH", c.Downlink, c.BitsWithoutPDSCH)
	}
}
