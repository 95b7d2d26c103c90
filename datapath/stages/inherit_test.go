package stages

import (
	"math"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// TestClocks: a moment is as long ago by one clock as by the other.
func TestClocks(t *testing.T) {
	for _, tc := range []struct{ from, to, at, want uint64 }{
		{1000, 50, 990, 40},
		{50, 1000, 40, 990},
		{1000, 50, 900, 0},   // before the other clock began
		{1000, 50, 1001, 50}, // another CPU's clock was ahead
		{1000, 50, 0, 0},     // never
		{5, math.MaxUint64, 5, math.MaxUint64},
	} {
		if got := (clocks{tc.from, tc.to}).at(tc.at); got != tc.want {
			t.Errorf("%d at %d by a clock that says %d: got %d, want %d", tc.at, tc.from, tc.to, got, tc.want)
		}
	}
}

// TestInheritDelay: a Downlink Data Notification Delay goes on, and what it is about is
// told once, by the next datapath; not if the FAR forwards there before.
func TestInheritDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before, b := newBufferBed(t, DefaultBufferLimits), newBufferBed(t, DefaultBufferLimits)
		before.frame(1, 100)
		before.frame(2, 100)
		time.Sleep(400 * time.Millisecond)
		if got := b.Inherit(before.Stages()); got != (Inherited{Packets: 2}) {
			t.Errorf("got %+v, want 2 packets", got)
		}
		b.frame(1, 100)
		b.apply(t, 2, api.Action_FORW)
		if e := b.event(); e != nil {
			t.Errorf("after 400 ms: %v, want nothing", e)
		}
		time.Sleep(101 * time.Millisecond)
		if e := b.event(); e.GetKind() != api.EventKind_DOWNLINK_DATA || e.GetSeid() != 1 {
			t.Errorf("after 501 ms: %v, want DOWNLINK_DATA of session 1", e)
		}
		time.Sleep(time.Hour)
		if e, old := b.event(), before.event(); e != nil || old != nil {
			t.Errorf("after an hour: %v, by the one of before %v, want nothing", e, old)
		}
		if b.apply(t, 1, api.Action_FORW); b.sent != 3 || before.sent != 0 {
			t.Errorf("%d packets left, %d the one of before, want 3 and 0", b.sent, before.sent)
		}
	})
}

// TestInheritAge: a packet waits no longer in two buffers than in one, by whatever clocks.
func TestInheritAge(t *testing.T) {
	limits := bounds(8, 1<<20, 8, 1<<20)
	before, b := newBufferBed(t, limits), newBufferBed(t, limits)
	before.now, b.now = uint64(9*time.Hour), uint64(3*time.Hour)
	before.frame(1, 100)
	before.now += uint64(40 * time.Minute)
	b.Inherit(before.Stages())
	b.now += uint64(20*time.Minute) - 1
	if b.Sweep(); b.Buffered().Packets != 1 {
		t.Errorf("just before an hour: %d packets wait, want 1", b.Buffered().Packets)
	}
	b.now++
	if b.Sweep(); b.Buffered().Packets != 0 || b.drops(datapath.DropBufferAge) != 1 {
		t.Errorf("after an hour: %d packets wait, %d dropped for their age", b.Buffered().Packets, b.drops(datapath.DropBufferAge))
	}
}

// TestInheritNoSession: packets of a session that is not there are dropped and counted.
func TestInheritNoSession(t *testing.T) {
	before, b := newBufferBed(t, DefaultBufferLimits), newBufferBed(t, DefaultBufferLimits)
	before.frame(1, 100)
	if err := b.Apply(t.Context(), &api.Change{Seid: 1}); err != nil {
		t.Fatal(err)
	}
	got := b.Inherit(before.Stages())
	if got != (Inherited{Dropped: 1}) || b.drops(datapath.DropBufferEnd) != 1 || b.Buffered().Sessions != 0 {
		t.Errorf("got %+v, %d counted, %+v waits", got, b.drops(datapath.DropBufferEnd), b.Buffered())
	}
}

