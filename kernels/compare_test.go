package kernels

import (
	"testing"

	"plumbline/verifier"
)

// TestCompare: a tenth more is too much on the same release, half more on another of its
// series, and a program that loaded has to load.
func TestCompare(t *testing.T) {
	before := &Result{Release: "6.18.15", Programs: []verifier.Program{{Object: "o", Name: "p", Cost: verifier.Cost{Instructions: 1000}}}}
	for _, c := range []struct {
		release      string
		instructions int
		refused      string
		want         int
	}{
		{"6.18.15", 1100, "", 0}, {"6.18.15", 1101, "", 1}, {"6.18.44", 1500, "", 0}, {"6.18.44", 1501, "", 1}, {"6.18.15", 0, "too large", 1},
	} {
		now := []verifier.Program{{Object: "o", Name: "p", Cost: verifier.Cost{Instructions: c.instructions}, Refused: c.refused}}
		if got := Compare(before, c.release, now); len(got) != c.want {
			t.Errorf("%+v: got %q, want %d", c, got, c.want)
		}
	}
	if got := Compare(nil, "6.18.15", before.Programs); len(got) != 0 {
		t.Errorf("nothing known: got %q", got)
	}
}
