package p4

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// TestLimits: a session that is near a limit is the CPU's, and comes back when that is raised.
func TestLimits(t *testing.T) {
	for _, tt := range []struct {
		name  string
		limit func(u *api.URR, octets uint64)
	}{
		{"threshold", func(u *api.URR, octets uint64) { u.Threshold = &api.Volume{Total: octets} }},
		{"quota", func(u *api.URR, octets uint64) { u.Quota = &api.Volume{Uplink: octets} }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBed(t)
			s := plainSession(1)
			tt.limit(s.Urrs[0], leftLeast+2000)
			b.set(s)
			b.settle()
			b.wantTarget(0, uplink(1, 1500), pdr{1, 1})
			b.check(b.offload.lookAtLimits(b.ctx))
			b.settle()
			b.wantTarget(0, uplink(1, 501), pdr{1, 1}) // 2000 are not near
			b.check(b.offload.lookAtLimits(b.ctx))
			b.settle()
			b.wantCPU(0, uplink(1, 100))
			b.wantCPU(1, downlink(1, 0, 100))
			if b.offload.sessions[1].state != apart || len(b.entries()) > 0 {
				t.Errorf("in the target are %v", b.entries())
			}
			b.offload.retry()
			b.settle()
			b.wantCPU(0, uplink(1, 100))
			if len(b.host.events) > 0 {
				t.Errorf("events %v before the limit", b.host.events)
			}
			tt.limit(s.Urrs[0], 3*leftLeast)
			b.set(s)
			b.settle()
			b.wantTarget(0, uplink(1, 100), pdr{1, 1})
			if got := b.usage(1); got != 2101 {
				t.Errorf("%d octets, want 2101", got)
			}
		})
	}
}

// TestLimitsRate: a limit is near if it may be reached within periods, at the rate of the last.
func TestLimitsRate(t *testing.T) {
	b := newBed(t)
	s := plainSession(1)
	s.Urrs[0].Quota = &api.Volume{Total: 2 * leftLeast}
	b.set(s)
	b.settle()
	const enough = 2 * leftLeast / (leftPeriods + 1) / 8000
	for range enough {
		b.send(0, uplink(1, 8000))
	}
	b.host.now += uint64(limitPeriod)
	b.check(b.offload.lookAtLimits(b.ctx))
	b.settle()
	b.wantTarget(0, uplink(1, 100), pdr{1, 1})
	b.host.now += uint64(limitPeriod)
	b.check(b.offload.lookAtLimits(b.ctx))
	for range enough + 3 {
		b.send(0, uplink(1, 8000))
	}
	b.host.now += uint64(limitPeriod)
	b.check(b.offload.lookAtLimits(b.ctx))
	b.settle()
	b.wantCPU(0, uplink(1, 100))
	if left := left(b.host.Candidates(keysOf(b, 1)[0])); left < leftLeast {
		t.Fatalf("%d octets are left: that is near by itself", left)
	}
}

// TestStartOfTraffic: the first packet is the CPU's, and is told of once.
func TestStartOfTraffic(t *testing.T) {
	b := newBed(t)
	s := plainSession(1)
	s.Urrs[0].StartOfTraffic = true
	b.set(s)
	b.settle()
	frame := uplink(1, 100)
	b.wantCPU(0, frame)
	b.offload.retry()
	b.settle()
	b.wantCPU(0, frame)
	b.host.stages.Bare(1, downlink(1, 0, 100)[inet.LenEthernet:])
	b.offload.retry()
	b.settle()
	b.wantTarget(0, frame, pdr{1, 1})
	if diff := cmp.Diff([]api.EventKind{api.EventKind_START_OF_TRAFFIC}, b.host.events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	b.set(s) // a change that asks for the same
	b.settle()
	b.wantTarget(0, frame, pdr{1, 1})
}

// TestMeterIsHadOnce: keys that share a meter are all in the target, or none is.
func TestMeterIsHadOnce(t *testing.T) {
	b := newBed(t)
	s := limited(plainSession(1), 1e6)
	other := &api.FTEID{Teid: 9, Ipv4: word(n3)}
	spi := uint32(7)
	s.Rules = append(s.Rules, &api.Rule{
		PdrId: 3, FarId: 1, Precedence: 3, QerIds: []uint32{1}, OuterHeaderRemoval: true, Forward: s.Rules[0].Forward,
		Detect: &api.Detect{SourceInterface: api.Interface_ACCESS, FTeid: other, Filters: []*api.Filter{{Spi: &spi}}},
	})
	b.set(s)
	b.settle()
	b.wantCPU(0, uplink(1, 100))
	b.wantTarget(1, downlink(1, 0, 100), pdr{1, 2}) // the other direction has its own
	s.Rules[2].Detect.Filters = nil
	b.set(s)
	b.settle()
	b.wantTarget(0, uplink(1, 100), pdr{1, 1})
	if n := len(b.offload.buckets.of); n != 2 {
		t.Errorf("%d buckets, want 2", n)
	}
	b.set(&api.Session{Seid: 1})
	b.settle()
	b.wantEmpty()
}

// TestBuckets: a cell that was given back rests as long as what it has seen lies ahead.
func TestBuckets(t *testing.T) {
	now := uint64(0)
	b := buckets{most: 2, of: map[*stages.Meter]*bucket{}, now: func() uint64 { return now }}
	meter := func(bps uint64) *stages.Meter {
		m := &stages.Meter{}
		m.SetRate(bps, time.Second, 0)
		return m
	}
	// 65535 octets at 1 Mbit/s are 524.28 ms, at 16 Gbit/s 32.8 µs.
	slow, fast, third := meter(1e6), meter(16e9), meter(1e9)
	one, two := b.take(slow), b.take(fast)
	if one != 1 || two != 2 || b.take(third) != 0 || b.take(slow) != 1 {
		t.Fatalf("cells %d and %d, want 1 and 2, and no third", one, two)
	}
	b.give(slow) // once of two uses
	b.give(fast)
	b.give(slow)
	if n := b.take(third); n != 0 {
		t.Errorf("cell %d is given out, which has just been given back", n)
	}
	for _, tt := range []struct {
		until uint64
		want  uint32
	}{{1e9 + 32767, two}, {1e9 + 524_280_000, one}} {
		now = tt.until - 1
		if got := b.take(third); got != 0 {
			t.Fatalf("at %d: cell %d, want none", now, got)
		}
		now = tt.until + 2
		if got := b.take(third); got != tt.want {
			t.Fatalf("at %d: cell %d, want %d", now, got, tt.want)
		}
		b.give(third)
	}
}
