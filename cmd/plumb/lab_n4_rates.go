package main

import (
	"fmt"
	"strconv"
	"strings"
)

// n4Ramp is rates that change evenly, in requests per second.
type n4Ramp struct{ from, to float64 }

// UnmarshalText takes FROM:TO.
func (r *n4Ramp) UnmarshalText(text []byte) error {
	numbers, err := n4Rates(string(text), 2)
	if err != nil {
		return fmt.Errorf("%q: want FROM:TO in requests per second, such as 1000:20000", text)
	}
	*r = n4Ramp{numbers[0], numbers[1]}
	return nil
}

// n4Steps is rates, one after the other, in requests per second.
type n4Steps []float64

const maxN4Steps = 100

// UnmarshalText takes FROM:TO:BY. Rates may go down: then FROM is the highest.
func (s *n4Steps) UnmarshalText(text []byte) error {
	numbers, err := n4Rates(string(text), 3)
	if err != nil {
		return fmt.Errorf("%q: want FROM:TO:BY in requests per second, such as 1000:20000:1000", text)
	}
	from, to, by := numbers[0], numbers[1], numbers[2]
	if from > to {
		by = -by
	}
	n := int((to-from)/by+1e-9) + 1
	if n > maxN4Steps {
		return fmt.Errorf("%q: %d steps: want %d at most", text, n, maxN4Steps)
	}
	*s = nil
	for i := range n {
		*s = append(*s, from+float64(i)*by)
	}
	return nil
}

const maxN4Rate = 1e8 // requests per second

// n4Rates reads so many rates between colons.
func n4Rates(text string, n int) ([]float64, error) {
	words := strings.Split(text, ":")
	if len(words) != n {
		return nil, fmt.Errorf("%d numbers: want %d", len(words), n)
	}
	var list []float64
	for _, word := range words {
		rate, err := strconv.ParseFloat(word, 64)
		if err != nil || !(rate >= 1 && rate <= maxN4Rate) {
			return nil, fmt.Errorf("%q: want 1 to %g", word, maxN4Rate)
		}
		list = append(list, rate)
	}
	return list, nil
}
