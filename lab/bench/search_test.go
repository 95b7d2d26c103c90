package bench

import (
	"errors"
	"math"
	"testing"
)

// TestHighest searches UPFs that forward without loss up to a limit.
func TestHighest(t *testing.T) {
	const low, high, precision = 1e4, 1e6, 1.03
	for _, limit := range []float64{1.1e4, 12_345, 1e5, 142_000, 999_999, 2e6} {
		tries := 0
		got, err := highest(low, high, precision, func(rate float64) (bool, error) {
			tries++
			return rate <= limit, nil
		})
		want := min(limit, high)
		if err != nil || got > want || got*precision < want {
			t.Errorf("limit %.0f: got %.0f, %v, want %.0f to %.0f", limit, got, err, want/precision, want)
		}
		if steps := searchSteps(low, high, precision); tries != steps {
			t.Errorf("limit %.0f: %d tries, expected %d", limit, tries, steps)
		}
	}
}

func TestHighestFindsNothing(t *testing.T) {
	got, err := highest(1e4, 1e6, 1.03, func(float64) (bool, error) { return false, nil })
	if got != 0 || err != nil {
		t.Errorf("got %v, %v, want 0", got, err)
	}
	broken := errors.New("broken")
	if _, err := highest(1e4, 1e6, 1.03, func(float64) (bool, error) { return true, broken }); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
	// A bracket without room ends at once, as does one that is upside down.
	for _, high := range []float64{1e4, 1, 0, math.NaN()} {
		got, err := highest(1e4, high, 1.03, func(float64) (bool, error) { t.Errorf("up to %v: asked", high); return false, nil })
		if got != 0 || err != nil {
			t.Errorf("up to %v: got %v, %v, want 0", high, got, err)
		}
	}
}
