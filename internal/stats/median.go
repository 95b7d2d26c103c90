package stats

import (
	"cmp"
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

// Middle is the value in the middle, or the greater of the two there; 0 of none. Unlike the
// median it is one of the values.
func Middle[T cmp.Ordered](values []T) (middle T) {
	if len(values) == 0 {
		return middle
	}
	return slices.Sorted(slices.Values(values))[len(values)/2]
}

// NearestRank is the least of the values that the part q (0 to 1) of them does not exceed; 0
// of none. It is one of the values, too, and of two in the middle the lower one.
func NearestRank[T cmp.Ordered](values []T, q float64) (value T) {
	if len(values) == 0 {
		return value
	}
	return slices.Sorted(slices.Values(values))[max(0, int(math.Ceil(q*float64(len(values))))-1)]
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
