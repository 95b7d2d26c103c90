package model

import (
	"fmt"
	"math"
	"sync"
	"testing"
)

// TestMeter offers twice the rate for a second of the meter's own clock: what
// passes is the rate, and the burst once, within 1 %.
func TestMeter(t *testing.T) {
	for _, bps := range []uint64{64_000, 1_000_000, 20_000_000, 600_000_000, 1_000_000_000, 4_300_000_000, 10_000_000_000, 100_000_000_000} {
		for _, octets := range []int{64, 1500} {
			t.Run(fmt.Sprintf("%d bit/s, %d octets", bps, octets), func(t *testing.T) {
				var m Meter
				m.SetRate(bps)
				gap := float64(octets) * 8e9 / float64(bps) / 2 // ns
				n := int(math.Min(math.Ceil(10e9/gap), 2e6))
				var passed uint64
				for i := range n {
					if m.Conforms(1e9+uint64(float64(i)*gap), octets) {
						passed += uint64(octets)
					}
				}
				seconds := float64(n) * gap / 1e9
				burst := math.Max(float64(bps)/8*burstTime/1e9, burstOctets) + float64(octets)
				want := float64(bps) / 8 * seconds
				if got := float64(passed); got < want*0.99-float64(octets) || got > want*1.01+burst {
					t.Errorf("%.0f octets in %.3f s, want %.0f and a burst of %.0f", got, seconds, want, burst)
				}
			})
		}
	}
}

// TestMeterManyCPUs: several at once take no more than one would.
func TestMeterManyCPUs(t *testing.T) {
	const bps, octets, now = 1_000_000_000, 1500, 1_000_000_000
	var m Meter
	m.SetRate(bps)
	var (
		all    sync.WaitGroup
		passed [4]int
	)
	for i := range passed {
		all.Go(func() {
			for range 10_000 {
				if m.Conforms(now, octets) {
					passed[i]++
				}
			}
		})
	}
	all.Wait()
	total := passed[0] + passed[1] + passed[2] + passed[3]
	// At one point of time: 10 ms of the rate, and the packet that exceeds it.
	most := bps/8/100/octets + 1
	if total > most+1 || total < most*9/10 {
		t.Errorf("%d packets passed, want %d", total, most)
	}
}
