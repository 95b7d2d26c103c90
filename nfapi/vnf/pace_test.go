package vnf

import (
	"fmt"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi/slot"
)

// TestPace: late ticks are known by those before them, clocks may drift apart by 200 ppm,
// and a clock that was set is followed after a while.
func TestPace(t *testing.T) {
	const mu, most = slot.Numerology(1), 15 * time.Millisecond
	var p pace
	at, n := time.Unix(1_000_000, 0), slot.Number(20000)
	step := func(d time.Duration) time.Duration {
		n, at = mu.Add(n, 1), at.Add(d)
		return p.waited(mu, n, at, most)
	}
	for range 100_000 { // over the end of the SFN cycle, and long enough to drift by a window
		if got := step(mu.Duration() + 100*time.Nanosecond); got > 100*time.Microsecond {
			t.Fatalf("slot %d of a slow clock: waited %v", n, got)
		}
	}
	for range 100_000 {
		if got := step(mu.Duration() - 100*time.Nanosecond); got > 100*time.Microsecond {
			t.Fatalf("slot %d of a fast clock: waited %v", n, got)
		}
	}
	if got := step(mu.Duration() + 2*time.Second); got < 2*time.Second-time.Millisecond || got > 2*time.Second+time.Millisecond {
		t.Errorf("behind 2 s: waited %v", got)
	}
	believed := 0
	for i := range 4000 {
		if step(mu.Duration()) > most {
			believed = i + 1
		}
	}
	if want := int(paceSet / mu.Duration()); believed < want-10 || believed > want+10 {
		t.Errorf("a clock set back by 2 s was believed after %d slots, want %d", believed, want)
	}
}

// TestStoodStillAlone: without node sync as well, ticks that have waited while this process
// stood still schedule nothing, but for those that may be in time; and then it goes on.
func TestStoodStillAlone(t *testing.T) {
	const mu = slot.Numerology(1)
	for _, stood := range []time.Duration{100 * time.Millisecond, 2 * time.Second, 6 * time.Second} {
		t.Run(fmt.Sprint(stood), func(t *testing.T) {
			r := newRig(t, mu, SlotAhead{})
			r.resync = -1
			n, due := slot.Number(20000), r.time
			ticks := func(count int) { // one when it is due, or as fast as they are taken
				for range count {
					n, due = mu.Add(n, 1), due.Add(mu.Duration())
					if r.time = r.time.Add(2 * time.Microsecond); r.time.Before(due) {
						r.time = due
					}
					r.tick(n)
				}
			}
			ticks(200)
			if got := len(r.mac.scheduled); got != 200 {
				t.Fatalf("got %d slots of 200", got)
			}
			r.mac.scheduled = nil
			r.time = r.time.Add(stood)
			waiting := int(stood / mu.Duration())
			more := waiting/200 + 1 // that come meanwhile
			ticks(waiting + more)
			window := int(r.cell.TimingWindow)
			if got, most := len(r.mac.scheduled), window+1+more; got == 0 || got > most {
				t.Errorf("got %d slots of %d whose ticks had waited, want 1 to %d", got, waiting, most)
			}
			if r.mac.scheduled = nil; int(r.count.Skipped) < waiting-window {
				t.Errorf("%d of %d were left out", r.count.Skipped, waiting)
			}
			ticks(200)
			if got := len(r.mac.scheduled); got != 200 {
				t.Errorf("then got %d slots of 200", got)
			}
		})
	}
}
