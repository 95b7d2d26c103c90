package bench

import (
	"errors"
	"math"
	"testing"
)

// TestHighest searches UPFs that forward without loss up to a limit.
func TestHighest(t *testing.T) {
	const low, high, precision = 1e4, 1e6, 1.03
	b := bracket{low, high, high, precision}
	for _, limit := range []float64{1.1e4, 12_345, 1e5, 142_000, 999_999, 2e6} {
		tries := 0
		got, err := b.highest(func(rate float64) (bool, error) {
			tries++
			return rate <= limit, nil
		})
		want := min(limit, high)
		if err != nil || got > want || got*precision < want {
			t.Errorf("limit %.0f: got %.0f, %v, want %.0f to %.0f", limit, got, err, want/precision, want)
		}
		if steps := b.steps(); tries != steps {
			t.Errorf("limit %.0f: %d tries, expected %d", limit, tries, steps)
		}
	}
}

// TestHighestGoesFurtherUp looks for limits far above where it begins, as of a UPF
// that too much makes slow.
func TestHighestGoesFurtherUp(t *testing.T) {
	b := bracket{1e3, 1.2e4, 2.5e6, 1.03}
	for _, limit := range []float64{13_000, 142_000, 2.4e6, 9e6} {
		tried := map[float64]bool{}
		got, err := b.highest(func(rate float64) (bool, error) {
			if tried[rate] || rate > b.limit {
				t.Errorf("limit %.0f: %.0f again, or beyond %.0f", limit, rate, b.limit)
			}
			tried[rate] = true
			return rate <= limit, nil
		})
		want := min(limit, b.limit)
		if err != nil || got > want || got*b.precision*b.precision < want {
			t.Errorf("limit %.0f: got %.0f, %v, want %.0f", limit, got, err, want)
		}
	}
}

func TestHighestFindsNothing(t *testing.T) {
	got, err := (bracket{1e4, 1e6, 1e6, 1.03}).highest(func(float64) (bool, error) { return false, nil })
	if got != 0 || err != nil {
		t.Errorf("got %v, %v, want 0", got, err)
	}
	broken := errors.New("broken")
	if _, err := (bracket{1e4, 1e6, 1e6, 1.03}).highest(func(float64) (bool, error) { return true, broken }); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
	// A bracket without room ends at once, as does one that is upside down.
	for _, high := range []float64{1e4, 1, 0, math.NaN()} {
		got, err := (bracket{1e4, high, high, 1.03}).highest(func(float64) (bool, error) { t.Errorf("up to %v: asked", high); return false, nil })
		if got != 0 || err != nil {
			t.Errorf("up to %v: got %v, %v, want 0", high, got, err)
		}
	}
}

func TestSessionsText(t *testing.T) {
	for n, want := range map[int]string{0: "0 sessions", 1: "1 session", 100_000: "100000 sessions"} {
		if got := sessionsText(n); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
