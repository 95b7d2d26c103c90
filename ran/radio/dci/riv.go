package dci

import "fmt"

// RIV is the resource indication value of PRBs that follow each other: resource
// allocation type 1. Source: TS 38.214 V18, 5.1.2.2.2.
func (f *Formats) RIV(start, length int) int {
	n := f.grid.PRBs
	if length-1 <= n/2 {
		return n*(length-1) + start
	}
	return n*(n-length+1) + n - 1 - start
}

func (f *Formats) fromRIV(r *reader) (start, length int) {
	n := f.grid.PRBs
	riv := r.get(f.riv)
	start, length = riv%n, riv/n+1
	if start+length > n {
		start, length = n-1-start, n-length+2
	}
	if start < 0 || length < 1 || start+length > n || f.RIV(start, length) != riv {
		r.bad = true
	}
	return start, length
}

func (f *Formats) checkPRBs(start, length int) error {
	if start < 0 || length < 1 || start+length > f.grid.PRBs {
		return fmt.Errorf("dci: %d PRBs from %d of %d: %w", length, start, f.grid.PRBs, ErrValue)
	}
	return nil
}
