package clock_test

import (
	"context"
	"slices"
	"testing"
	"testing/quick"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi/clock"
	"github.com/plumbline-upf/plumbline/nfapi/clock/clocktest"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
)

type tick struct {
	n    slot.Number
	late time.Duration
}

// start runs a clock on time of its own; stop ends it.
func start(t *testing.T, c clock.Clock, line clock.Timeline, f func(slot.Number, time.Duration)) (stop func() clock.Stats) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan clock.Stats, 1)
	go func() { done <- c.Run(ctx, line, f) }()
	t.Cleanup(cancel)
	return func() clock.Stats {
		cancel()
		return <-done
	}
}

func TestRunOnTime(t *testing.T) {
	for mu := range slot.MaxNumerology + 1 {
		source := clocktest.New()
		var got []tick
		last := slot.Number(mu.PerCycle() - 1)
		line := clock.Timeline{Numerology: mu, Epoch: source.Now().Add(mu.Duration()), Start: last}
		stop := start(t, clock.Clock{Source: source}, line, func(n slot.Number, late time.Duration) { got = append(got, tick{n, late}) })
		source.Advance(3 * mu.Duration())
		s := stop()
		if want := []tick{{last, 0}, {0, 0}, {1, 0}}; !slices.Equal(got, want) {
			t.Errorf("mu %d: got %v, want %v", mu, got, want)
		}
		if want := (clock.Stats{Ticks: 3}); s != want {
			t.Errorf("mu %d: got %+v, want %+v", mu, s, want)
		}
	}
}

// TestStall: what is within the burst is run late and in order, what is beyond is left
// out.
func TestStall(t *testing.T) {
	const slotTime = 500 * time.Microsecond
	for _, test := range []struct {
		name  string
		stall time.Duration
		want  []tick
		stats clock.Stats
	}{
		{
			name: "less than a slot", stall: slotTime - 1,
			want:  []tick{{0, 0}, {1, 0}, {2, 0}},
			stats: clock.Stats{Ticks: 3},
		},
		{
			name: "three slots and a half", stall: 7 * slotTime / 2,
			want:  []tick{{0, 0}, {1, 5 * slotTime / 2}, {2, 3 * slotTime / 2}, {3, slotTime / 2}, {4, 0}, {5, 0}},
			stats: clock.Stats{Ticks: 6, Late: 2, MaxLate: 5 * slotTime / 2},
		},
		{
			name: "a burst and one more", stall: 6*slotTime + slotTime/2,
			want:  []tick{{0, 0}, {7, 0}, {8, 0}},
			stats: clock.Stats{Ticks: 3, Stalls: 1, Skipped: 6, MaxLate: 5*slotTime + slotTime/2},
		},
		{
			name: "more than an SFN cycle", stall: slot.Cycle + 10*slotTime,
			want:  []tick{{0, 0}, {11, 0}, {12, 0}},
			stats: clock.Stats{Ticks: 3, Stalls: 1, Skipped: 20490, MaxLate: slot.Cycle + 9*slotTime},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			source := clocktest.New()
			line := clock.Timeline{Numerology: 1, Epoch: source.Now().Add(slotTime)}
			var got []tick
			stop := start(t, clock.Clock{Source: source, Burst: 4}, line, func(n slot.Number, late time.Duration) {
				if got = append(got, tick{n, late}); len(got) == 1 {
					source.Jump(test.stall)
				}
			})
			source.Advance(slotTime)
			source.Advance(2 * slotTime)
			s := stop()
			if !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
			if s != test.stats {
				t.Errorf("got %+v, want %+v", s, test.stats)
			}
		})
	}
}

// TestTicksTooLong: ticks that take longer than a slot do not keep the thread awake for
// good.
func TestTicksTooLong(t *testing.T) {
	const slotTime, burst = time.Millisecond, 4
	source := clocktest.New()
	awake, most := 0, 0
	watched := &watchedSource{Source: source, slept: func() { awake = 0 }}
	line := clock.Timeline{Epoch: source.Now().Add(slotTime)}
	stop := start(t, clock.Clock{Source: watched, Burst: burst}, line, func(slot.Number, time.Duration) {
		awake++
		most = max(most, awake)
		source.Jump(slotTime)
	})
	source.Advance(100 * slotTime)
	s := stop()
	if most > burst+1 {
		t.Errorf("%d ticks without sleep, want %d at most", most, burst+1)
	}
	if s.Stalls == 0 || s.Skipped == 0 {
		t.Errorf("got %+v, want stalls", s)
	}
}

