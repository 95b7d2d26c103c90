package stages

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// bufferBed is a UPF with sessions 1 and 2, whose only rule buffers packets to
// the UE address 10.45.0.<SEID>.
type bufferBed struct {
	*UPF
	now  uint64
	sent int
}

func newBufferBed(t *testing.T, limits BufferLimits) *bufferBed {
	b := &bufferBed{now: 1}
	b.UPF = New(Config{
		Endpoints:   []datapath.Endpoint{{Address: netip.MustParseAddr("10.3.0.1")}},
		MaxSessions: 2, Buffer: limits, Now: func() uint64 { return b.now },
		Send: func([]byte) { b.sent++ },
	})
	b.apply(t, 1, api.Action_BUFF)
	b.apply(t, 2, api.Action_BUFF)
	return b
}

func (b *bufferBed) apply(t *testing.T, seid uint64, action api.Action) {
	t.Helper()
	err := b.Apply(context.Background(), &api.Change{Seid: seid, Session: &api.Session{
		Seid: seid,
		Rules: []*api.Rule{{
			PdrId:  1,
			Detect: &api.Detect{SourceInterface: api.Interface_CORE, UeAddress: &api.UEAddress{Ipv4: 0x0a2d0000 | uint32(seid)}},
			Forward: &api.Forward{
				Action: action, Notify: true, BarId: 1,
				OuterHeaderCreation: &api.OuterHeaderCreation{Teid: 1, Ipv4: 1},
			},
		}},
		Bars: []*api.BAR{{Id: 1, NotificationDelayMs: 500}},
	}})
	if err != nil {
		t.Fatal(err)
	}
}

// frame lets a packet of so many octets arrive for a session.
func (b *bufferBed) frame(seid byte, octets int) datapath.Reason {
	f := append(make([]byte, 12), 8, 0)
	ip := make([]byte, octets)
	copy(ip, []byte{0x45, 0, byte(octets >> 8), byte(octets), 0, 0, 0, 0, 64, 17, 0, 0, 198, 18, 0, 1, 10, 45, 0, seid})
	return b.FromN6(append(f, ip...)).Reason
}

func (b *bufferBed) drops(r datapath.Reason) uint64 {
	all, _ := b.Drops()
	return all[r.String()]
}

func bounds(packets, octets, totalPackets, totalOctets int) BufferLimits {
	return BufferLimits{
		Packets: packets, Octets: octets, TotalPackets: totalPackets, TotalOctets: totalOctets, Age: time.Hour, MaxAge: time.Hour,
	}
}

func TestBufferAge(t *testing.T) {
	b := newBufferBed(t, BufferLimits{Packets: 10, Octets: 1 << 20, TotalPackets: 10, TotalOctets: 1 << 20, Age: time.Second})
	for at, n := range []int{2, 3} {
		b.now = uint64(1 + at*600_000_000)
		for range n {
			if r := b.frame(1, 100); r != datapath.PassBuffer {
				t.Fatalf("reason %v", r)
			}
		}
	}
	b.now = 1_100_000_000 // the first two are older than a second
	b.apply(t, 1, api.Action_FORW)
	if b.sent != 3 || b.drops(datapath.DropBufferAge) != 2 {
		t.Errorf("%d released, %d too old; want 3 and 2", b.sent, b.drops(datapath.DropBufferAge))
	}
	u, err := b.Usage(1)
	if err != nil || u.GetRules()[0].GetPackets() != 3 || u.GetRules()[0].GetDroppedPackets() != 2 {
		t.Errorf("usage %v, %v", u, err)
	}
}

// TestBufferBounds: each bound holds, for a session and for all of them, and
// room that is given back is there again.
func TestBufferBounds(t *testing.T) {
	const packet = cellOctets // a packet of 100 octets takes one
	for _, tc := range []struct {
		name      string
		limits    BufferLimits
		reason    datapath.Reason // of what does not get in of session 2
		one, two  int             // how many packets sessions 1 and 2 get in, in this order
		afterward int             // how many session 2 gets in when session 1 has been released
	}{
		{"packets", bounds(3, 1<<20, 100, 1<<20), datapath.DropBufferFull, 3, 3, 0},
		{"octets", bounds(100, 4*packet, 100, 1<<20), datapath.DropBufferFull, 4, 4, 0},
		{"packets of all", bounds(4, 1<<20, 6, 1<<20), datapath.DropBufferTotal, 4, 2, 2},
		{"octets of all", bounds(100, 4*packet, 100, 6*packet+2*sessionOctets+packet-1), datapath.DropBufferTotal, 4, 2, 2},
		{"sessions of all", bounds(100, 4*packet, 100, 4*packet+sessionOctets+packet-1), datapath.DropBufferTotal, 4, 0, 4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBufferBed(t, tc.limits)
			fill := func(seid byte) (n int, r datapath.Reason) {
				for {
					if r = b.frame(seid, 100); r != datapath.PassBuffer {
						return n, r
					}
					n++
				}
			}
			one, why := fill(1)
			if why != datapath.DropBufferFull {
				t.Errorf("session 1: %v, want %v", why, datapath.DropBufferFull)
			}
			two, why := fill(2)
			if why != tc.reason {
				t.Errorf("session 2: %v, want %v", why, tc.reason)
			}
			b.apply(t, 1, api.Action_FORW)
			if after, _ := fill(2); one != tc.one || two != tc.two || b.sent != tc.one || after != tc.afterward {
				t.Errorf("in: %d, %d, then %d; released %d; want %d, %d, %d, %d", one, two, after, b.sent, tc.one, tc.two, tc.afterward, tc.one)
			}
			err := b.Close()
			if sessions, packets, octets := b.stages.Buffer.Held(); err != nil || sessions != 0 || packets != 0 || octets != 0 {
				t.Errorf("after Close: %v, %d octets in %d packets of %d sessions", err, octets, packets, sessions)
			}
		})
	}
}

// TestNotificationDelay: DOWNLINK_DATA comes when the delay is over, once, and
// not if the FAR forwards before.
func TestNotificationDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBufferBed(t, DefaultBufferLimits)
		b.frame(1, 100)
		b.frame(2, 100)
		time.Sleep(400 * time.Millisecond)
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
		if e := b.event(); e != nil {
			t.Errorf("after an hour: %v, want nothing", e)
		}
	})
}

// event returns what is in the queue, or nil.
func (b *bufferBed) event() *api.Event {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("nothing"))
	e, _ := b.Next(ctx)
	return e
}
