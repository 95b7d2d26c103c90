package generator

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestPeriod(t *testing.T) {
	for _, tc := range []struct {
		access Access
		n      int
		want   int
	}{
		{Same, 1_000_000, 1},
		{Uniform, 1, 1},
		{Uniform, 2, 1 << 16},
		{Uniform, 100_000, 1 << 19},
		{Uniform, 1 << 18, 1 << 20},
		{Zipf, 1_000_000, 1 << 22},
		{Each, 1000, 1000},
		{Zipf, 10_000_000, 1 << 22},
	} {
		if got := period(tc.access, tc.n); got != tc.want {
			t.Errorf("%v of %d: got %d, want %d", tc.access, tc.n, got, tc.want)
		}
	}
}

// drawn is one period of a pattern.
func drawn(a Access, n int, exponent float64, seed uint64) []uint32 {
	return pattern(a, n, period(a, n), exponent, rand.New(rand.NewPCG(seed, seed)))
}

// count returns how often each session has a frame in a period.
func count(order []uint32, n int) []int {
	counts := make([]int, n)
	for _, session := range order {
		counts[session]++
	}
	return counts
}

func TestSame(t *testing.T) {
	if got := drawn(Same, 1000, 1, 1); !slices.Equal(got, []uint32{0}) {
		t.Errorf("got %v, want [0]", got)
	}
}

// TestUniform holds the sessions' counts against the distribution by chi-square:
// mean 255, standard deviation 22.6, for 256 sessions.
func TestUniform(t *testing.T) {
	const n = 256
	order := drawn(Uniform, n, 1, 7)
	expected := float64(len(order)) / n
	chi := 0.0
	for _, c := range count(order, n) {
		chi += (float64(c) - expected) * (float64(c) - expected) / expected
	}
	if chi < 155 || chi > 355 {
		t.Errorf("chi-square %.1f, want 255 within 100", chi)
	}
	successors := map[[2]uint32]bool{}
	for i := range order[1:] {
		successors[[2]uint32{order[i], order[i+1]}] = true
	}
	// Of 65536 pairs, 1-1/e are seen in as many draws.
	if got := float64(len(successors)) / (n * n); math.Abs(got-0.632) > 0.02 {
		t.Errorf("%.3f of all pairs follow each other, want 0.632: frames depend on the one before", got)
	}
}

func TestUniformReachesAll(t *testing.T) {
	missed := 0
	for _, c := range count(drawn(Uniform, 100_000, 1, 7), 100_000) {
		if c == 0 {
			missed++
		}
	}
	if missed > 1000 {
		t.Errorf("%d of 100000 sessions have no frame, want under 1 %%", missed)
	}
}

// TestZipf: a stratified sample gives each rank its share within one frame.
func TestZipf(t *testing.T) {
	const n = 1000
	for _, exponent := range []float64{0.8, 1, 1.2} {
		order := drawn(Zipf, n, exponent, 7)
		counts := count(order, n)
		if slices.IsSortedFunc(counts, func(a, b int) int { return b - a }) {
			t.Errorf("s = %v: the most popular sessions are the first of the list", exponent)
		}
		slices.SortFunc(counts, func(a, b int) int { return b - a })
		total := 0.0
		for r := range n {
			total += math.Pow(float64(r+1), -exponent)
		}
		for _, r := range []int{0, 1, 9, 99} {
			want := math.Pow(float64(r+1), -exponent) / total * float64(len(order))
			if math.Abs(float64(counts[r])-want) > 2 {
				t.Errorf("s = %v, rank %d: got %d frames, want %.1f", exponent, r+1, counts[r], want)
			}
		}
		if slices.Equal(order[:100], slices.Sorted(slices.Values(order[:100]))) {
			t.Errorf("s = %v: frames come in the order of sessions", exponent)
		}
	}
}

func TestEach(t *testing.T) {
	order := drawn(Each, 1000, 1, 7)
	if slices.IsSorted(order) {
		t.Error("the sessions come in the order of the list")
	}
	for session, n := range count(order, 1000) {
		if n != 1 {
			t.Errorf("session %d: got %d frames in a period, want 1", session, n)
		}
	}
}

func TestPatternSeed(t *testing.T) {
	for _, a := range []Access{Uniform, Zipf, Each} {
		first := drawn(a, 1000, 1, 1)
		if !slices.Equal(first, drawn(a, 1000, 1, 1)) {
			t.Errorf("%v: not the same for the same seed", a)
		}
		if slices.Equal(first, drawn(a, 1000, 1, 2)) {
			t.Errorf("%v: the same for another seed", a)
		}
	}
}

func TestParseAccess(t *testing.T) {
	for _, want := range []Access{Same, Uniform, Zipf, Each} {
		if got, err := ParseAccess(want.String()); err != nil || got != want {
			t.Errorf("%v: got %v, %v", want, got, err)
		}
	}
	if _, err := ParseAccess("random"); err == nil {
		t.Error("an unknown pattern was accepted")
	}
}
