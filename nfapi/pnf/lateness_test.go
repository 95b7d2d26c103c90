package pnf

import (
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/nfapi/stopwatch"
)

// TestLateness: each of the last ticks is known, also those that were left out and where
// the SFN comes round; older ones are not.
func TestLateness(t *testing.T) {
	l := lateness{mu: 1}
	l.tick(20470, 3*time.Microsecond, 0)
	l.tick(1, 700*time.Microsecond, 10)
	for n, want := range map[slot.Number]time.Duration{
		20470: 3 * time.Microsecond, 1: 700 * time.Microsecond, 0: 1200 * time.Microsecond, 20479: 1700 * time.Microsecond, 20471: 5700 * time.Microsecond,
		2: 0, 20469: 0, 20470 - latenessTicks: 0, 1 + latenessTicks: 0,
	} {
		if got := l.of(n); got != want {
			t.Errorf("slot %d: got %v, want %v", n, got, want)
		}
	}
	l.tick(5000, time.Second, 4000)
	if got, want := l.of(4900), time.Second+100*l.mu.Duration(); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestLateByClock: a request that is late is the clock's fault if SLOT.indication was
// late by as much, and nobody else's; with a clock on time it is not.
func TestLateByClock(t *testing.T) {
	const mu = slot.Numerology(1)
	for stall, want := range map[int]uint64{0: 0, 5: 1} {
		b := newBed(t, mu, 0)
		b.layer.working = func(n slot.Number) {
			if n == 0 && stall > 0 {
				b.time.Jump(time.Duration(stall) * mu.Duration())
			}
		}
		b.start()
		b.slots(2)
		b.slots(1 + 5 - stall) // slot 5 has begun
		b.slots(1)
		b.request(ulTTI(mu, 4)) // its SLOT.indication was that of tick 1
		got := b.phy.watch.Snapshot("").Message(nfapi.MsgULTTIRequest).Counts
		if got.Late != 1 || got.LateByClock != want {
			t.Errorf("after a stall of %d slots: got %+v, want %d late by the clock", stall, got, want)
		}
	}
}

// TestLateBySending: a clock's thread that wakes on time, and is held up before it has sent
// SLOT.indication, is late by that.
func TestLateBySending(t *testing.T) {
	const mu, held = slot.Numerology(1), 5
	b := newBed(t, mu, 0)
	b.wire.flushing = func() {
		if done := b.layer.slots; len(done) > 0 && done[len(done)-1].n == 0 { // of tick 1
			b.wire.flushing = nil
			b.time.Jump(held * mu.Duration())
		}
	}
	b.start()
	b.slots(4)              // the last of them is 1
	b.request(ulTTI(mu, 4)) // its SLOT.indication was that of tick 1
	if got := b.phy.watch.Snapshot("").Message(nfapi.MsgULTTIRequest).Counts; got.Late != 1 || got.LateByClock != 1 {
		t.Errorf("got %+v, want 1 late by the clock", got)
	}
}

// TestLateByWaiting: a request that came before its slot began and was read afterwards is
// late by waiting, whatever the clock did; what came afterwards is not, however long it
// waited then.
func TestLateByWaiting(t *testing.T) {
	const mu = slot.Numerology(1)
	late := mu.Duration() / 2 // it is read in the middle of the slot behind its own
	for _, tc := range []struct {
		name   string
		waited time.Duration
		want   stopwatch.Counts
	}{
		{"at once", 0, stopwatch.Counts{Late: 1}},
		{"after its slot began", late + mu.Duration() - time.Microsecond, stopwatch.Counts{Late: 1}},
		{"before it began", late + mu.Duration(), stopwatch.Counts{Late: 1, LateByWaiting: 1}},
	} {
		b := newBed(t, mu, 0)
		b.start()
		b.slots(6) // in the middle of slot 3
		b.waited = tc.waited
		b.request(ulTTI(mu, 2))
		got := b.phy.watch.Snapshot("").Message(nfapi.MsgULTTIRequest)
		if latest := b.phy.running.Load().timing.arrivals[kindOf(nfapi.MsgULTTIRequest)].least; latest != -late-mu.Duration() {
			t.Errorf("%s: TIMING_INFO would have a lead of %v, want that of when it was read", tc.name, latest)
		}
		if got.Counts != tc.want || got.Lead.Max != int64(tc.waited-late-mu.Duration()) || got.Waited.Max != int64(tc.waited) {
			t.Errorf("%s: got %+v, lead %v, waited %v; want %+v", tc.name, got.Counts, got.Lead.Max, got.Waited.Max, tc.want)
		}
	}
}
