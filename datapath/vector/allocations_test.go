package vector

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/plumbline-upf/plumbline/datapath/api"
)

// listed puts PDRs before those of s, each with filters that its packets do not match.
func listed(s *api.Session, more int) {
	for i := range more {
		port := &api.PortRange{First: uint32(20_000 + i), Last: uint32(20_000 + i)}
		for _, r := range s.Rules[len(s.Rules)-2:] {
			one := proto.CloneOf(r)
			one.PdrId = r.GetPdrId() + uint32(2*i) + 2
			one.Detect.Filters = []*api.Filter{{RemotePorts: []*api.PortRange{port}}, {Remote: &api.Prefix{Address: []byte{192, 0, 2, 0}, Bits: 24}}}
			s.Rules = append([]*api.Rule{one}, s.Rules...)
		}
	}
}

// variants of a benchmark's session, which the stages treat.
var variants = []struct {
	name string
	vary func(s *api.Session)
}{
	{"plain", func(*api.Session) {}},
	{"MBR and URR", func(s *api.Session) {
		s.Qers[0].UplinkMbrBps, s.Qers[0].DownlinkMbrBps = 1e12, 1e12
		s.Urrs = []*api.URR{{Id: 1, Quota: &api.Volume{Total: 1 << 60}}}
		s.Rules[0].UrrIds, s.Rules[1].UrrIds = []uint32{1}, []uint32{1}
	}},
	{"several QERs and URRs", func(s *api.Session) {
		s.Qers = append(s.Qers, &api.QER{Id: 2, UplinkGbrBps: 1e9, DownlinkGbrBps: 1e9}, &api.QER{Id: 3, UplinkMbrBps: 1e12, DownlinkMbrBps: 1e12})
		s.Urrs = []*api.URR{{Id: 1, BeforeEnforcement: true}, {Id: 2, Threshold: &api.Volume{Total: 1 << 60}}}
		for _, r := range s.Rules {
			r.QerIds, r.UrrIds = []uint32{1, 2, 3}, []uint32{1, 2}
		}
	}},
	{"9 PDRs", func(s *api.Session) { listed(s, 8) }},
	{"65 PDRs", func(s *api.Session) { listed(s, 64) }},
	{"relay", func(s *api.Session) {
		s.Rules[0].Forward.OuterHeaderCreation = &api.OuterHeaderCreation{Teid: 7, Ipv4: s.Rules[1].Forward.OuterHeaderCreation.Ipv4}
	}},
	{"IPv6 outside", func(s *api.Session) {
		s.Rules[1].Forward.OuterHeaderCreation = &api.OuterHeaderCreation{Teid: 7, Ipv6: append([]byte{0x20, 1, 0xd, 0xb8, 0, 3}, make([]byte, 10)...)}
	}},
	{"marks", func(s *api.Session) {
		s.Qers[0].Rqi, s.Qers[0].DownlinkTos, s.Qers[0].DownlinkTosMask = true, 0xb8, 0xfc
	}},
	{"framed route", func(s *api.Session) {
		for _, r := range s.Rules {
			r.Detect.UeAddress = &api.UEAddress{}
			r.Detect.FramedRoutes = []*api.Prefix{{Address: []byte{10, 0, 0, 0}, Bits: 16}}
		}
	}},
	{"closed gate", func(s *api.Session) { s.Qers[0].UplinkGateClosed, s.Qers[0].DownlinkGateClosed = true, true }},
	{"DROP", func(s *api.Session) {
		for _, r := range s.Rules {
			r.Forward = &api.Forward{Action: api.Action_DROP}
		}
	}},
}

// withSession is an engine with one session of a benchmark.
func withSession(t testing.TB, vary func(s *api.Session)) *bed {
	t.Helper()
	b := openBench(t, 0, limited{})
	s := benchSession(0, limited{})
	vary(s)
	for i, r := range s.Rules {
		r.Precedence = uint32(i)
	}
	if err := b.Apply(t.Context(), &api.Change{Seid: 1, Session: s}); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestAllocations: a packet that the stages treat allocates nothing, also when somebody
// has traced before.
func TestAllocations(t *testing.T) {
	up, down := userPackets()
	for _, v := range variants {
		bed := withSession(t, v.vary)
		bed.startTrace(t, everything).Close()
		for name, s := range map[string]*stream{"uplink": newStream(up, true, 1), "downlink": newStream(down, false, 1)} {
			take := s.take
			if n := testing.AllocsPerRun(10, func() { bed.worker.Run(s.next(0), take) }); n != 0 {
				t.Errorf("%s, %s: %v allocations for a vector", name, v.name, n)
			}
			reason := s.packets[0].Reason
			if bed.worker.slow > 0 || (s.sent == 0) != reason.IsDrop() {
				t.Errorf("%s, %s: %d packets went through the model, %d left: %v", name, v.name, bed.worker.slow, s.sent, reason)
			}
		}
	}
}

// BenchmarkRules is what a packet costs by what its session asks for, in ns.
func BenchmarkRules(b *testing.B) {
	up, down := userPackets()
	for _, v := range variants {
		bed := withSession(b, v.vary)
		b.Run(fmt.Sprintf("uplink/%s", v.name), func(b *testing.B) { benchmark(b, bed, newStream(up, true, 1)) })
		b.Run(fmt.Sprintf("downlink/%s", v.name), func(b *testing.B) { benchmark(b, bed, newStream(down, false, 1)) })
	}
}
