package generator

import (
	"context"
	"slices"
	"testing"
)

// TestIMIX wants exactly 7 short, 4 middle and 1 long frames of every 12 in a row,
// wherever a run begins, and their octets counted.
func TestIMIX(t *testing.T) {
	bed := newBed(t, "plt-imix")
	c := config(bed, Uplink, false)
	c.Mix = IMIX
	g := mustNew(t, c)
	link := newCapture(t, bed.N3.UPF)
	around := g.FrameOctets() - 1400
	var lengths []int
	for _, frames := range []uint64{5, 31, 120} {
		result, err := g.Run(context.Background(), Load{Frames: frames, CPU: -1})
		if err != nil || result.Sent != frames {
			t.Fatalf("got %+v, %v, want %d frames", result, err, frames)
		}
		octets := uint64(0)
		for _, frame := range link.frames(t, int(frames), around) {
			lengths = append(lengths, len(frame)-around)
			octets += uint64(len(frame))
		}
		if result.SentOctets != octets {
			t.Errorf("%d frames: counted %d octets, %d were on the link", frames, result.SentOctets, octets)
		}
	}
	for window := range slices.Chunk(lengths, 12) {
		count := map[int]int{}
		for _, n := range window {
			count[n]++
		}
		if count[64] != 7 || count[548] != 4 || count[1400] != 1 {
			t.Errorf("got %v of each payload in 12 frames, want 7 of 64, 4 of 548, 1 of 1400", count)
		}
	}
}
