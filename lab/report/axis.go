package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// tick is one mark of an axis: where it is drawn, in the plot's units, and what
// is written there.
type tick struct {
	At    float64
	Label string
}

// linear maps 0..high onto pixels 0..width.
type linear struct{ high, width float64 }

// newLinear makes room for highest and takes a round value as its end.
func newLinear(highest, width float64) linear {
	step := roundStep(highest / 5)
	return linear{high: step * math.Max(1, math.Ceil(highest/step)), width: width}
}

func (a linear) at(v float64) float64 { return a.width * v / a.high }

func (a linear) ticks() []tick {
	var ticks []tick
	step := roundStep(a.high / 5)
	for i := 0; float64(i)*step <= a.high*1.0001; i++ {
		v := float64(i) * step
		ticks = append(ticks, tick{a.at(v), plain(v)})
	}
	return ticks
}

// plain writes four places of v, without an exponent where people can read it.
func plain(v float64) string {
	s := fmt.Sprintf("%.4g", v)
	if f, err := strconv.ParseFloat(s, 64); err == nil && f < 1e9 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return s
}

// roundStep returns the 1, 2 or 5 times a power of ten that is not below v.
func roundStep(v float64) float64 {
	if v <= 0 {
		return 1
	}
	decade := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if v <= decade*m*1.0001 {
			return decade * m
		}
	}
	return decade * 10
}

// logarithmic maps low..high onto pixels 0..width.
type logarithmic struct{ low, high, width float64 }

// newLogarithmic makes room for lowest to highest between marks of 1, 2 and 5.
func newLogarithmic(lowest, highest, width float64) logarithmic {
	a := logarithmic{low: stepDown(lowest), high: roundStep(highest), width: width}
	if a.high <= a.low {
		a.high = a.low * 10
	}
	return a
}

// stepDown returns the 1, 2 or 5 times a power of ten that is not above v.
func stepDown(v float64) float64 {
	decade := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{5, 2} {
		if v >= decade*m*0.9999 {
			return decade * m
		}
	}
	return decade
}

func (a logarithmic) at(v float64) float64 {
	return a.width * math.Log(math.Max(v, a.low)/a.low) / math.Log(a.high/a.low)
}

// ticks stand at 1, 2 and 5 of each decade, or at the decades alone where there
// are many.
func (a logarithmic) ticks() []tick {
	marks := []float64{1, 2, 5}
	if a.high/a.low > 3e3 {
		marks = marks[:1]
	}
	var ticks []tick
	for e := math.Floor(math.Log10(a.low)); e <= math.Ceil(math.Log10(a.high)); e++ {
		for _, m := range marks {
			if v := m * math.Pow(10, e); v >= a.low*0.9999 && v <= a.high*1.0001 {
				ticks = append(ticks, tick{a.at(v), strconv.FormatFloat(v, 'f', max(0, -int(e)), 64)})
			}
		}
	}
	return ticks
}

// nines maps percentiles onto pixels so that 90, 99, 99.9 ... are as far apart
// from each other as 0 is from 90.
type nines struct{ decades, width float64 }

func (a nines) at(percentile float64) float64 {
	return a.width * math.Min(decadesOf(percentile)/a.decades, 1)
}

func decadesOf(percentile float64) float64 { return -math.Log10(1 - percentile/100) }

func (a nines) ticks() []tick {
	ticks := []tick{{0, "min"}, {a.at(50), "50 %"}}
	for i := 1; float64(i) <= a.decades+1e-9; i++ {
		p := 100 * (1 - math.Pow(10, -float64(i)))
		ticks = append(ticks, tick{a.at(p), fmt.Sprintf("%.*f %%", max(0, i-2), p)})
	}
	return ticks
}

const (
	maxDecades  = 6.0   // of an axis of nines
	leastHigh   = 1e-3  // of an axis: what is less is nothing in every unit here
	roomyAxis   = 300.0 // pixels
	roomyDecade = 42.0  // for each label of a logarithmic one
)

// span is from the lowest to the highest value; inverted: there is none.
type span struct{ low, high float64 }

var noSpan = span{math.Inf(1), 0}

func (s span) with(other span) span { return span{min(s.low, other.low), max(s.high, other.high)} }

// decades leaves the marks that are powers of ten: there is little room.
func decades(ticks []tick) []tick {
	return slices.DeleteFunc(ticks, func(t tick) bool {
		v, err := strconv.ParseFloat(t.Label, 64)
		e := math.Log10(v)
		return err != nil || math.Abs(e-math.Round(e)) > 1e-6
	})
}

func everyOther(ticks []tick) []tick {
	var some []tick
	for i, t := range ticks {
		if i%2 == 0 {
			some = append(some, t)
		}
	}
	return some
}

// finite returns the points that have a place on an axis of nines: not the
// maximum.
func finite(points []Percentile) []Percentile {
	for i, p := range points {
		if p.Percentile >= 100 {
			return points[:i]
		}
	}
	return points
}
