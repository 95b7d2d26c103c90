package p4

import (
	"errors"
	"fmt"
	"testing"

	p4rt "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// routed gives a session a framed route for all UEs of the tests, behind its UE.
func routed(s *api.Session) *api.Session {
	s.Rules[1].Detect.FramedRoutes = []*api.Prefix{drawnPrefix("10.45.0.0/24")}
	return s
}

// byPackets makes a session one for the CPU: the pipeline has no packet rates.
func byPackets(s *api.Session) *api.Session {
	rate := &api.PacketRate{Packets: 1e6, TimeMs: 1000}
	s.Qers = []*api.QER{{Id: 9, UplinkPacketRate: rate, DownlinkPacketRate: rate}}
	for _, r := range s.Rules {
		r.QerIds = []uint32{9}
	}
	return s
}

// put puts the session that waits first into the target, and no other one.
func (b *bed) put() {
	b.Helper()
	rest := b.offload.queue[1:]
	b.offload.queue = b.offload.queue[:1]
	all, was, _ := b.offload.next()
	b.check(b.offload.install(b.ctx, all, was))
	b.offload.queue = append(rest, b.offload.queue...)
}

// TestCover: a framed route in the target takes no packet of a UE inside of it.
func TestCover(t *testing.T) {
	inRoute, ofUE := downlink(200, 0, 100), downlink(1, 0, 100)
	for _, tt := range []struct {
		name string
		do   func(b *bed)
	}{
		{"a new session", func(b *bed) {
			b.set(plainSession(1))
			b.wantCPU(1, ofUE)
			b.settle()
			b.wantTarget(1, ofUE, pdr{1, 2})
			b.wantTarget(1, inRoute, pdr{7, 2})
		}},
		{"one for the CPU", func(b *bed) {
			b.set(byPackets(plainSession(1)))
			b.wantCPU(1, ofUE)
			b.settle()
			b.wantCPU(1, ofUE)
			b.wantTarget(1, inRoute, pdr{7, 2})
		}},
		{"one that becomes the CPU's, and comes back", func(b *bed) {
			b.set(plainSession(1))
			b.settle()
			b.set(byPackets(plainSession(1)))
			b.settle()
			b.wantCPU(1, ofUE)
			b.set(plainSession(1))
			b.wantCPU(1, ofUE)
			b.settle()
			b.wantTarget(1, ofUE, pdr{1, 2})
		}},
		{"one that the target does not take", func(b *bed) {
			b.offload.lists.most = 0
			b.set(filteredSession(1, 1, 2))
			b.settle()
			b.wantCPU(1, ofUE)
		}},
		{"one of which it refuses a part", func(b *bed) {
			b.recorder.refuse = func(u *p4rt.Update) error {
				if b.says([]*p4rt.Update{u})[0] == "INSERT tunnels" {
					return fmt.Errorf("%w", datapath.ErrFull)
				}
				return nil
			}
			b.set(plainSession(1))
			b.settle()
			b.recorder.refuse = nil
			b.wantCPU(1, ofUE)
		}},
		{"a UE address that goes over to a session for the CPU", func(b *bed) {
			b.set(plainSession(1))
			b.settle()
			b.set(as(1, plainSession(2)))
			b.set(as(2, byPackets(plainSession(1))))
			b.put()
			b.wantCPU(1, ofUE)
			b.put()
			b.wantCPU(1, ofUE)
			b.wantTarget(1, downlink(2, 0, 100), pdr{1, 2})
		}},
		{"a UE address that goes over, the new session first", func(b *bed) {
			b.set(plainSession(1))
			b.settle()
			b.set(as(1, plainSession(2)))
			b.set(as(2, byPackets(plainSession(1))))
			b.offload.queue[0], b.offload.queue[1] = b.offload.queue[1], b.offload.queue[0]
			b.put()
			b.wantCPU(1, ofUE)
			b.put()
			b.wantCPU(1, ofUE)
		}},
		{"a session that goes", func(b *bed) {
			b.set(byPackets(plainSession(1)))
			b.settle()
			b.set(&api.Session{Seid: 1})
			b.settle()
			b.wantTarget(1, ofUE, pdr{7, 2}) // a host behind the UE of the route
		}},
		{"no room for the entry", func(b *bed) {
			b.recorder.refuse = func(*p4rt.Update) error { return fmt.Errorf("%w", datapath.ErrFull) }
			if err := b.apply(&api.Change{Seid: 1, Session: plainSession(1)}); !errors.Is(err, datapath.ErrFull) {
				b.Errorf("%v, want %v", err, datapath.ErrFull)
			}
			b.recorder.refuse = nil
			b.settle()
			b.wantTarget(1, ofUE, pdr{7, 2})
			if b.offload.sessions[1] != nil {
				b.Errorf("a session that was refused is there")
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBed(t)
			b.set(routed(plainSession(7)))
			b.settle()
			b.wantTarget(1, ofUE, pdr{7, 2})
			tt.do(b)
			for _, seid := range []uint64{1, 2, 7} {
				_ = b.apply(&api.Change{Seid: seid})
			}
			b.settle()
			b.wantEmpty()
			b.wantQuiet()
		})
	}
}

// TestCoverLater: a framed route waits until the UEs inside of it have entries.
func TestCoverLater(t *testing.T) {
	inRoute, ofUE := downlink(200, 0, 100), downlink(1, 0, 100)
	for _, goes := range []bool{false, true} {
		t.Run(fmt.Sprintf("goes %v", goes), func(t *testing.T) {
			b := newBed(t)
			b.set(byPackets(plainSession(1)))
			b.settle()
			b.set(routed(plainSession(7)))
			b.settle()
			b.wantCPU(1, ofUE)
			b.wantCPU(1, inRoute)
			b.wantTarget(1, downlink(7, 0, 100), pdr{7, 2})
			writes := len(b.recorder.writes)
			b.offload.retry()
			b.settle()
			if n := len(b.recorder.writes) - writes; n > 0 {
				t.Errorf("%d writes, though nothing has changed", n)
			}
			if goes {
				b.set(&api.Session{Seid: 1})
			} else {
				b.set(plainSession(1))
			}
			b.settle()
			b.offload.retry()
			b.settle()
			b.wantTarget(1, inRoute, pdr{7, 2})
			if goes {
				b.wantTarget(1, ofUE, pdr{7, 2})
			} else {
				b.wantTarget(1, ofUE, pdr{1, 2})
			}
			_ = b.apply(&api.Change{Seid: 1})
			b.set(&api.Session{Seid: 7})
			b.settle()
			b.wantEmpty()
			b.wantQuiet()
		})
	}
}

// TestCoverOwn: a framed route is left to the CPU where a UE address inside of it is, of the same
// session or because of a meter that both share.
func TestCoverOwn(t *testing.T) {
	b := newBed(t)
	s := routed(plainSession(1))
	spi := uint32(7)
	s.Rules = append(s.Rules, &api.Rule{
		PdrId: 3, FarId: 2, Precedence: 3, Forward: s.Rules[1].Forward,
		Detect: &api.Detect{
			SourceInterface: api.Interface_CORE, UeAddress: &api.UEAddress{Ipv4: word(ueOf(1))}, Filters: []*api.Filter{{Spi: &spi}},
		},
	})
	b.set(s)
	b.settle()
	b.wantCPU(1, downlink(1, 0, 100))
	b.wantCPU(1, downlink(200, 0, 100))
	b.wantTarget(0, uplink(1, 100), pdr{1, 1})
	s.Rules = s.Rules[:2]
	b.set(s)
	b.settle()
	b.wantTarget(1, downlink(1, 0, 100), pdr{1, 2})
	b.wantTarget(1, downlink(200, 0, 100), pdr{1, 2})
	b.set(&api.Session{Seid: 1})
	b.settle()
	b.wantEmpty()
	b.wantQuiet()
}
