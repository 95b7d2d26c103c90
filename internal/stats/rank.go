package stats

import "fmt"

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

// Places returns the places of systems by the intervals of their medians. One is better
// than another only if their intervals have no value in common and both are of three
// values or more; otherwise the order is not known, and their places overlap. A system
// without values shares all places.
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
