package search

import (
	"context"
	"math"
	"testing"
	"time"
)

// goals of the example search.
//
// Source: RFC 9971, appendix C.1.
var exampleGoals = []struct {
	name string
	goal Goal
}{
	{"RFC2544", Goal{FinalDuration: 60 * time.Second, DurationSum: 60 * time.Second}},
	{"TST009", Goal{FinalDuration: 60 * time.Second, DurationSum: 120 * time.Second, ExceedRatio: 0.5}},
	{"1s final", Goal{FinalDuration: time.Second, DurationSum: 120 * time.Second, LossRatio: 0.005, ExceedRatio: 0.5}},
	{"20% exceed", Goal{FinalDuration: 60 * time.Second, DurationSum: 60 * time.Second, LossRatio: 0.005, ExceedRatio: 0.2}},
}

func trials(n int, duration time.Duration, loss float64) []Record {
	all := make([]Record, n)
	for i := range all {
		all[i] = Record{Trial: Trial{Load: 1_000_000, Duration: duration}, Loss: loss}
	}
	return all
}

// For the last goal and the last two points the example's tables say Lower Bound beside
// exceed ratios of 42.857 % and 27.273 %, more than the goal's 20 %; by the rule and the
// code of appendix A that is an upper bound.
func TestClassifyExample(t *testing.T) {
	points := []struct {
		name  string
		added []Record
		want  [4]class
	}{
		{"nothing yet", nil, [4]class{}},
		{"first short good", trials(59, time.Second, 0), [4]class{}},
		{"first short bad", trials(1, time.Second, 0.01), [4]class{upperBound, undecided, undecided, undecided}},
		{"last short bad", trials(59, time.Second, 0.01), [4]class{upperBound, undecided, undecided, upperBound}},
		{"last short good", trials(1, time.Second, 0), [4]class{upperBound, undecided, lowerBound, upperBound}},
		{"first long bad", trials(1, time.Minute, 0.001), [4]class{upperBound, undecided, lowerBound, upperBound}},
		{"first long good", trials(1, time.Minute, 0), [4]class{upperBound, lowerBound, lowerBound, upperBound}},
	}
	var records []Record
	for _, p := range points {
		records = append(records, p.added...)
		for i, g := range exampleGoals {
			if got := g.goal.classify(records); got != p.want[i] {
				t.Errorf("%s, goal %s: got class %d, want %d", p.name, g.name, got, p.want[i])
			}
		}
	}
	for i, want := range []float64{999_000, 1_000_000, 1_000_000, 999_000} {
		if got := exampleGoals[i].goal.throughput(1_000_000, records); math.Abs(got-want) > 0.5 {
			t.Errorf("goal %s: got conditional throughput %v, want %v", exampleGoals[i].name, got, want)
		}
	}
}

// What is missing to the duration sum counts as lost, so that a throughput is never
// better than what further trials might have shown.
func TestThroughputIncomplete(t *testing.T) {
	half := Goal{FinalDuration: time.Second, DurationSum: 3 * time.Second, ExceedRatio: 0.5, LossRatio: 0.005}
	all := Goal{FinalDuration: time.Second, DurationSum: 3 * time.Second, LossRatio: 0.005}
	two := append(trials(1, time.Second, 0), trials(1, time.Second, 0.004)...)
	short := trials(10, 999*time.Millisecond, 0)
	cases := []struct {
		name    string
		goal    Goal
		records []Record
		want    float64
	}{
		{"two of three, half tolerated", half, two, 996_000},
		{"two of three, nothing tolerated", all, two, 0},
		{"short trials only", half, short, 0},
		{"three", all, append(trials(1, time.Second, 0.001), two...), 996_000},
		{"one longer than the sum", all, trials(1, time.Minute, 0.002), 998_000},
	}
	for _, tc := range cases {
		if got := tc.goal.throughput(1_000_000, tc.records); math.Abs(got-tc.want) > 0.5 {
			t.Errorf("%s: got %v, want %v", tc.name, got, tc.want)
		}
	}
}

func TestBoundsLossInversion(t *testing.T) {
	g := Goal{FinalDuration: time.Second, DurationSum: time.Second}
	known := byLoad{
		100: trials(1, time.Second, 0),
		200: trials(1, time.Second, 0.1),
		300: trials(1, time.Second, 0),
		400: trials(1, time.Second, 0.2),
		150: trials(1, time.Second/2, 0), // short: undecided
	}
	if got, want := known.bounds(g), (bounds{100, 200}); got != want {
		t.Errorf("bounds: got %v, want %v", got, want)
	}
	delete(known, 200)
	if got, want := known.bounds(g), (bounds{300, 400}); got != want {
		t.Errorf("bounds without the upper bound at 200: got %v, want %v", got, want)
	}
	delete(known, 400)
	if got, want := known.bounds(g), (bounds{300, 0}); got != want {
		t.Errorf("bounds without any upper bound: got %v, want %v", got, want)
	}
}

func TestLossRatio(t *testing.T) {
	cases := []struct {
		name string
		o    Outcome
		want float64
	}{
		{"nothing lost", Outcome{Intended: 1000, Sent: 1000, Received: 1000}, 0},
		{"1 % lost", Outcome{Intended: 1000, Sent: 1000, Received: 990}, 0.01},
		{"the sender owes what is tolerated", Outcome{Intended: 100_000, Sent: 99_900, Received: 99_900}, 0},
		{"the sender owes more", Outcome{Intended: 100_000, Sent: 99_899, Received: 99_899}, 0.00101},
		{"both", Outcome{Intended: 1000, Sent: 900, Received: 450}, 0.55},
		{"more received than sent", Outcome{Intended: 1000, Sent: 1000, Received: 1001}, 0},
		{"as fast as possible", Outcome{Sent: 1000, Received: 999}, 0.001},
	}
	for _, tc := range cases {
		if got := tc.o.LossRatio(Tolerated); math.Abs(got-tc.want) > 1e-12 {
			t.Errorf("%s: got %v, want %v", tc.name, got, tc.want)
		}
	}
}

// Of trials that were all disturbed the one that was held least counts, wherever in the
// sequence it was.
func TestTryLeastHeld(t *testing.T) {
	held := []time.Duration{80 * time.Millisecond, 5 * time.Millisecond, 50 * time.Millisecond, 9 * time.Millisecond}
	l := &lab{tolerated: Tolerated, measure: func(context.Context, Trial) (Outcome, error) {
		h := held[0]
		held = held[1:]
		return Outcome{Intended: 1000, Sent: 1000, Received: 1000 - uint64(h/time.Millisecond), Held: h}, nil
	}}
	r, err := l.try(context.Background(), Trial{Load: 1000, Duration: time.Second})
	if err != nil || r.Held != 5*time.Millisecond || r.Disturbed || len(l.records) != again {
		t.Errorf("got %+v, %v, %d records", r, err, len(l.records))
	}
	for i, rec := range l.records {
		if rec.Disturbed != (i != 1) {
			t.Errorf("record %d: disturbed %v", i, rec.Disturbed)
		}
	}
}
