package bench

import "math"

// highest returns the highest rate between low and high that passes, as near as
// the ratio precision (above 1), 0 if none does that was tried. It takes for granted
// that what passes does so at every lower rate. Steps are equal in ratio, because
// rates of UPFs differ by factors.
func highest(low, high, precision float64, passes func(rate float64) (bool, error)) (float64, error) {
	found := 0.0
	for high/low > precision {
		rate := math.Sqrt(low * high)
		ok, err := passes(rate)
		if err != nil {
			return 0, err
		}
		if ok {
			low, found = rate, rate
		} else {
			high = rate
		}
	}
	return found, nil
}

// searchSteps returns how often highest asks.
func searchSteps(low, high, precision float64) int {
	steps := 0
	for span := math.Log(high / low); span > math.Log(precision); span /= 2 {
		steps++
	}
	return steps
}
