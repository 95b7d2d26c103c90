package probetest_test

import (
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/probe"
	"github.com/plumbline-upf/plumbline/probe/probetest"
)

// stopped is a place whose forwarder keeps what comes until it is told to go.
func stopped(t *testing.T, name string, c probe.Config) (*place, *watch) {
	t.Helper()
	p := newPlace(t, name, func(*probetest.Config) {})
	c.UPFs = []probe.UPF{p.upf("upf")}
	w := newWatch(t, c, p.inside(0))
	p.forwarder.Stop()
	return p, w
}

// has waits until the forwarder has had so many uplink packets.
func (p *place) has(t *testing.T, uplink int) {
	t.Helper()
	if !await(func() bool { return len(p.forwarder.Uplink()) >= uplink }) {
		t.Fatalf("the forwarder has had %d uplink packets, want %d", len(p.forwarder.Uplink()), uplink)
	}
}

func (p *place) sendUp(t *testing.T, kind *probetest.Traffic, first, count int) {
	t.Helper()
	must(t, p.up.Send(kind, probetest.Ends{From: ue4, To: server4}, first, count))
}

// exit wants the counts of the uplink's exit.
func (w *watch) exit(t *testing.T, want passed) {
	t.Helper()
	var got passed
	if !await(func() bool { got = w.points(t, probe.Out, probe.N6); return got == want }) {
		t.Errorf("exit %+v, want %+v", got, want)
	}
}

// TestAmbiguous sends packets that nobody can tell from each other. While several are in
// the UPF all of them are ambiguous; one after the other they are not.
func TestAmbiguous(t *testing.T) {
	for _, kind := range []probetest.Traffic{probetest.Identical, probetest.Tail} {
		t.Run(kind.Name, func(t *testing.T) {
			p, w := stopped(t, "probe-ambiguous", probe.Config{Timeout: ample})
			p.sendUp(t, &kind, 0, 5)
			p.sendUp(t, &probetest.Kinds[0], 0, 3)
			p.has(t, 8)
			w.wants(t, probe.Uplink, probe.Account{In: 8, Ambiguous: 5, InFlight: 3})
			p.forwarder.Go()
			w.wants(t, probe.Uplink, probe.Account{In: 8, Ambiguous: 5, Matched: 3})
			w.exit(t, passed{Packets: 8, AmbiguousOut: 5})

			for i := range 4 {
				p.sendUp(t, &kind, i, 1)
				w.wants(t, probe.Uplink, probe.Account{In: 9 + uint64(i), Ambiguous: 5, Matched: 4 + uint64(i)})
			}
			w.exit(t, passed{Packets: 12, AmbiguousOut: 5})
		})
	}
}

// TestAmbiguousLost has some of the packets that cannot be told apart stay in the UPF for
// good. They are ambiguous all the same, and what comes after the timeout is not.
func TestAmbiguousLost(t *testing.T) {
	const timeout = time.Second
	p, w := stopped(t, "probe-ambiguous-lost", probe.Config{Timeout: timeout})
	p.sendUp(t, &probetest.Identical, 0, 3)
	p.has(t, 3)
	w.wants(t, probe.Uplink, probe.Account{In: 3, Ambiguous: 3})
	time.Sleep(timeout + 10*time.Millisecond) // from the last one on
	p.sendUp(t, &probetest.Identical, 0, 1)
	p.has(t, 4)
	if got := w.account(t, probe.Uplink); got.Ambiguous != 3 || got.In != 4 {
		t.Errorf("account %+v, want one that is not ambiguous", got)
	}
	w.wants(t, probe.Uplink, probe.Account{In: 4, Ambiguous: 3, Lost: 1})
}

// TestLost keeps packets for longer than the timeout. They are lost, and unmatched when
// they leave.
func TestLost(t *testing.T) {
	p, w := stopped(t, "probe-lost", probe.Config{Timeout: 100 * time.Millisecond})
	p.sendUp(t, &probetest.Kinds[0], 0, 500)
	p.has(t, 500)
	w.wants(t, probe.Uplink, probe.Account{In: 500, Lost: 500})
	p.forwarder.Go()
	w.exit(t, passed{Packets: 500, Unmatched: 500})
	w.wants(t, probe.Uplink, probe.Account{In: 500, Lost: 500})
}

