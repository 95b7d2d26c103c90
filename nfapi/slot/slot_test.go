package slot_test

import (
	"testing"
	"testing/quick"

	"github.com/plumbline-upf/plumbline/nfapi/slot"
)

func TestDistance(t *testing.T) {
	for mu := range slot.MaxNumerology + 1 {
		last := slot.Number(mu.PerCycle() - 1)
		half := mu.PerCycle() / 2
		for _, test := range []struct {
			a, b slot.Number
			want int
		}{
			{0, 0, 0}, {1, 0, 1}, {0, 1, -1},
			{0, last, 1}, {last, 0, -1},
			{slot.Number(half - 1), 0, half - 1}, {slot.Number(half), 0, -half},
		} {
			if got := mu.Distance(test.a, test.b); got != test.want {
				t.Errorf("mu %d: distance of %v from %v is %d, want %d", mu, mu.String(test.a), mu.String(test.b), got, test.want)
			}
		}
	}
}

// TestAddDistance: Distance undoes Add, for each distance within half a cycle.
func TestAddDistance(t *testing.T) {
	inverse := func(m uint8, from uint32, by int32) bool {
		mu := slot.Numerology(m % 4)
		half := mu.PerCycle() / 2
		b, d := slot.Number(from%uint32(mu.PerCycle())), int(by)%half
		return mu.Distance(mu.Add(b, d), b) == d
	}
	if err := quick.Check(inverse, nil); err != nil {
		t.Error(err)
	}
}

func TestSplit(t *testing.T) {
	for mu := range slot.MaxNumerology + 1 {
		for n := range slot.Number(mu.PerCycle()) {
			sfn, s := mu.Split(n)
			if back, ok := mu.Number(sfn, s); !ok || back != n {
				t.Fatalf("mu %d: %d is %d.%d, which is %d, %v", mu, n, sfn, s, back, ok)
			}
		}
		if _, ok := mu.Number(slot.Frames, 0); ok {
			t.Errorf("mu %d: SFN 1024 is one", mu)
		}
		if _, ok := mu.Number(0, uint16(mu.PerFrame())); ok {
			t.Errorf("mu %d: slot %d is one", mu, mu.PerFrame())
		}
	}
	if got := slot.Numerology(1).String(20479); got != "1023.19" {
		t.Errorf("slot 20479 is %s, want 1023.19", got)
	}
	if got := slot.Numerology(1).Micros(20479); got != 10_239_500 {
		t.Errorf("slot 20479 begins at %d us, want 10239500", got)
	}
}
