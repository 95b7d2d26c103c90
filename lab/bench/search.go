package bench

import "math"

// bracket is where a rate is looked for.
type bracket struct {
	low, high float64 // at first
	limit     float64 // of high, which grows while everything passes
	precision float64 // ratio, above 1
}

// widen is how much further up a search goes on where all that it tried passes.
const widen = 4

// highest returns the highest rate in the bracket that passes, as near as its
// precision, 0 if none does that was tried. It takes for granted that what passes
// does so at every lower rate. Steps are equal in ratio, because rates of UPFs
// differ by factors.
func (b bracket) highest(passes func(rate float64) (bool, error)) (float64, error) {
	found, failed := 0.0, false
	for {
		for b.high/b.low > b.precision {
			rate := math.Sqrt(b.low * b.high)
			ok, err := passes(rate)
			if err != nil {
				return 0, err
			}
			if ok {
				b.low, found = rate, rate
			} else {
				b.high, failed = rate, true
			}
		}
		if failed || found == 0 || b.high*b.precision >= b.limit {
			return found, nil
		}
		b.high = min(widen*b.high, b.limit)
	}
}

// steps returns how often highest asks, if it need not go further up.
func (b bracket) steps() int {
	steps := 0
	for span := math.Log(b.high / b.low); span > math.Log(b.precision); span /= 2 {
		steps++
	}
	return steps
}
