package nexthop

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

// TestWaiting: packets to a neighbour that fails are counted once each, whether they
// waited in the kernel or were not let there; those to one that answers are not.
func TestWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Peer{netip.MustParseAddr("10.3.0.1"), netip.MustParseAddr("10.3.0.77")}
		lost := uint64(0)
		w := NewWaiting(func(n uint64) { lost += n })
		tell := func(s State) { w.Tell(map[Peer]Way{p: {Device: 1, State: s}}) }
		send := func(packets int) (admitted int) {
			for range packets {
				if w.Of(p).Admit() {
					admitted++
				}
			}
			return admitted
		}
		for i, step := range []struct {
			state State
			after time.Duration
			send  int
			want  int    // admitted
			lost  uint64 // in all, once the state is there
		}{
			{Unresolved, 0, 5, 5, 0},
			{Resolved, 0, 1000, 1000, 0},
			{Unresolved, 0, 1000, waitingMost, 0},
			{Failed, 0, 10, 0, waitingMost},
			{Failed, tryAgain, 10, 1, waitingMost},
			{Failed, 0, 10, 0, waitingMost + 1},
			{Failed, 3 * tryAgain, 10, 1, waitingMost + 1},
			{Resolved, 0, 1000, 1000, waitingMost + 1},
		} {
			time.Sleep(step.after)
			tell(step.state)
			if lost != step.lost {
				t.Errorf("step %d: %d lost, want %d", i, lost, step.lost)
			}
			if got := send(step.send); got != step.want {
				t.Errorf("step %d: %d of %d packets admitted, want %d", i, got, step.send, step.want)
			}
		}
		tell(Failed)
		w.Forget(p)
		if w.Any() || send(10) != 10 {
			t.Error("a peer that was forgotten is known")
		}
	})
}

// BenchmarkAdmit is what a packet pays: while all neighbours are resolved, and while
// another's is not.
func BenchmarkAdmit(b *testing.B) {
	local := netip.MustParseAddr("10.3.0.1")
	p, other := Peer{local, netip.MustParseAddr("10.3.0.2")}, Peer{local, netip.MustParseAddr("10.3.0.3")}
	for name, state := range map[string]State{"resolved": Resolved, "another unresolved": Unresolved} {
		b.Run(name, func(b *testing.B) {
			w := NewWaiting(func(uint64) {})
			w.Tell(map[Peer]Way{other: {Device: 1, State: state}})
			b.ReportAllocs()
			for b.Loop() {
				w.Of(p).Admit()
			}
		})
	}
}
