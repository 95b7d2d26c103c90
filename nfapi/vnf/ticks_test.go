package vnf

import (
	"testing"

	"github.com/plumbline-upf/plumbline/nfapi/slot"
)

func TestTicks(t *testing.T) {
	type step struct {
		n    slot.Number
		want verdict
		lost int
	}
	const mu, last = slot.Numerology(1), slot.Number(20479)
	for name, steps := range map[string][]step{
		"in order, over the end":   {{last - 1, tickJumped, 0}, {last, tickNext, 0}, {0, tickNext, 0}, {1, tickNext, 0}},
		"lost over the end":        {{last, tickJumped, 0}, {3, tickNext, 3}},
		"duplicate":                {{7, tickJumped, 0}, {7, tickOld, 0}, {8, tickNext, 0}},
		"out of order":             {{7, tickJumped, 0}, {9, tickNext, 1}, {8, tickOld, -1}, {8, tickOld, 0}, {10, tickNext, 0}},
		"late over the end":        {{last, tickJumped, 0}, {3, tickNext, 3}, {1, tickOld, -1}, {last, tickOld, 0}, {0, tickOld, -1}, {4, tickNext, 0}},
		"late after a jump":        {{7, tickJumped, 0}, {9, tickNext, 1}, {5000, tickStrange, 0}, {5001, tickStrange, 0}, {5002, tickStrange, 0}, {5003, tickJumped, 0}, {8, tickStrange, 0}},
		"a burst of old ones":      {{50, tickJumped, 0}, {40, tickOld, 0}, {41, tickOld, 0}, {42, tickOld, 0}, {43, tickOld, 0}, {44, tickOld, 0}, {51, tickNext, 0}},
		"far off once":             {{7, tickJumped, 0}, {5000, tickStrange, 0}, {8, tickNext, 0}},
		"far off, not in a row":    {{7, tickJumped, 0}, {5000, tickStrange, 0}, {5002, tickStrange, 0}, {5004, tickStrange, 0}, {5006, tickStrange, 0}, {8, tickNext, 0}},
		"clock set forward":        {{7, tickJumped, 0}, {5000, tickStrange, 0}, {5001, tickStrange, 0}, {5002, tickStrange, 0}, {5003, tickJumped, 0}, {5004, tickNext, 0}},
		"clock set back":           {{5000, tickJumped, 0}, {last, tickStrange, 0}, {0, tickStrange, 0}, {1, tickStrange, 0}, {2, tickJumped, 0}, {3, tickNext, 0}},
		"far, then near, far":      {{7, tickJumped, 0}, {5000, tickStrange, 0}, {5001, tickStrange, 0}, {5002, tickStrange, 0}, {8, tickNext, 0}, {5003, tickStrange, 0}},
		"the furthest of the near": {{0, tickJumped, 0}, {200, tickNext, 199}, {401, tickStrange, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			k := ticks{mu: mu}
			for i, s := range steps {
				if got, lost := k.take(s.n); got != s.want || lost != s.lost {
					t.Fatalf("step %d, slot %d: got %v and %d lost, want %v and %d", i, s.n, got, lost, s.want, s.lost)
				}
			}
		})
	}
}
