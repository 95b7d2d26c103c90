package nexthop

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

// waitBed has two peers behind neighbours on a device.
type waitBed struct {
	*Waiting
	near, far Peer
	lost      uint64
}

const waitOctets = 100 // of its packets

func newWaitBed() *waitBed {
	local := netip.MustParseAddr("10.3.0.1")
	b := &waitBed{near: Peer{local, netip.MustParseAddr("10.3.0.77")}, far: Peer{local, netip.MustParseAddr("10.9.9.9")}}
	b.Waiting = NewWaiting(func(n uint64) { b.lost += n })
	return b
}

var router, other = netip.MustParseAddr("10.3.0.254"), netip.MustParseAddr("10.3.0.253")

func (b *waitBed) tell(p Peer, via netip.Addr, s State) {
	b.Tell(map[Peer]Way{p: {Device: 1, Via: via, State: s}})
}

func (b *waitBed) send(p Peer, packets, octets int) (admitted int) {
	for range packets {
		if b.Of(p).Admit(octets) {
			admitted++
		}
	}
	return admitted
}

// TestWaiting: packets to a neighbour that fails are counted once each, whether they
// waited in the kernel or were not let there; those to one that answers are not.
func TestWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newWaitBed()
		for i, step := range []struct {
			state State
			after time.Duration
			send  int
			want  int    // admitted
			lost  uint64 // in all, once the state is there
		}{
			{Unresolved, 0, 5, 5, 0},
			{Resolved, 0, 1000, 1000, 0},
			{Unresolved, 0, 1000, waitingPackets, 0},
			{Failed, 0, 10, 0, waitingPackets},
			{Failed, tryAgain, 10, 1, waitingPackets},
			{Failed, 0, 10, 0, waitingPackets + 1},
			{Failed, 3 * tryAgain, 10, 1, waitingPackets + 1},
			{Resolved, 0, 1000, 1000, waitingPackets + 1},
		} {
			time.Sleep(step.after)
			b.tell(b.near, b.near.Addr, step.state)
			if b.lost != step.lost {
				t.Errorf("step %d: %d lost, want %d", i, b.lost, step.lost)
			}
			if got := b.send(b.near, step.send, waitOctets); got != step.want {
				t.Errorf("step %d: %d of %d packets admitted, want %d", i, got, step.send, step.want)
			}
		}
		b.tell(b.near, b.near.Addr, Failed)
		b.Forget(b.near)
		if b.Any() || b.send(b.near, 10, waitOctets) != 10 {
			t.Error("a peer that was forgotten is known")
		}
	})
}

// TestWaitingTogether: what the kernel keeps is by neighbour and of limited memory; a
// packet that it did not take leaves its place to another.
func TestWaitingTogether(t *testing.T) {
	b := newWaitBed()
	for _, p := range []Peer{b.near, b.far} {
		b.tell(p, router, Unresolved)
	}
	if got := b.send(b.near, 40, waitOctets) + b.send(b.far, 40, waitOctets); got != waitingPackets {
		t.Errorf("%d packets to two peers behind a router admitted, want %d", got, waitingPackets)
	}
	b.Of(b.far).Return(waitOctets)
	if got := b.send(b.near, 2, waitOctets); got != 1 {
		t.Errorf("%d packets admitted in the place of one", got)
	}
	b.Tell(map[Peer]Way{b.near: {Device: 1, Via: router, State: Failed}, b.far: {Device: 1, Via: router, State: Failed}})
	if b.lost != waitingPackets {
		t.Errorf("%d lost, want %d", b.lost, waitingPackets)
	}
	big := newWaitBed()
	big.tell(big.near, router, Unresolved)
	if got := big.send(big.near, 64, 9000); got != waitingOctets/(16384+256) {
		t.Errorf("%d packets of 9000 octets admitted", got)
	}
}

// TestWaitingMoves: what waited for a neighbour that no peer is reached by any more is
// lost; what waited for one that has answered is not.
func TestWaitingMoves(t *testing.T) {
	b := newWaitBed()
	b.tell(b.near, router, Unresolved)
	b.tell(b.far, router, Unresolved)
	b.send(b.near, 5, waitOctets)
	b.tell(b.near, other, Resolved)
	if b.lost != 0 || !b.Any() {
		t.Errorf("%d lost while another peer waits for the router", b.lost)
	}
	b.tell(b.far, other, Unresolved)
	if b.lost != 5 {
		t.Errorf("%d lost, want the 5 that waited for the router", b.lost)
	}
	b.send(b.far, 3, waitOctets)
	b.tell(b.far, other, Resolved)
	if b.lost != 5 || b.Any() || len(b.neighbours) != 0 {
		t.Errorf("%d lost, %d neighbours left", b.lost, len(b.neighbours))
	}
	b.tell(b.far, other, Unresolved)
	b.send(b.far, 3, waitOctets)
	b.Forget(b.far)
	if b.lost != 8 || len(b.neighbours) != 0 {
		t.Errorf("%d lost, %d neighbours left", b.lost, len(b.neighbours))
	}
}

// BenchmarkAdmit is what a packet pays: while all neighbours are resolved, and while
// another's is not.
func BenchmarkAdmit(b *testing.B) {
	for name, state := range map[string]State{"resolved": Resolved, "another unresolved": Unresolved} {
		b.Run(name, func(b *testing.B) {
			w := newWaitBed()
			w.tell(w.far, router, state)
			b.ReportAllocs()
			for b.Loop() {
				w.Of(w.near).Admit(waitOctets)
			}
		})
	}
}
