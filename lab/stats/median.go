package stats

import (
	"math"
	"slices"
)

// Median is the value in the middle, or the mean of the two there; NaN of none.
func Median(values []float64) float64 { return Quantile(values, 0.5) }

// Quantile is the value below which the part q (0 to 1) of the values lies, interpolated
// between neighbours; NaN of none.
func Quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	return quantile(slices.Sorted(slices.Values(values)), q)
}

func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	below := int(at)
	if below+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	part := at - float64(below)
	return sorted[below]*(1-part) + sorted[below+1]*part
}

// outlierScore is the modified Z-score from which on a value stands apart.
const outlierScore = 3.5

// Outliers are the indexes of values that stand apart from the others. Of fewer than five
// values none can be told.
func Outliers(values []float64) []int {
	if len(values) < 5 {
		return nil
	}
	median := Median(values)
	away := make([]float64, len(values))
	sum := 0.0
	for i, v := range values {
		away[i] = math.Abs(v - median)
		sum += away[i]
	}
	unit := 1.4826 * Median(away)
	if unit == 0 { // more than half of the values are the same
		unit = 1.2533 * sum / float64(len(values))
	}
	var outliers []int
	for i := range values {
		if away[i] > outlierScore*unit {
			outliers = append(outliers, i)
		}
	}
	return outliers
}
