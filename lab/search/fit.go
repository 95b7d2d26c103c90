package search

import "math"

// fit is a shape of the loss rate over the load: none far below the rate that a system
// forwards at most, all that is more far above it, and a spread in between. It returns the
// logarithm of the loss rate (frames per second) at a load, given that rate and the spread.
//
// Source: draft-vpolak-bmwg-plrsearch-03, fitting functions.
type fit func(load, rate, spread float64) float64

// fits are two shapes with different tails. Their difference shows how much the estimate depends on
// the unknown shape.
var fits = [2]fit{stretch, erf}

// stretch falls off exponentially below the rate.
func stretch(load, rate, spread float64) float64 {
	x, y := load/spread, rate/spread
	const deep = 30 // where ln(1+e^-deep) is e^-deep
	scale := math.Log(spread) + math.Log1p(math.Exp(-y))
	if y-x > deep {
		return scale + x - y + math.Log(-math.Expm1(-x))
	}
	return scale + math.Log(softplus(x-y)-softplus(-y))
}

// softplus is ln(1+e^x).
func softplus(x float64) float64 {
	if x > 0 {
		return x + math.Log1p(math.Exp(-x))
	}
	return math.Log1p(math.Exp(x))
}

// erf falls off as a normal distribution does.
func erf(load, rate, spread float64) float64 {
	near, far := logIerfc((rate-load)/spread), logIerfc(rate/spread)
	return math.Log(spread) - math.Log1p(math.Erf(rate/spread)) + near + math.Log(-math.Expm1(far-near))
}

// logIerfc is the logarithm of the integral of the complementary error function from u to
// infinity.
func logIerfc(u float64) float64 {
	const deep = 5
	if u < deep {
		return math.Log(math.Exp(-u*u)/math.SqrtPi - u*math.Erfc(u))
	}
	w := 1 / (u * u)
	return -u*u + math.Log(w/(2*math.SqrtPi)) + math.Log1p(w*(-1.5+3.75*w))
}

// criticalLoad is where a shape loses a part of the load.
func (f fit) criticalLoad(rate, spread, lossRatio float64) float64 {
	low, high := 0.0, rate/(1-lossRatio)+40*spread
	want := math.Log(lossRatio)
	for range 60 {
		middle := (low + high) / 2
		if f(middle, rate, spread)-math.Log(middle) < want {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}
