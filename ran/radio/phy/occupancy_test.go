package phy

import (
	"math/rand/v2"
	"testing"
)

// TestOccupancy compares with a count of each unit.
func TestOccupancy(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		of := r.IntN(400)
		var o occupancy
		var model [maxUnits]int
		for range 1 + r.IntN(4) {
			start, n := r.IntN(420)-10, r.IntN(150)-5
			ok := start >= 0 && n > 0 && start+n <= of && start+n <= maxUnits
			if got := o.add(start, n, of); got != ok {
				t.Fatalf("%d from %d of %d: got %v", n, start, of, got)
			}
			for k := 0; ok && k < n; k++ {
				model[start+k]++
			}
		}
		start, n := r.IntN(300), 1+r.IntN(100)
		want := start+n <= of && start+n <= maxUnits
		for k := start; want && k < start+n; k++ {
			want = model[k] <= 1
		}
		if got := o.clear(start, n, of); got != want {
			t.Fatalf("%d from %d of %d are clear: got %v, want %v", n, start, of, got, want)
		}
	}
}