type watchedSource struct {
	*clocktest.Source
	slept func()
}

func (w *watchedSource) Sleep(ctx context.Context, t time.Time) {
	w.Source.Sleep(ctx, t)
	w.slept()
}

func TestTimeline(t *testing.T) {
	epoch := time.Unix(1000, 0)
	line := clock.Timeline{Numerology: 1, Epoch: epoch, Start: 20479}
	for _, test := range []struct {
		after  time.Duration
		n      slot.Number
		into   time.Duration
		micros uint32
	}{
		{0, 20479, 0, 10_239_500},
		{499_999, 20479, 499_999, 10_239_999},
		{500_000, 0, 0, 0},
		{-1, 20478, 499_999, 10_239_499},
		{-500_000, 20478, 0, 10_239_000},
		{slot.Cycle + 700_000, 0, 200_000, 200},
		{-slot.Cycle, 20479, 0, 10_239_500},
	} {
		at := epoch.Add(test.after)
		if n, into := line.Slot(at); n != test.n || into != test.into {
			t.Errorf("%v: got slot %d, %v, want %d, %v", test.after, n, into, test.n, test.into)
		}
		if got := line.Micros(at); got != test.micros {
			t.Errorf("%v: got %d us, want %d", test.after, got, test.micros)
		}
	}
}

// TestBegin: a slot begins as far from now as it is away in slots.
func TestBegin(t *testing.T) {
	epoch := time.Unix(1000, 0)
	check := func(m uint8, startAt uint16, after int64, away int16) bool {
		mu := slot.Numerology(m % 4)
		line := clock.Timeline{Numerology: mu, Epoch: epoch, Start: slot.Number(int(startAt) % mu.PerCycle())}
		now := epoch.Add(time.Duration(after % int64(24*time.Hour)))
		n, into := line.Slot(now)
		d := int(away) % (mu.PerCycle() / 2)
		want := now.Add(-into).Add(time.Duration(d) * mu.Duration())
		return line.Begin(mu.Add(n, d), now).Equal(want)
	}
	if err := quick.Check(check, nil); err != nil {
		t.Error(err)
	}
}

// TestSystemClock: slots come in order, never before their time, on whatever machine.
func TestSystemClock(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	line := clock.Timeline{Numerology: 1, Epoch: time.Now()}
	var ticks int
	var last int64 = -1
	s := clock.Clock{Started: func(err error) { t.Logf("real time: %v", err) }}.Run(ctx, line, func(n slot.Number, late time.Duration) {
		at := time.Since(line.Epoch)
		index := int64((at - late) / line.Numerology.Duration())
		if late < 0 || index < last || at < time.Duration(n)*line.Numerology.Duration() {
			t.Errorf("slot %d at %v, late %v, after slot %d", n, at, late, last)
		}
		last = int64(n)
		if ticks++; ticks == 200 {
			cancel()
		}
	})
	if s.Ticks != 200 {
		t.Errorf("got %+v, want 200 ticks", s)
	}
}

// TestNoAllocations: a slot costs no memory.
func TestNoAllocations(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	source := &steps{now: time.Unix(1000, 0)}
	line := clock.Timeline{Numerology: 3, Epoch: source.now}
	ticks := 0
	got := testing.AllocsPerRun(1, func() {
		ticks = 0
		ctx, cancel := context.WithCancel(ctx)
		clock.Clock{Source: source}.Run(ctx, line, func(slot.Number, time.Duration) {
			if ticks++; ticks == 10_000 {
				cancel()
			}
		})
	})
	if got > 100 {
		t.Errorf("10000 slots allocate %v times", got)
	}
}

// steps is a clock for which no time passes but by sleeping.
type steps struct{ now time.Time }

func (s *steps) Now() time.Time                       { return s.now }
func (s *steps) Sleep(_ context.Context, t time.Time) { s.now = t }