// TestInheritNAT: mappings are the same behind a move: ports, what is known of a
// connection, how long they last. What has no place is told, and leaves nothing behind.
func TestInheritNAT(t *testing.T) {
	const start, now = uint64(time.Hour), uint64(10 * time.Hour)
	outside := uint32(192<<24 | 2<<8 | 1)
	from := newTestNAT(4, 2, 10, nil)
	open := func(protocol byte, ue uint32, port uint16) {
		t.Helper()
		if _, reason := from.Out(natPacket(protocol, ue, outsideHost, port, 9, tcpSYN), start); reason != datapath.ReasonNone {
			t.Fatal(reason)
		}
	}
	open(inet.ProtoTCP, insideUE, 1000)
	open(inet.ProtoUDP, insideUE, 1001)
	open(inet.ProtoUDP, insideUE, 1002)
	open(inet.ProtoUDP, insideUE, 1003) // in another block
	open(inet.ProtoTCP, insideUE+1, 1000)
	if _, reason := from.In(natPacket(inet.ProtoTCP, outsideHost, outside, 9, 2000, tcpSYN), start); reason != datapath.ReasonNone {
		t.Fatal(reason) // the connection stands
	}
	told := 0
	to := newTestNAT(4, 2, 10, func(PortBlock, bool) { told++ })
	for range 2 { // as after a move that failed
		kept, lost := to.inherit(from, clocks{start, now})
		if mappings, ues := to.Mappings(); kept%5 != 0 || lost != 0 || mappings != 5 || ues != 2 {
			t.Errorf("%d kept, %d lost: %d mappings of %d UEs, want 5 of 2", kept, lost, mappings, ues)
		}
	}
	before, _ := from.Blocks()
	if used, _ := to.Blocks(); used != before || told != 0 {
		t.Errorf("%d blocks, told of %d; want %d and none", used, told, before)
	}
	for k, m := range from.out {
		if got := to.out[k]; got == nil || got == m || got.Outside != m.Outside || got.OutsidePort != m.OutsidePort || got.State != m.State || got.Last != now {
			t.Errorf("%+v: got %+v, want %+v", k, got, m)
		}
	}
	to.Expire(now + uint64(6*time.Minute))
	if mappings, ues := to.Mappings(); mappings != 1 || ues != 1 {
		t.Errorf("%d mappings of %d UEs after 6 minutes, want that of the connection that stands", mappings, ues)
	}

	small := newTestNAT(4, 2, 2, nil)
	kept, lost := small.inherit(from, clocks{start, now})
	if mappings, _ := small.Mappings(); kept != 2 || lost != 3 || mappings != 2 {
		t.Errorf("room for 2: %d kept, %d lost, %d there", kept, lost, mappings)
	}
	small.Expire(now + uint64(24*time.Hour))
	if used, _ := small.Blocks(); used != 0 || len(small.ues) != 0 {
		t.Errorf("%d blocks, %d UEs are left", used, len(small.ues))
	}
}

// TestInheritNames: a name that was known is known, one of which a half had come is
// completed, and the learner knows of both.
func TestInheritNames(t *testing.T) {
	const request, head, rest = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", "GET /b HTTP/1.1\r\n", "Host: b.test\r\n\r\n"
	old, l := newLearned(), newLearned()
	from, n := NewNames(old), NewNames(l)
	from.say(1, 7, 1, tcpACK, request, 90)
	from.say(1, 8, 1, tcpACK, head, 91)
	old.used[7] = 99 // by the fast path
	n.inherit(from, clocks{100, 1000})
	known := NamedFlow{1, netip.AddrFrom4([4]byte{1}), netip.AddrFrom4([4]byte{2}), 443, 7, false}
	if said := l.said[known]; len(l.said) != 1 || !said.Match("a.test", "") {
		t.Errorf("the learner knows %+v, want a.test alone", l.said)
	}
	if front := n.all.Front().Value.(*namedFlow); front.key != known || front.seenNs != 1000 {
		t.Errorf("seen last: %+v, want port 7 at 1000", front)
	}
	if name, ok := n.say(1, 7, 500, tcpACK, "", 1001); !ok || name.host != "a.test" {
		t.Errorf("got %+v, %t, want a.test", name, ok)
	}
	if name, ok := n.say(1, 8, 1+uint32(len(head)), tcpACK, rest, 1002); !ok || name.host != "b.test" {
		t.Errorf("got %+v, %t, want b.test", name, ok)
	}
	n.Forget(1)
	if len(n.flows)+n.all.Len()+n.partial.Len()+len(l.said) != 0 {
		t.Errorf("%d flows, %d partial, %d learnt are left", len(n.flows), n.partial.Len(), len(l.said))
	}
}

// TestInheritStations: MAC addresses are known, and not told anew; they age as they would
// have.
func TestInheritStations(t *testing.T) {
	before, l := newLAN(), newLAN()
	before.install(t, etherSession(1))
	l.install(t, etherSession(1))
	before.now, l.now = uint64(time.Hour), uint64(5*time.Hour)
	before.up(1, ether(0x99, 7, 0x88b5, ""))
	before.now += uint64(stationAge) / 2
	l.Inherit(before.Stages())
	if outs := l.FromEthernet(2, ether(7, 9, 0x88b5, "")); len(outs) != 1 || outs[0].Reason != datapath.ReasonNone {
		t.Errorf("to the station: got %+v", outs)
	}
	l.now += uint64(stationAge) / 2
	l.stages.Age()
	e, err := l.Next(t.Context())
	if err != nil || len(e.GetMacsRemoved()) != 1 || len(e.GetMacsDetected()) != 0 {
		t.Errorf("got %v, %v: want that one address was removed, and none detected", e, err)
	}
}
