package floor_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/ran/radio"
	"github.com/plumbline-upf/plumbline/ran/radio/floor"
)

func config(pattern string, k2 int, standing bool) *radio.Config {
	c := &radio.Config{
		Numerology: 1, PRBs: 106, Layers: 1, MCS: 28, Pattern: pattern, SpecialDL: 6, SpecialUL: 4,
		K1: 2, K2: k2, SRPeriod: len(pattern), StandingGrant: standing,
	}
	for c.SROffset < len(pattern)-1 && pattern[c.SROffset] != 'U' {
		c.SROffset++
	}
	return c
}

// TestTable: the table of a model that was made apart from this one, before it, to one
// digit; slots of 0.5 ms, a scheduling request in each period of the pattern.
func TestTable(t *testing.T) {
	columns := []struct {
		ahead, k2 int
		standing  bool
	}{{6, 6, false}, {6, 6, true}, {4, 4, false}, {2, 2, false}, {2, 2, true}, {1, 1, false}, {1, 1, true}}
	for _, row := range []struct {
		pattern string
		want    [7][3]float64 // ms
	}{
		{"DDDDDDDSUU", [7][3]float64{{15.2, 17.7, 20.2}, {5.2, 7.2, 9.7}, {9.2, 11.7, 14.2}, {8.2, 10.7, 13.2}, {3.2, 5.2, 7.7}, {7.7, 10.1, 12.7}, {2.7, 4.7, 7.2}}},
		{"DDDSU", [7][3]float64{{12.7, 13.9, 15.2}, {5.2, 6.4, 7.7}, {9.2, 10.4, 11.7}, {5.7, 6.9, 8.2}, {3.2, 4.4, 5.7}, {5.2, 6.4, 7.7}, {2.7, 3.9, 5.2}}},
		{"DDSU", [7][3]float64{{13.7, 14.7, 15.7}, {5.7, 6.7, 7.7}, {10.2, 11.2, 12.2}, {7.7, 8.7, 9.7}, {3.7, 4.7, 5.7}, {4.7, 5.7, 6.7}, {2.7, 3.7, 4.7}}},
		{"SU", [7][3]float64{{12.7, 13.2, 13.7}, {5.7, 6.2, 6.7}, {9.7, 10.2, 10.7}, {6.7, 7.2, 7.7}, {3.7, 4.2, 4.7}, {4.7, 5.2, 5.7}, {2.7, 3.2, 3.7}}},
	} {
		for i, column := range columns {
			got, err := floor.Ping(config(row.pattern, column.k2, column.standing), column.ahead, floor.Processing)
			if err != nil {
				t.Errorf("%s: %v", row.pattern, err)
				continue
			}
			for j, d := range []time.Duration{got.Min, got.Mean, got.Max} {
				if ms := float64(d) / 1e6; math.Abs(ms-row.want[i][j]) > 0.0501 {
					t.Errorf("%s %+v: got %v, want %v ms", row.pattern, column, got, row.want[i])
					break
				}
			}
		}
	}
}

// TestPingByEvents: pings at random instants through a cell in which each event is
// played, slot by slot, never take less than the floor's minimum nor more than its
// maximum, and reach its mean.
func TestPingByEvents(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, pattern := range []string{"DDDDDDDSUU", "DDDSU", "DDSU", "SU", "DDDDDSUUUU"} {
		for _, standing := range []bool{false, true} {
			for ahead := 1; ahead <= 8; ahead++ {
				k2 := 1 + random.IntN(7)
				c := config(pattern, k2, standing)
				t.Run(fmt.Sprintf("%s/k2 %d/ahead %d/standing %v", pattern, k2, ahead, standing), func(t *testing.T) {
					want, err := floor.Ping(c, ahead, 0)
					if err != nil {
						t.Fatal(err)
					}
					var sum, shortest, longest time.Duration
					const pings = 4000
					shortest = time.Hour
					for range pings {
						at := time.Duration(random.Int64N(int64(20 * time.Millisecond)))
						took := play(c, ahead, at)
						sum, shortest, longest = sum+took, min(shortest, took), max(longest, took)
					}
					mean := sum / pings
					if shortest < want.Min || longest > want.Max || (mean-want.Mean).Abs() > 150*time.Microsecond {
						t.Errorf("got %v %v %v, want %v", shortest, mean, longest, want)
					}
				})
			}
		}
	}
}

// play runs a ping that begins at some time through a cell, tick by tick, without the
// help of package grid.
func play(c *radio.Config, ahead int, at time.Duration) time.Duration {
	letter := func(n int) byte { return c.Pattern[n%len(c.Pattern)] }
	const length = 500 * time.Microsecond
	var requested, atCore bool
	known, grant, pusch, pdsch, back := -2, -2, -2, -2, -2
	for n := 0; ; n++ { // tick n: slot n-1 has ended, slot n begins
		switch {
		case back == n:
			return time.Duration(n)*length - at
		case known == n && grant < 0: // the gNB has the request
			for grant = n + ahead; letter(grant) == 'U'; grant++ {
			}
		case atCore && pdsch < 0 && n > pusch+1: // the answer came after the tick before
			for pdsch = n + ahead; letter(pdsch) == 'U'; pdsch++ {
			}
			back = pdsch + 1
		}
		if pusch == n-1 {
			atCore = true
		}
		if time.Duration(n)*length < at || pusch >= 0 && !atCore || atCore {
			continue
		}
		// The UE has the packet: what it sends in slot n+1 it decides now.
		switch {
		case c.StandingGrant && letter(n+1) == 'U':
			pusch = n + 1
		case !c.StandingGrant && !requested && (n+1)%c.SRPeriod == c.SROffset:
			requested, known = true, n+2
		case grant >= 0 && letter(n+1) == 'U' && n+1 >= grant+c.K2:
			pusch = n + 1
		}
	}
}

func TestErrors(t *testing.T) {
	for _, ahead := range []int{0, -1, 81} {
		if got, err := floor.Ping(config("DDDSU", 2, false), ahead, 0); err == nil {
			t.Errorf("slot_ahead %d: %v", ahead, got)
		}
	}
	c := config("DDDSU", 2, false)
	c.PRBs = 0
	if got, err := floor.Ping(c, 2, 0); err == nil {
		t.Errorf("no PRBs: %v", got)
	}
}
