package stats

import (
	"math"
	"slices"
)

// slopePoints is of how many points at most a slope is; more are thinned out evenly.
const slopePoints = 1000

// Slope is by how much y rises with x: the median of the slopes between all pairs of
// points, which a few bad ones do not move, and where it lies by the distribution of
// Kendall's S. The interval takes points to be independent of each other; where each is
// like the one before, the slope may be farther off. Points of the same x say nothing. Of
// less than two others the slope is 0.
//
// Source: P. K. Sen, Estimates of the Regression Coefficient Based on Kendall's Tau, 1968.
func Slope(x, y []float64, confidence float64) (float64, Interval) {
	step := max((len(x)+slopePoints-1)/slopePoints, 1)
	var all []float64
	n := 0
	for i := 0; i < len(x); i += step {
		n++
		for j := i + step; j < len(x); j += step {
			if x[j] != x[i] {
				all = append(all, (y[j]-y[i])/(x[j]-x[i]))
			}
		}
	}
	if len(all) == 0 {
		return 0, Interval{}
	}
	slices.Sort(all)
	// S of n independent points without ties has this variance.
	away := normal(confidence) * math.Sqrt(float64(n*(n-1)*(2*n+5))/18)
	low := int(math.Floor((float64(len(all))-away)/2)) - 1
	high := int(math.Ceil((float64(len(all)) + away) / 2))
	return quantile(all, 0.5), Interval{
		Low: all[max(low, 0)], High: all[min(high, len(all)-1)], Confidence: min(confidence, bearableSlope(n)),
	}
}

// bearableSlope is the highest confidence that an interval of the slope of n points can
// have: all slopes are above the true one in one of n! orders, and below it in another.
func bearableSlope(n int) float64 { return max(0, 1-2/math.Gamma(float64(n+1))) }

// normal is how many standard deviations to each side have a part of the normal
// distribution between them.
func normal(part float64) float64 { return math.Sqrt2 * math.Erfinv(part) }
