package generator

import (
	"context"
	"math"
	"testing"
	"time"
)

var senders = []Sender{Live, XDPSocket, Packet}

func eachSender(t *testing.T, f func(t *testing.T, s Sender)) {
	t.Helper()
	for _, s := range senders {
		t.Run(s.String(), func(t *testing.T) { f(t, s) })
	}
}

// intended sends a load and returns when each of its frames was due, from the first one
// on, and the result.
func intended(t *testing.T, s Sender, l Load) ([]uint64, Result) {
	t.Helper()
	bed := newBed(t, "plt-intended")
	c := config(bed, Downlink, false)
	c.Sender = s
	g := mustNew(t, c)
	link := newCapture(t, bed.N6.UPF)
	result, err := g.Run(context.Background(), l)
	if err != nil {
		t.Fatal(err)
	}
	times := make([]uint64, result.Sent)
	for i := range times {
		stamp, err := DecodeStamp(link.next(t)[14+28:])
		if err != nil {
			t.Fatal(err)
		}
		times[i] = stamp.IntendedNs
		if i > 0 {
			times[i] -= times[0]
		}
	}
	if len(times) > 0 {
		times[0] = 0
	}
	return times, result
}

// TestBurst wants each burst's frames due at one moment, and bursts as far apart as the
// rate says.
func TestBurst(t *testing.T) {
	eachSender(t, func(t *testing.T, s Sender) {
		times, _ := intended(t, s, Load{Rate: 10_000, Burst: 7, Frames: 31, CPU: -1})
		for i, got := range times {
			if want := uint64(i/7) * 700_000; got+1 < want || got > want+1 {
				t.Errorf("frame %d: got %d ns, want %d", i, got, want)
			}
		}
	})
}

// TestRamp holds the intended send times against the integral of the rate: frame n is due
// when the area below a line from 500 to 4000 frames per second is n. In steps of 1/1024
// it is not off by a frame.
func TestRamp(t *testing.T) {
	const from, to, duration = 500.0, 4000.0, 0.4
	eachSender(t, func(t *testing.T, s Sender) {
		times, result := intended(t, s, Load{Rate: from, RampTo: to, Duration: duration * 1e9, CPU: -1})
		if want := (from + to) / 2 * duration; math.Abs(float64(result.Intended)-want) > 2 {
			t.Errorf("got %d intended frames, want %.0f", result.Intended, want)
		}
		for i, got := range times {
			at := float64(got) / 1e9
			if area := from*at + (to-from)/duration*at*at/2; math.Abs(area-float64(i)) > math.Log(to/from)/2+0.1 {
				t.Fatalf("frame %d: due at %v s, where %.2f frames ought to have been", i, at, area)
			}
		}
	})
}

// TestDueWithin compares what is counted with what the schedule does frame by frame.
func TestDueWithin(t *testing.T) {
	for _, l := range []Load{
		{Rate: 777, Duration: time.Second},
		{Rate: 1e6, Duration: 100 * time.Millisecond, Burst: 64},
		{Rate: 1, RampTo: 100_000, Duration: time.Second},
		{Rate: 90_000, RampTo: 3, Duration: time.Second, Burst: 5},
		{Rate: 100, RampTo: 200, Duration: 50 * time.Millisecond},
	} {
		run, ramp := l.schedule(generatorRun{}, 1000)
		m := maker{run: run, ramp: ramp}
		elapsed, frames := l.Duration, uint64(0)
		for {
			next := m.run.StartNs + m.run.Due>>dueShift
			if next >= m.run.EndNs {
				break
			}
			if intended, ok := m.due(next); !ok || intended != next {
				t.Fatalf("%+v: frame %d: due at %d, %v, want %d", l, frames, intended, ok, next)
			}
			frames++
		}
		if got := dueWithin(run, ramp, elapsed); got != frames {
			t.Errorf("%+v: got %d frames, want %d", l, got, frames)
		}
	}
}

func TestParseSender(t *testing.T) {
	for _, want := range senders {
		if got, err := ParseSender(want.String()); err != nil || got != want {
			t.Errorf("%v: got %v, %v", want, got, err)
		}
	}
	if _, err := ParseSender("dpdk"); err == nil {
		t.Error("an unknown sender was accepted")
	}
}
