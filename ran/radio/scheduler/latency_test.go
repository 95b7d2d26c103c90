package scheduler_test

import (
	"fmt"
	"math"
	"testing"
)

// echo is a data network that answers each packet: in the slot behind the one in which
// it came, as that one's tick is over then.
type echo struct {
	packets [][]byte
}

func (e *echo) Uplink(_ int, _ uint8, packet []byte) {
	e.packets = append(e.packets, append([]byte(nil), packet...))
}

func (e *echo) Flush() {}

// TestPing: the mean round-trip time of a ping is that of the slots, which no scheduler
// can be faster than, for any instant of the pattern. The UE has what it sends one slot
// before its slot; what is received is received when the slot has ended.
func TestPing(t *testing.T) {
	for _, test := range []struct {
		ahead, k2 int
		standing  bool
		want      map[string]float64 // ms, without 0.2 for the work of the PHYs
	}{
		{6, 6, false, map[string]float64{"DDDDDDDSUU": 17.5, "DDDSU": 13.7, "DDSU": 14.5, "SU": 13.0}},
		{6, 6, true, map[string]float64{"DDDDDDDSUU": 7.0, "DDDSU": 6.2, "DDSU": 6.5, "SU": 6.0}},
		{4, 4, false, map[string]float64{"DDDDDDDSUU": 11.5, "DDDSU": 10.2, "DDSU": 11.0, "SU": 10.0}},
		{2, 2, false, map[string]float64{"DDDDDDDSUU": 10.5, "DDDSU": 6.7, "DDSU": 8.5, "SU": 7.0}},
		{2, 2, true, map[string]float64{"DDDDDDDSUU": 5.0, "DDDSU": 4.2, "DDSU": 4.5, "SU": 4.0}},
		{1, 1, false, map[string]float64{"DDDDDDDSUU": 9.9, "DDDSU": 6.2, "DDSU": 5.5, "SU": 5.0}},
		{1, 1, true, map[string]float64{"DDDDDDDSUU": 4.5, "DDDSU": 3.7, "DDSU": 3.5, "SU": 3.0}},
	} {
		for pattern, want := range test.want {
			t.Run(fmt.Sprintf("%s ahead %d k2 %d standing %v", pattern, test.ahead, test.k2, test.standing), func(t *testing.T) {
				c := config(pattern, 1)
				c.K2, c.StandingGrant = test.k2, test.standing
				e := &echo{}
				a, err := newAir(c, test.ahead, 1, e)
				if err != nil {
					t.Fatal(err)
				}
				attach(t, a)
				total := 0.0
				for n := range pattern {
					total += ping(t, a, e, n, len(pattern))
				}
				got := total / float64(len(pattern)) * a.rrc.Numerology.Duration().Seconds() * 1000
				if math.Abs(got-want) > 0.11 { // what is wanted is rounded
					t.Errorf("the mean is %.2f ms, the floor %.1f", got, want)
				}
			})
		}
	}
}

// ping sends one in the middle of a slot of the pattern, and returns the slots to its
// answer.
func ping(t *testing.T, a *air, e *echo, phase, period int) float64 {
	t.Helper()
	for range 200 { // what was before is over
		a.tick()
	}
	for int(a.now)%period != phase {
		a.tick()
	}
	u := a.ues[0]
	u.received, e.packets = nil, nil
	start := float64(a.now) - 0.5 // before the tick that comes
	a.tick()
	if !u.bearer.Send(1, packet(7, 84)) {
		t.Fatal("the UE's queue is full")
	}
	for range 200 {
		a.tick()
		if len(u.received) == 1 {
			// It came in the slot that a.now is behind.
			return float64(a.now) - start
		}
		for _, p := range e.packets {
			a.mac.Downlink(0, 1, p)
		}
		e.packets = nil
	}
	t.Fatal("no answer within 200 slots")
	return 0
}
