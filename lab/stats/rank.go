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
	places := make([]Place, len(systems))
	for i := range systems {
		places[i] = Place{First: 1, Last: len(systems)}
		for j := range systems {
			if len(systems[i]) < fewest || len(systems[j]) < fewest || intervals[i].Overlaps(intervals[j]) {
				continue
			}
			if better := intervals[i].Low > intervals[j].High; better == higherIsBetter {
				places[i].Last--
			} else {
				places[i].First++
			}
		}
	}
	return places
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
