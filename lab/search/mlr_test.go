package search

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"
)

const capacityMax = 10_000_000

func threeGoals(duration time.Duration) []Goal {
	return []Goal{NewGoal(0, duration), NewGoal(1e-5, duration), NewGoal(0.005, duration)}
}

func find(t *testing.T, d *dut, m MLR) Result {
	t.Helper()
	if m.Max == 0 {
		m.Min, m.Max = 1000, capacityMax
	}
	if m.Goals == nil {
		m.Goals = threeGoals(time.Second)
	}
	m.Tolerated = Tolerated
	r, err := m.Search(context.Background(), d.measure)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// within reports whether a is b but for a part of b.
func within(a, b, part float64) bool { return math.Abs(a-b) <= part*b }

// A system that carries so much and no more: bounds enclose the load that loses as much
// as the goal allows, the throughput is the capacity, and few trials are needed.
func TestMLRCapacity(t *testing.T) {
	most := 0
	for _, capacity := range []float64{1234, 10_000, 123_456, 900_000, 2_222_222, 9_000_000} {
		d := newDUT(capacity, 1)
		r := find(t, d, MLR{})
		for _, g := range r.Goals {
			at := capacity / (1 - g.LossRatio)
			if g.Irregular != "" || float64(g.Lower) > at*(1+1e-3) || float64(g.Upper) < at*(1-1e-3) {
				t.Errorf("capacity %v, goal (%v): got bounds %d to %d (%s), want them around %v", capacity, g.Goal, g.Lower, g.Upper, g.Irregular, at)
			}
			if !within(g.Throughput, capacity, g.Width) {
				t.Errorf("capacity %v, goal (%v): got throughput %v", capacity, g.Goal, g.Throughput)
			}
		}
		most = max(most, d.trials)
		if a, b := nearest(r.Records); capacity > 10_000 && float64(b-a) < 0.0005*float64(b) {
			t.Errorf("capacity %v: tried both %d and %d frames/s, which say the same", capacity, a, b)
		}
	}
	if most > 30 {
		t.Errorf("got up to %d trials for three goals, want 30 at most", most)
	}
}

// nearest returns the two loads that are the closest to each other by ratio.
func nearest(records []Record) (a, b uint64) {
	var loads []uint64
	for _, r := range records {
		loads = append(loads, r.Load)
	}
	slices.Sort(loads)
	loads = slices.Compact(loads)
	for i := 1; i < len(loads); i++ {
		if b == 0 || float64(loads[i])/float64(loads[i-1]) < float64(b)/float64(a) {
			a, b = loads[i-1], loads[i]
		}
	}
	return a, b
}

// Loss spikes and a capacity that varies from trial to trial: goals that tolerate half of
// the trials find the capacity, those that tolerate none find less, never more.
func TestMLRNoise(t *testing.T) {
	const capacity, seeds = 2_000_000, 200
	near, strict, trials := 0, 0, 0
	for seed := range uint64(seeds) {
		d := newDUT(capacity, seed)
		d.stalls, d.stall, d.jitter = 0.05, 5*time.Millisecond, 0.002
		goals := threeGoals(time.Second)
		none := goals[0]
		none.ExceedRatio, none.DurationSum = 0, none.FinalDuration
		r := find(t, d, MLR{Goals: append(goals, none)})
		trials += d.trials
		good := true
		for i, g := range r.Goals {
			if g.Throughput > capacity*1.01 {
				t.Errorf("seed %d, goal (%v): got throughput %v of %v", seed, g.Goal, g.Throughput, float64(capacity))
			}
			good = good && (i == 3 || g.Irregular == "" && within(g.Throughput, capacity, 0.015))
		}
		if good {
			near++
		}
		if within(r.Goals[3].Throughput, capacity, 0.015) {
			strict++
		}
	}
	t.Logf("near the capacity: %d of %d; where every trial counts: %d; %.1f trials each", near, seeds, strict, float64(trials)/seeds)
	if near < seeds*9/10 {
		t.Errorf("got %d of %d searches near the capacity, want nine of ten", near, seeds)
	}
	if strict >= near {
		t.Errorf("got %d searches near the capacity where every trial counts, and %d where half do: noise is not tolerated", strict, near)
	}
}

// The sender is the limit, as where it shares a CPU with the system: what it could not
// send was not carried.
func TestMLRSenderLimit(t *testing.T) {
	d := newDUT(5_000_000, 1)
	d.sender = 1_500_000
	for _, g := range find(t, d, MLR{}).Goals {
		if g.Irregular != "" || !within(g.Throughput, d.sender, g.Width) {
			t.Errorf("goal (%v): got %v (%s), want the sender's limit %v", g.Goal, g.Throughput, g.Irregular, d.sender)
		}
	}
}

// Something takes the CPU from the sender in every other trial. That is not evidence, and
// does not end the search either if it goes on.
func TestMLRHeld(t *testing.T) {
	d := newDUT(1_000_000, 1)
	d.held = 50 * time.Millisecond
	r := find(t, d, MLR{})
	for _, g := range r.Goals {
		if g.Irregular != "" || !within(g.Throughput, d.capacity, g.Width) {
			t.Errorf("goal (%v): got %v (%s), want %v", g.Goal, g.Throughput, g.Irregular, d.capacity)
		}
	}
	disturbed := 0
	for _, rec := range r.Records {
		if rec.Disturbed {
			disturbed++
		}
	}
	if disturbed == 0 || len(r.Records) != d.trials {
		t.Errorf("got %d disturbed records, %d in all of %d trials", disturbed, len(r.Records), d.trials)
	}
	always := func(ctx context.Context, tr Trial) (Outcome, error) {
		o, err := newDUT(1_000_000, 1).measure(ctx, tr)
		o.Held, o.Sent = tr.Duration/10, o.Sent*9/10
		o.Received = min(o.Received, o.Sent)
		return o, err
	}
	m := MLR{Goals: threeGoals(time.Second), Min: 1000, Max: capacityMax, Tolerated: Tolerated}
	if r, err := m.Search(context.Background(), always); err != nil || r.Goals[0].Irregular != AtMin {
		t.Errorf("held in all trials: got %+v, %v", r.Goals[0], err)
	}
}

// A large buffer lets short trials pass that long ones do not.
func TestMLRBuffer(t *testing.T) {
	d := newDUT(1_000_000, 1)
	d.buffer = 100_000
	g := NewGoal(0, 10*time.Second)
	g.InitialDuration = 100 * time.Millisecond
	got := find(t, d, MLR{Goals: []Goal{g}}).Goals[0]
	if want := d.capacity + d.buffer/10; got.Irregular != "" || !within(got.Throughput, want, g.Width) {
		t.Errorf("got %v (%s), want %v", got.Throughput, got.Irregular, want)
	}
}

// A system that carries less the more it is offered: what came through an overload says
// little.
func TestMLRLivelock(t *testing.T) {
	for _, livelock := range []float64{0.1, 0.5, 1, 3} {
		d := newDUT(700_000, 1)
		d.livelock = livelock
		for _, g := range find(t, d, MLR{}).Goals {
			if g.Irregular != "" || !within(g.Throughput, d.capacity, 0.01) {
				t.Errorf("livelock %v, goal (%v): got %v (%s), want %v", livelock, g.Goal, g.Throughput, g.Irregular, d.capacity)
			}
		}
		if d.trials > 50 {
			t.Errorf("livelock %v: got %d trials, want 50 at most", livelock, d.trials)
		}
	}
}

func TestMLRIrregular(t *testing.T) {
	always := newDUT(2*capacityMax, 1)
	lossy := newDUT(1_000_000, 1)
	lossy.loss = 0.001
	slow := newDUT(1_000_000, 1)
	slow.overhead = time.Second
	cases := []struct {
		name   string
		d      *dut
		budget time.Duration
		want   [3]Irregular
	}{
		{"all loads pass", always, 0, [3]Irregular{AtMax, AtMax, AtMax}},
		{"some loss at any load", lossy, 0, [3]Irregular{AtMin, AtMin, ""}},
		{"no time", slow, 8 * time.Second, [3]Irregular{OutOfTime, OutOfTime, OutOfTime}},
	}
	for _, tc := range cases {
		r := find(t, tc.d, MLR{Budget: tc.budget})
		for i, g := range r.Goals {
			if g.Irregular != tc.want[i] {
				t.Errorf("%s, goal (%v): got %q, want %q", tc.name, g.Goal, g.Irregular, tc.want[i])
			}
		}
		if tc.budget > 0 && r.Took > tc.budget+2*time.Second {
			t.Errorf("%s: took %v of %v", tc.name, r.Took, tc.budget)
		}
	}
	if got := find(t, always, MLR{}).Goals[0]; got.Lower != capacityMax || got.Upper != 0 || got.Throughput != capacityMax {
		t.Errorf("all loads pass: got %+v, want the highest load as the lower bound", got)
	}
	if got := find(t, lossy, MLR{}).Goals[0]; got.Lower != 0 || got.Upper != 1000 || got.Throughput != 0 {
		t.Errorf("some loss at any load: got %+v, want the lowest load as the upper bound", got)
	}
	if got := find(t, slow, MLR{Budget: 12 * time.Second}).Goals[0]; !within(got.Throughput, slow.capacity, 0.05) {
		t.Errorf("no time: got %+v, want what short trials have shown", got)
	}
}

// Who knows where to look needs fewer trials and finds the same.
func TestMLRStart(t *testing.T) {
	blind, told := newDUT(432_100, 1), newDUT(432_100, 1)
	blind.livelock, told.livelock = 0.5, 0.5
	find(t, blind, MLR{})
	r := find(t, told, MLR{Min: 1000, Max: capacityMax, Start: 430_000})
	for _, g := range r.Goals {
		if g.Irregular != "" || !within(g.Throughput, told.capacity, 0.01) {
			t.Errorf("goal (%v): got %v (%s), want %v", g.Goal, g.Throughput, g.Irregular, told.capacity)
		}
	}
	if told.trials >= blind.trials {
		t.Errorf("got %d trials from a start near the capacity, %d from the highest load", told.trials, blind.trials)
	}
}

// RFC 2544's goal gives what a plain binary search does.
func TestMLRIsRFC2544(t *testing.T) {
	d := newDUT(345_678, 1)
	got := find(t, d, MLR{Goals: []Goal{{Width: 0.001, InitialDuration: time.Minute, FinalDuration: time.Minute, DurationSum: time.Minute}}}).Goals[0]
	if got.Irregular != "" || float64(got.Lower) > d.capacity || float64(got.Upper) < d.capacity || got.Throughput != float64(got.Lower) {
		t.Errorf("got %+v, want bounds around %v and the lower one as throughput", got, d.capacity)
	}
}

func TestMLRError(t *testing.T) {
	broken := errors.New("the link is down")
	d := newDUT(1_000_000, 1)
	m := MLR{Goals: threeGoals(time.Second), Min: 1000, Max: capacityMax}
	r, err := m.Search(context.Background(), func(ctx context.Context, tr Trial) (Outcome, error) {
		if d.trials == 9 {
			return Outcome{}, broken
		}
		return d.measure(ctx, tr)
	})
	if !errors.Is(err, broken) || len(r.Records) != 9 || len(r.Goals) != 3 || !within(r.Goals[0].Throughput, d.capacity, 0.05) {
		t.Errorf("got %v, %d trials, goals %+v", err, len(r.Records), r.Goals)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := m.Search(ctx, d.measure); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v", err)
	}
	none := func(context.Context, Trial) (Outcome, error) { return Outcome{}, nil }
	if _, err := m.Search(context.Background(), none); err == nil {
		t.Error("no frame sent: got no error")
	}
}

func TestMLRValidate(t *testing.T) {
	good := MLR{Goals: threeGoals(time.Second), Min: 1000, Max: capacityMax}
	cases := []func(*MLR){
		func(m *MLR) { m.Goals = nil },
		func(m *MLR) { m.Min = 0 },
		func(m *MLR) { m.Max = 999 },
		func(m *MLR) { m.Start = 999 },
		func(m *MLR) { m.Budget = -1 },
		func(m *MLR) { m.Goals[0].LossRatio = 1 },
		func(m *MLR) { m.Goals[0].LossRatio = math.NaN() },
		func(m *MLR) { m.Goals[0].ExceedRatio = 1 },
		func(m *MLR) { m.Goals[0].Width = 0 },
		func(m *MLR) { m.Goals[0].FinalDuration = 0 },
		func(m *MLR) { m.Goals[0].DurationSum = time.Millisecond },
		func(m *MLR) { m.Goals[0].InitialDuration = time.Minute },
		func(m *MLR) { m.Min, m.Goals[0].InitialDuration = 1000, time.Microsecond },
	}
	for i, spoil := range cases {
		bad := good
		bad.Goals = threeGoals(time.Second)
		spoil(&bad)
		if _, err := bad.Search(context.Background(), newDUT(1e6, 1).measure); err == nil {
			t.Errorf("case %d: got no error for %+v", i, bad)
		}
	}
}

// check fails unless a result is what its own records say.
func check(m MLR, r Result) error {
	known := byLoad{}
	for _, rec := range r.Records {
		if rec.Disturbed {
			continue
		}
		if rec.Load < m.Min || rec.Load > m.Max {
			return fmt.Errorf("trial at %d frames/s, outside of %d to %d", rec.Load, m.Min, m.Max)
		}
		known[rec.Load] = append(known[rec.Load], rec)
	}
	for _, g := range r.Goals {
		if g.Irregular == OutOfTime && m.Budget == 0 {
			return fmt.Errorf("goal (%v): out of time, but there is no budget", g.Goal)
		}
		if g.Irregular == OutOfTime {
			continue
		}
		b := known.bounds(g.Goal)
		if b != (bounds{g.Lower, g.Upper}) {
			return fmt.Errorf("goal (%v): got bounds %d to %d, but the trials say %v", g.Goal, g.Lower, g.Upper, b)
		}
		if g.Irregular == "" && !b.within(g.Width) {
			return fmt.Errorf("goal (%v): regular, but %d to %d", g.Goal, g.Lower, g.Upper)
		}
		if least := float64(g.Lower) * (1 - g.LossRatio); g.Throughput < least-1e-6 || g.Throughput > float64(g.Lower) {
			return fmt.Errorf("goal (%v): throughput %v at the lower bound %d", g.Goal, g.Throughput, g.Lower)
		}
	}
	return nil
}

// Whatever trials return, a search ends, within its loads, and says what they say.
func FuzzMLR(f *testing.F) {
	f.Add([]byte{0}, uint64(1000), uint64(1_000_000))
	f.Add([]byte{255, 0, 255}, uint64(1), uint64(1))
	f.Add([]byte("lossinversion"), uint64(50), uint64(70))
	f.Add([]byte("\x01\a0Y\x03"), uint64(913), uint64(1_000_000_000)) // a goal that was reached is lost again
	f.Add([]byte{0, 128, 1, 7, 0, 0, 200, 3}, uint64(1000), uint64(1e9))
	f.Fuzz(func(t *testing.T, script []byte, low, high uint64) {
		if len(script) == 0 {
			return
		}
		low, high = 1+low%1e9, 1+high%1e9
		m := MLR{Goals: threeGoals(4 * time.Second), Min: min(low, high), Max: max(low, high), Tolerated: Tolerated}
		m.Goals[1].ExceedRatio, m.Goals[2].FinalDuration, m.Goals[2].DurationSum = 0, 6*time.Second, 30*time.Second
		turn := 0
		r, err := m.Search(context.Background(), func(_ context.Context, tr Trial) (Outcome, error) {
			if turn++; turn > 20_000 {
				return Outcome{}, errors.New("the search does not end")
			}
			intended := max(1, uint64(float64(tr.Load)*tr.Duration.Seconds()))
			bad := uint64(script[turn%len(script)])
			return Outcome{Intended: intended, Sent: intended, Received: intended - intended*bad/255}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := check(m, r); err != nil {
			t.Error(err)
		}
	})
}
