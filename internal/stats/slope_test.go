package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestSlope(t *testing.T) {
	cases := []struct {
		name string
		x, y []float64
		want float64
		of   float64 // confidence
	}{
		{"no point", nil, nil, 0, 0},
		{"one point", []float64{1}, []float64{7}, 0, 0},
		{"one time", []float64{1, 1}, []float64{7, 9}, 0, 0},
		{"two points", []float64{1, 3}, []float64{7, 3}, -2, 0},
		{"a line", []float64{0, 1, 2, 3, 4, 5}, []float64{1, 3, 5, 7, 9, 11}, 2, 0.95},
		{"a line with one bad point", []float64{0, 1, 2, 3, 4, 5}, []float64{1, 3, 500, 7, 9, 11}, 2, 0.95},
		{"three points", []float64{0, 1, 2}, []float64{0, 1, 4}, 2, 1 - 2.0/6},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			got, in := Slope(tc.x, tc.y, Usual)
			if got != tc.want || math.Abs(in.Confidence-tc.of) > 1e-9 || in.Low > got || in.High < got {
				t.Errorf("got %v in %+v, want %v with confidence %v", got, in, tc.want, tc.of)
			}
		})
	}
}

// TestSlopeInterval wants the true slope in the interval as often as it says, with noise
// that has a long tail, and about as many points as a soak has intervals.
func TestSlopeInterval(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const runs, slope = 500, 0.3
	for _, n := range []int{5, 20, 60} {
		in := 0
		for range runs {
			var x, y []float64
			for i := range n {
				x, y = append(x, float64(i)), append(y, slope*float64(i)+random.ExpFloat64())
			}
			if _, i := Slope(x, y, Usual); holds(i, slope) {
				in++
			}
		}
		if part := float64(in) / runs; part < 0.92 {
			t.Errorf("%d points: the true slope is in %.1f %% of the intervals, want 95 %%", n, 100*part)
		}
	}
}

// TestSlopeThinned: of many points not all pairs are looked at.
func TestSlopeThinned(t *testing.T) {
	var x, y []float64
	for i := range 5 * slopePoints {
		x, y = append(x, float64(i)), append(y, -3*float64(i))
	}
	if got, in := Slope(x, y, Usual); got != -3 || in.Low != -3 || in.High != -3 {
		t.Errorf("got %v in %+v, want -3", got, in)
	}
}
