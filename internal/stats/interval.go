package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Interval is where a quantity lies with a given confidence. It is NaN to NaN with
// confidence 0 if there are no values.
type Interval struct {
	Low, High  float64
	Confidence float64 // 0 to 1: what was asked for, or less if the values are too few for it
}

// Overlaps reports whether two intervals have a value in common.
func (i Interval) Overlaps(j Interval) bool { return i.Low <= j.High && j.Low <= i.High }

// Usual is the confidence that is asked for where nothing else is said.
const Usual = 0.95

// resamples of a bootstrap. Its own noise is then well below the spread of the values.
const resamples = 2000

// MedianInterval is the bootstrap interval of the median.
func MedianInterval(values []float64, confidence float64) Interval {
	median := resampler(newRandom(), values)
	return bootstrap(confidence, bearable(len(values)), median)
}

// Ratio is the median of a by that of b, and its interval, where the values have nothing
// to do with each other: two runs at different times. b's values have to be above 0.
func Ratio(a, b []float64, confidence float64) (float64, Interval) {
	random := newRandom()
	over, under := resampler(random, a), resampler(random, b)
	ratio := func() float64 { return over() / under() }
	return Median(a) / Median(b), bootstrap(confidence, min(bearable(len(a)), bearable(len(b))), ratio)
}

// bearable is the highest confidence that an interval of the median of n values can have:
// that of the whole range.
func bearable(n int) float64 {
	if n == 0 {
		return 0
	}
	return 1 - math.Exp2(float64(1-n))
}

// bootstrap is the percentile interval of what draw returns.
func bootstrap(confidence, bearable float64, draw func() float64) Interval {
	if bearable == 0 {
		v := draw()
		return Interval{Low: v, High: v}
	}
	drawn := make([]float64, resamples)
	for i := range drawn {
		drawn[i] = draw()
	}
	slices.Sort(drawn)
	tail := (1 - confidence) / 2
	return Interval{Low: quantile(drawn, tail), High: quantile(drawn, 1-tail), Confidence: min(confidence, bearable)}
}

func newRandom() *rand.Rand { return rand.New(rand.NewPCG(2544, 9971)) }

// resampler returns a function that draws as many values as there are, with replacement,
// and returns their median.
func resampler(random *rand.Rand, values []float64) func() float64 {
	if len(values) == 0 {
		return func() float64 { return math.NaN() }
	}
	drawn := make([]float64, len(values))
	return func() float64 {
		for i := range drawn {
			drawn[i] = values[random.IntN(len(values))]
		}
		slices.Sort(drawn)
		return quantile(drawn, 0.5)
	}
}
