package scheduler_test

import (
	"fmt"
	"testing"
)

// TestManyUEs: many UEs that always have something to send have the same share, and none waits
// long: those that there is no room for in a slot are served in the next ones.
func TestManyUEs(t *testing.T) {
	for _, ues := range []int{9, 16, 32} {
		for _, crc := range []float64{0, 0.1} {
			t.Run(fmt.Sprintf("%d ues, crc failures %v", ues, crc), func(t *testing.T) {
				t.Parallel()
				fair(t, ues, crc)
			})
		}
	}
}

func fair(t *testing.T, ues int, crc float64) {
	to := &core{received: make([][]uint32, ues)}
	a, err := newAir(config("DDDDDDDSUU", ues), 4, 1, to)
	if err != nil {
		t.Fatal(err)
	}
	attach(t, a)
	a.set(faults{crc: crc})
	full(a, to, 200)
	full(a, to, 6000)
	for direction, octets := range map[string]func(i int) int{
		"downlink": func(i int) int { return len(a.ues[i].received) },
		"uplink":   func(i int) int { return len(to.received[i]) },
	} {
		least, most := octets(0), octets(0)
		for i := range ues {
			least, most = min(least, octets(i)), max(most, octets(i))
		}
		if float64(least) < 0.9*float64(most) {
			t.Errorf("%s: a UE has %d packets, another one %d", direction, least, most)
		}
	}
}

// TestTurn: with more UEs than a slot has room for, each one's turn comes after as few slots
// as there have to be.
func TestTurn(t *testing.T) {
	const ues, room = 32, 8
	to := &core{received: make([][]uint32, ues)}
	a, err := newAir(config("DDDDDDDSUU", ues), 4, 1, to)
	if err != nil {
		t.Fatal(err)
	}
	attach(t, a)
	full(a, to, 200)
	last := make([]int, ues) // the number of the last downlink slot in which something came
	number, longest := 0, 0
	for range 2000 {
		if a.rrc.Slot(a.now).PDSCH.Length > 0 {
			number++
		}
		full(a, to, 1)
		for i, u := range a.ues {
			if len(u.received) > 0 || number == 0 {
				last[i] = number
			}
			longest = max(longest, number-last[i])
		}
	}
	// One turn more is for the UE at which the turn goes on by one; one more, as a packet may
	// need two transport blocks.
	if most := 3 * ues / room; longest > most {
		t.Errorf("a UE waited for %d downlink slots, want at most %d", longest, most)
	}
}
