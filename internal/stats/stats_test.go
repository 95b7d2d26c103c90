package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestQuantile(t *testing.T) {
	cases := []struct {
		values  []float64
		q, want float64
	}{
		{[]float64{3}, 0.5, 3},
		{[]float64{3, 1}, 0.5, 2},
		{[]float64{9, 1, 5}, 0.5, 5},
		{[]float64{9, 1, 5}, 0, 1},
		{[]float64{9, 1, 5}, 1, 9},
		{[]float64{4, 1, 3, 2}, 0.25, 1.75},
	}
	for _, tc := range cases {
		before := slices.Clone(tc.values)
		if got := Quantile(tc.values, tc.q); got != tc.want {
			t.Errorf("Quantile(%v, %v): got %v, want %v", tc.values, tc.q, got, tc.want)
		}
		if !slices.Equal(tc.values, before) {
			t.Errorf("Quantile changed its values to %v", tc.values)
		}
	}
	if got := Median(nil); !math.IsNaN(got) {
		t.Errorf("Median(nil): got %v, want NaN", got)
	}
}

func TestOutliers(t *testing.T) {
	cases := []struct {
		values []float64
		want   []int
	}{
		{[]float64{1, 100, 1, 1}, nil}, // too few
		{[]float64{10, 11, 9, 10, 30}, []int{4}},
		{[]float64{10, 10, 10, 10, 5}, []int{4}},
		{[]float64{10, 10, 10, 10, 10}, nil},
		{[]float64{1, 2, 3, 4, 5, 6, 7}, nil},
		{[]float64{0.2, 10, 10.1, 9.9, 10.2, 25, 10}, []int{0, 5}},
	}
	for _, tc := range cases {
		if got := Outliers(tc.values); !slices.Equal(got, tc.want) {
			t.Errorf("Outliers(%v): got %v, want %v", tc.values, got, tc.want)
		}
	}
}

func TestMedianIntervalFew(t *testing.T) {
	cases := []struct {
		values []float64
		want   Interval
	}{
		{[]float64{7}, Interval{7, 7, 0}},
		{[]float64{7, 9}, Interval{7, 9, 0.5}},
		{[]float64{9, 7, 8}, Interval{7, 9, 0.75}},
		{[]float64{5, 1, 4, 2, 3}, Interval{1, 5, 0.9375}},
	}
	for _, tc := range cases {
		if got := MedianInterval(tc.values, Usual); got != tc.want {
			t.Errorf("MedianInterval(%v): got %+v, want %+v", tc.values, got, tc.want)
		}
	}
	if got := MedianInterval(nil, Usual); !math.IsNaN(got.Low) || got.Confidence != 0 {
		t.Errorf("MedianInterval(nil): got %+v", got)
	}
}

// lognormal has its median at 1 and a long tail, as latencies do.
func lognormal(random *rand.Rand, n int) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = math.Exp(random.NormFloat64())
	}
	return values
}

// Intervals contain the true value about as often as they say.
func TestCoverage(t *testing.T) {
	const draws = 200
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{3, 10, 25} {
		median, ratio := 0, 0
		claimed := 0.0
		for range draws {
			a, b := lognormal(random, n), lognormal(random, n)
			interval := MedianInterval(a, Usual)
			claimed = interval.Confidence
			if holds(interval, 1) {
				median++
			}
			if _, i := Ratio(a, b, Usual); holds(i, 1) {
				ratio++
			}
		}
		for name, hits := range map[string]int{"median": median, "ratio": ratio} {
			got := float64(hits) / draws
			if got < claimed-0.07 {
				t.Errorf("%s of %d values: got %.3f of the intervals around the true value, want %.3f", name, n, got, claimed)
			}
		}
	}
}

func TestRatio(t *testing.T) {
	a, b := []float64{20, 22, 24}, []float64{10, 11, 12}
	if got, i := Ratio(a, b, Usual); got != 2 || i.Low > 1.84 || i.High < 2.18 || i.Confidence != 0.75 {
		t.Errorf("Ratio: got %v, %+v", got, i)
	}
	first, second := MedianInterval(a, 0.9), MedianInterval(a, 0.9)
	if first != second {
		t.Errorf("the same values: got %+v, then %+v", first, second)
	}
}

func TestPlaces(t *testing.T) {
	fast, quick, slow := []float64{100, 101, 102}, []float64{99, 100.5, 103}, []float64{50, 51, 52}
	cases := []struct {
		name    string
		systems [][]float64
		higher  bool
		want    []Place
	}{
		{"apart", [][]float64{slow, fast}, true, []Place{{2, 2}, {1, 1}}},
		{"apart, lower is better", [][]float64{slow, fast}, false, []Place{{1, 1}, {2, 2}}},
		{"two overlap", [][]float64{quick, slow, fast}, true, []Place{{1, 2}, {3, 3}, {1, 2}}},
		{"one value each", [][]float64{{1}, {2}}, true, []Place{{1, 2}, {1, 2}}},
		{"one failed", [][]float64{nil, fast, slow}, true, []Place{{1, 3}, {1, 2}, {2, 3}}},
		{"a chain", [][]float64{{1, 2, 3}, {2.5, 3, 4.5}, {4, 5, 6}}, true, []Place{{2, 3}, {1, 3}, {1, 2}}},
	}
	for _, tc := range cases {
		var intervals []Interval
		for _, values := range tc.systems {
			intervals = append(intervals, MedianInterval(values, Usual))
		}
		if got := Places(intervals, tc.higher); !slices.Equal(got, tc.want) {
			t.Errorf("%s: got places %v, want %v", tc.name, got, tc.want)
		}
	}
	if got := (Place{2, 4}).String() + ", " + (Place{1, 1}).String(); got != "2 to 4, 1" {
		t.Errorf("got %q", got)
	}
}

// holds reports whether v lies in the interval.
func holds(i Interval, v float64) bool { return i.Low <= v && v <= i.High }

// TestRanks: what is one of the values, of any order.
func TestRanks(t *testing.T) {
	for _, tc := range []struct {
		values           []int64
		middle, p50, p99 int64
	}{
		{nil, 0, 0, 0},
		{[]int64{7}, 7, 7, 7},
		{[]int64{9, 1}, 9, 1, 9},
		{[]int64{3, 1, 2}, 2, 2, 3},
		{[]int64{4, 3, 2, 1}, 3, 2, 4},
	} {
		given := slices.Clone(tc.values)
		middle, p50, p99 := Middle(given), NearestRank(given, 0.5), NearestRank(given, 0.99)
		if middle != tc.middle || p50 != tc.p50 || p99 != tc.p99 || NearestRank(given, 0) != NearestRank(given, 1e-9) {
			t.Errorf("%v: got %d, %d, %d; want %d, %d, %d", tc.values, middle, p50, p99, tc.middle, tc.p50, tc.p99)
		}
		if !slices.Equal(given, tc.values) {
			t.Errorf("%v: the values became %v", tc.values, given)
		}
	}
}
