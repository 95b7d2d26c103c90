package search

import "math"

// Estimate is what is known of a load.
type Estimate struct {
	Mean, Deviation float64 // frames per second and direction
}

// posterior is the posterior distribution of a shape's parameters. Rates are logarithms; the spread
// is a fraction of the logarithm of the rate, 0 to 1.
//
// Source: draft-vpolak-bmwg-plrsearch-03, Bayesian inference, prior distributions: the prior of the
// rate falls off above the highest load, that of the spread is uniform, and the number of lost
// frames has a Poisson distribution.
type posterior struct {
	fit     fit
	records []Record
	highest float64 // load
}

// at is the logarithm of the posterior, up to a constant.
func (p *posterior) at(logRate, part float64) float64 {
	rate, spread := math.Exp(logRate), math.Exp(logRate*part)
	log := logRate - 2*math.Log1p(rate/p.highest)
	for _, r := range p.records {
		mean := p.fit(float64(r.Load), rate, spread) + math.Log(r.Duration.Seconds())
		lost := r.Loss * float64(r.Load) * r.Duration.Seconds()
		log += lost*mean - math.Exp(mean)
	}
	if math.IsNaN(log) {
		return math.Inf(-1)
	}
	return log
}

// slice is the posterior at one spread: concave in the rate, nearly.
type slice struct {
	part      float64
	logRate   float64 // the likeliest
	deviation float64 // of it
	weight    float64 // logarithm of the posterior of the whole slice
}

const (
	sliceCount = 24
	narrower   = 10  // times, at most
	drop       = 15. // logarithm of how much less likely than the likeliest a slice is that is left out
	golden     = 0.6180339887498949
	precision  = 1e-9
)

// slice finds the likeliest rate by golden-section search, and how far away from it the
// posterior has fallen to that of one standard deviation.
func (p *posterior) slice(part float64) slice {
	low, high := 0.0, math.Log(16*p.highest)
	limit := high
	a, b := high-golden*(high-low), low+golden*(high-low)
	atA, atB := p.at(a, part), p.at(b, part)
	for high-low > precision*limit {
		if atA > atB {
			high, b, atB = b, a, atA
			a = high - golden*(high-low)
			atA = p.at(a, part)
		} else {
			low, a, atA = a, b, atB
			b = low + golden*(high-low)
			atB = p.at(b, part)
		}
	}
	s := slice{part: part, logRate: (low + high) / 2}
	best := p.at(s.logRate, part)
	s.deviation = (p.fallen(s, best, -1) + p.fallen(s, best, 1)) / 2
	s.weight = best + math.Log(s.deviation)
	return s
}

// fallen is how far away on one side of the likeliest rate the posterior is that of a
// standard deviation, in the logarithm of the rate.
func (p *posterior) fallen(s slice, best, side float64) float64 {
	low, high := math.Log(1e-12), math.Log(8.)
	for range 24 {
		middle := (low + high) / 2
		if p.at(s.logRate+side*math.Exp(middle), s.part) > best-0.5 {
			low = middle
		} else {
			high = middle
		}
	}
	return math.Exp(high)
}

// estimate is where a part of the frames is lost on average. Slices come closer to each
// other until enough of them matter.
func (p *posterior) estimate(lossRatio float64) Estimate {
	low, high := 0.0, 1.0
	var all [sliceCount]slice
	for range narrower {
		best := math.Inf(-1)
		for i := range all {
			all[i] = p.slice(low + (float64(i)+0.5)/sliceCount*(high-low))
			best = max(best, all[i].weight)
		}
		first, last := sliceCount, 0
		for i, s := range all {
			if s.weight > best-drop {
				first, last = min(first, i), i
			}
		}
		if last-first >= sliceCount/4 {
			break
		}
		cell := (high - low) / sliceCount
		low, high = max(0, low+cell*float64(first-1)), min(1, low+cell*float64(last+2))
	}
	return p.sum(all[:], lossRatio)
}

// sum is mean and deviation of the critical load over slices.
func (p *posterior) sum(all []slice, lossRatio float64) Estimate {
	best := math.Inf(-1)
	for _, s := range all {
		best = max(best, s.weight)
	}
	var total, sum, squares float64
	for _, s := range all {
		weight := math.Exp(s.weight - best)
		if weight < 1e-9 {
			continue
		}
		load := p.fit.criticalLoad(math.Exp(s.logRate), math.Exp(s.logRate*s.part), lossRatio)
		within := load * s.deviation // what moves the rate moves the load as much
		total, sum, squares = total+weight, sum+weight*load, squares+weight*(load*load+within*within)
	}
	mean := sum / total
	return Estimate{Mean: mean, Deviation: math.Sqrt(max(0, squares/total-mean*mean))}
}