// TestEvicted has more packets in the UPF than the table has room for.
func TestEvicted(t *testing.T) {
	const room, count = 256, 4000
	p, w := stopped(t, "probe-evicted", probe.Config{InFlight: room, Timeout: ample})
	p.up.Burst = 50
	p.sendUp(t, &probetest.Kinds[0], 0, count)
	p.has(t, count)
	var full probe.Account
	await(func() bool { full = w.account(t, probe.Uplink); return full.In == count })
	if full.InFlight == 0 || full.InFlight > 2*room || full.InFlight+full.Evicted != count {
		t.Fatalf("account %+v, want %d packets in the table or evicted, and about %d of them in it", full, count, room)
	}
	p.forwarder.Go()
	w.wants(t, probe.Uplink, probe.Account{In: count, Matched: full.InFlight, Evicted: full.Evicted})
	w.exit(t, passed{Packets: count, Unmatched: full.Evicted})
}

// TestSlices has two UPFs with the same UE addresses and TEIDs, three slices in each, and
// the same packets through both at the same time. Each has its own account.
func TestSlices(t *testing.T) {
	var places []*place
	c := probe.Config{Timeout: ample, Slices: []probe.Slice{{Name: "eMBB", SST: 1}, {Name: "URLLC", SST: 2}, {Name: "mMTC", SST: 3}}}
	var points []probe.Point
	for i := range 2 {
		p := newPlace(t, fmt.Sprintf("probe-slices-%d", i), func(*probetest.Config) {})
		places = append(places, p)
		c.UPFs = append(c.UPFs, p.upf(fmt.Sprintf("upf%d", i)))
		points = append(points, p.inside(i)...)
	}
	w := newWatch(t, c, points)
	const count = 300 // of the first slice; twice and three times as many of the others
	at := uint32(firstUplink)
	for s := range 3 {
		for range count * (s + 1) {
			for upf := range 2 {
				mustBe(t, w.Learn(upf, probe.Key{TEID: at}, c.Slices[s]))
			}
			at++
		}
	}
	for s := range 3 {
		ends := probetest.Ends{From: netip.AddrFrom4([4]byte{10, 64, 1, byte(1 + s)}), To: server4}
		var sending sync.WaitGroup
		for _, p := range places {
			sending.Go(func() { mustBe(t, p.up.Send(&probetest.Kinds[0], ends, 0, count*(s+1))) })
		}
		sending.Wait()
		ends.From, ends.To = ends.To, ends.From // its slice is known from what it has sent
		for _, p := range places {
			sending.Go(func() { mustBe(t, p.down.Send(&probetest.Kinds[0], ends, 0, count*(s+1)/2)) })
		}
		sending.Wait()
	}
	type series struct {
		upf, slice string
		direction  probe.Direction
	}
	want := map[series]uint64{}
	for s := range 3 {
		for upf := range 2 {
			name := fmt.Sprintf("upf%d", upf)
			want[series{name, c.Slices[s].Name, probe.Uplink}] = uint64(count * (s + 1))
			want[series{name, c.Slices[s].Name, probe.Downlink}] = uint64(count * (s + 1) / 2)
		}
	}
	var wrong string
	if !await(func() bool {
		wrong = ""
		for _, one := range w.read(t).Series {
			n := want[series{one.UPF, one.Slice, one.Direction}]
			one.Octets = 0
			if (one.Account != probe.Account{In: n, Matched: n}) || one.Delay.TotalCount() != int64(n) {
				wrong += fmt.Sprintf("%s %q %v: %+v, %d delays, want %d\n", one.UPF, one.Slice, one.Direction, one.Account, one.Delay.TotalCount(), n)
			}
		}
		return wrong == ""
	}) {
		t.Error(wrong)
	}
	if got := len(w.read(t).Series); got < len(want) {
		t.Errorf("%d series, want %d", got, len(want))
	}
}
