package kernels

import (
	"testing"

	"github.com/plumbline-upf/plumbline/internal/verifier"
)

// TestSeries: a kernel is compared with one of its architecture.
func TestSeries(t *testing.T) {
	results := Results{
		"6.12": {Release: "6.12.1-cloud-amd64"}, "6.12-arm64": {Release: "6.12.1-arm64", Architecture: "arm64"}, "6.18": {Release: "6.18.1"},
	}
	for _, c := range []struct{ release, architecture, want string }{
		{"6.12.9", "amd64", "6.12"}, {"6.12.9", "arm64", "6.12-arm64"}, {"6.18.44", "amd64", "6.18"}, {"6.18.44", "arm64", ""}, {"6.1.9", "amd64", ""},
	} {
		if got := results.Series(c.release, c.architecture); got != results[c.want] {
			t.Errorf("%+v: got %+v", c, got)
		}
	}
}

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
