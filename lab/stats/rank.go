package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Place is where a system stands among others: between the first and the last place, both
// from 1. They are the same where every other one is better or worse beyond doubt.
type Place struct {
	First, Last int
}

// String is "2", or "2 to 4".
func (p Place) String() string {
	if p.First == p.Last {
		return fmt.Sprint(p.First)
	}
	return fmt.Sprintf("%d to %d", p.First, p.Last)
}

// fewest values that a system needs to be told from another one. Three of each that do not
// overlap come by chance once in ten times.
const fewest = 3

// Rank returns the places of systems by their values, repeats of one quantity. One is
// better than another only if their median intervals (95 %, or the whole range of few
// values) have no value in common and both have three values or more; otherwise the order
// is not known, and their places overlap. A system without values shares all places.
func Rank(systems [][]float64, higherIsBetter bool) []Place {
	intervals := make([]Interval, len(systems))
	for i, values := range systems {
		intervals[i] = MedianInterval(values, Usual)
	}
	return Places(intervals, higherIsBetter)
}

// Places is [Rank] by intervals that are known already.
func Places(intervals []Interval, higherIsBetter bool) []Place {
	places := make([]Place, len(intervals))
	for i, own := range intervals {
		places[i] = Place{First: 1, Last: len(intervals)}
		for _, other := range intervals {
			switch {
			case own.Better(other, higherIsBetter):
				places[i].Last--
			case other.Better(own, higherIsBetter):
				places[i].First++
			}
		}
	}
	return places
}

// Better reports whether i is better than j beyond doubt: they have no value in common, and
// both are of enough values to say so.
func (i Interval) Better(j Interval, higherIsBetter bool) bool {
	if enough := bearable(fewest); i.Confidence < enough || j.Confidence < enough || i.Overlaps(j) {
		return false
	}
	return (i.Low > j.High) == higherIsBetter
}

// Order returns the indexes of systems from the best median to the worst, those without
// values last: the order in which to show them. Whether it means anything says [Rank].
func Order(systems [][]float64, higherIsBetter bool) []int {
	order := make([]int, len(systems))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := Median(systems[i]), Median(systems[j])
		switch {
		case math.IsNaN(a) || math.IsNaN(b):
			return cmp.Compare(len(systems[j]), len(systems[i]))
		case higherIsBetter:
			return cmp.Compare(b, a)
		default:
			return cmp.Compare(a, b)
		}
	})
	return order
}
