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

func TestBinary(t *testing.T) {
	lossy := newDUT(1_000_000, 1)
	lossy.loss = 0.001
	slow := newDUT(5_000_000, 1)
	slow.sender = 777_777
	cases := []struct {
		name  string
		d     *dut
		loss  float64
		want  float64
		irreg Irregular
	}{
		{"1 Mpps", newDUT(1_000_000, 1), 0, 1_000_000, ""},
		{"1234 pps", newDUT(1234, 1), 0, 1234, ""},
		{"0.5 % may be lost", newDUT(654_321, 1), 0.005, 654_321, ""},
		{"all passes", newDUT(1e9, 1), 0, capacityMax, AtMax},
		{"nothing passes", lossy, 0, 0, AtMin},
		{"just the lowest passes", newDUT(1001, 1), 0, 1000, ""},
		{"the sender's limit", slow, 0, 777_777, ""},
	}
	for _, tc := range cases {
		b := Binary{Min: 1000, Max: capacityMax, LossRatio: tc.loss, Width: 0.005, Duration: time.Second, Tolerated: Tolerated}
		r, err := b.Search(context.Background(), tc.d.measure)
		if err != nil {
			t.Fatal(err)
		}
		g := r.Goals[0]
		if g.Irregular != tc.irreg || math.Abs(g.Throughput-tc.want) > 0.005*tc.want+1 {
			t.Errorf("%s: got %v (%s), want %v (%s)", tc.name, g.Throughput, g.Irregular, tc.want, tc.irreg)
		}
		if g.Irregular == "" && !(bounds{g.Lower, g.Upper}).within(b.Width) {
			t.Errorf("%s: got bounds %d to %d", tc.name, g.Lower, g.Upper)
		}
		if len(r.Records) > 25 {
			t.Errorf("%s: got %d trials, want 25 at most", tc.name, len(r.Records))
		}
	}
}

func TestBinaryError(t *testing.T) {
	d, broken := newDUT(1_000_000, 1), errors.New("broken")
	b := Binary{Min: 1000, Max: capacityMax, Width: 0.005, Duration: time.Second}
	r, err := b.Search(context.Background(), func(ctx context.Context, tr Trial) (Outcome, error) {
		if d.trials == 4 {
			return Outcome{}, broken
		}
		return d.measure(ctx, tr)
	})
	if !errors.Is(err, broken) || len(r.Records) != 4 || r.Goals[0].Irregular != OutOfTime {
		t.Errorf("got %v, %+v", err, r)
	}
	b.Width = 0
	if _, err := b.Search(context.Background(), d.measure); err == nil {
		t.Error("no width: got no error")
	}
}

func TestSteps(t *testing.T) {
	cases := []struct {
		name     string
		capacity float64
		loss     float64
		want     []uint64
	}{
		{"all passes", 2000, 0, []uint64{1000, 900}},
		{"75 %", 750, 0, []uint64{1000, 900, 800, 700, 600}},
		{"nothing passes", 2000, 0.1, []uint64{1000, 900, 800, 700, 600, 500, 400, 300, 200, 100}},
	}
	for _, tc := range cases {
		d := newDUT(tc.capacity, 1)
		d.loss = tc.loss
		records, err := Steps{Max: 1000, Step: 0.1, Duration: time.Second}.Run(context.Background(), d.measure)
		if err != nil {
			t.Fatal(err)
		}
		var loads []uint64
		for _, r := range records {
			loads = append(loads, r.Load)
			if want := max(tc.loss, 1-tc.capacity/float64(r.Load)); math.Abs(r.Loss-want) > 1e-9 {
				t.Errorf("%s: got loss %v at %d, want %v", tc.name, r.Loss, r.Load, want)
			}
		}
		if !slices.Equal(loads, tc.want) {
			t.Errorf("%s: got loads %v, want %v", tc.name, loads, tc.want)
		}
	}
	if _, err := (Steps{Max: 1000, Step: 0, Duration: time.Second}).Run(context.Background(), newDUT(1, 1).measure); err == nil {
		t.Error("no step: got no error")
	}
}

// buffer is a system that forwards at a part of the rate of the burst and holds so many
// frames; every n-th burst is disturbed.
type buffer struct {
	holds, forwards float64
	every, sent     int
}

func (b *buffer) send(_ context.Context, frames uint64) (Outcome, error) {
	b.sent++
	passes := min(frames, uint64(b.holds/(1-b.forwards)))
	if b.every > 0 && b.sent%b.every == 0 {
		passes--
	}
	return Outcome{Intended: frames, Sent: frames, Received: passes}, nil
}

func TestBurst(t *testing.T) {
	cases := []struct {
		b       buffer
		retries int
		want    uint64
		irreg   Irregular
	}{
		{buffer{holds: 1000}, 0, 1000, ""},
		{buffer{holds: 1000, forwards: 0.9}, 0, 10_000, ""},
		{buffer{holds: 40_000, forwards: 0.5, every: 3}, 1, 80_000, ""},
		{buffer{holds: 1e9}, 0, 1_000_000, AtMax},
		{buffer{holds: 10}, 0, 0, AtMin},
	}
	for _, tc := range cases {
		name := fmt.Sprintf("%+v", tc.b)
		s := Burst{Min: 16, Max: 1_000_000, Step: 16, Retries: tc.retries}
		r, err := s.Search(context.Background(), tc.b.send)
		if err != nil {
			t.Fatal(err)
		}
		if r.Irregular != tc.irreg || r.Longest > tc.want || r.Longest+s.Step < tc.want && tc.irreg == "" {
			t.Errorf("%s: got %d frames (%s), want %d (%s)", name, r.Longest, r.Irregular, tc.want, tc.irreg)
		}
		if r.Irregular == "" && r.Lossy-r.Longest > s.Step {
			t.Errorf("%s: got %d without loss and %d with it", name, r.Longest, r.Lossy)
		}
		if len(r.Records) != tc.b.sent || tc.b.sent > 60 {
			t.Errorf("%s: got %d records of %d bursts", name, len(r.Records), tc.b.sent)
		}
	}
	if _, err := (Burst{Min: 1, Max: 2}).Search(context.Background(), (&buffer{}).send); err == nil {
		t.Error("no step: got no error")
	}
}

func TestBufferTimes(t *testing.T) {
	implied, corrected := BufferTimes(26_000, 14_880_952, 10_000_000)
	if implied != 1_747_200*time.Nanosecond || corrected.Round(time.Microsecond) != 573*time.Microsecond {
		t.Errorf("got %v and %v", implied, corrected)
	}
	if _, corrected := BufferTimes(100, 1000, 2000); corrected != 0 {
		t.Errorf("throughput above the rate: got %v", corrected)
	}
}
