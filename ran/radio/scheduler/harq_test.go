package scheduler_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/plumbline-upf/plumbline/nfapi/slot"
)

// TestHARQLimited: far ahead of the air a UE's HARQ processes are the limit, as the grid
// says, and the scheduler reaches it.
func TestHARQLimited(t *testing.T) {
	for _, test := range []struct {
		mu      slot.Numerology
		pattern string
		ahead   int
		limited bool
	}{
		{1, "DDDDDDDSUU", 6, false}, {3, "DDDDDDDSUU", 16, true}, {3, "DDDSU", 16, true}, {3, "DDDSU", 8, false}, {1, "DDDSU", 30, true}, {3, "SU", 40, true},
	} {
		t.Run(fmt.Sprintf("mu %d, %s, %d ahead", test.mu, test.pattern, test.ahead), func(t *testing.T) {
			t.Parallel()
			c := config(test.pattern, 1)
			c.Numerology = test.mu
			to := &core{received: make([][]uint32, 1)}
			a, err := newAir(c, test.ahead, 1, to)
			if err != nil {
				t.Fatal(err)
			}
			attach(t, a)
			full(a, to, 400)
			const slots = 4000
			down, up := full(a, to, slots)
			seconds := slots * c.Numerology.Duration().Seconds()
			gotDown, gotUp := float64(8*down)/seconds, float64(8*up)/seconds
			all, _ := a.rrc.Bound()
			boundDown, boundUp := a.rrc.HARQBound(test.ahead)
			if math.Abs(gotDown/boundDown-0.99) > 0.03 || math.Abs(gotUp/boundUp-0.99) > 0.03 {
				t.Errorf("%.4g bit/s down, %.4g up, the bound is %.4g and %.4g", gotDown, gotUp, boundDown, boundUp)
			}
			if limited := boundDown < all; limited != test.limited {
				t.Errorf("the bound is %.4g, that of the grid %.4g: want it limited: %v", boundDown, all, test.limited)
			}
		})
	}
}
