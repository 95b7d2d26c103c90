package xdp

import (
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"testing"

	"github.com/cilium/ebpf"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
	"github.com/plumbline-upf/plumbline/datapath/xdp/harness"
)

// The first session of the benchmarks; the others follow by one.
const (
	benchTEID    = 0x01000001
	benchAddress = 10<<24 | 1
)

// Where the frames of the benchmarks have TEID and UE address.
const (
	upTEIDAt, upAddressAt = 14 + 20 + 8 + 4, 14 + 20 + 8 + 16 + 12
	downAddressAt         = 14 + 16
)

// BenchmarkProgram measures the programs in ns per packet by BPF_PROG_RUN: 64
// octets of UDP payload, one rule each way, QFI and gate, no meter.
func BenchmarkProgram(b *testing.B) {
	for _, n := range []uint32{1, 20_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("sessions=%d", n), func(b *testing.B) { benchProgram(b, n) })
	}
}

func benchProgram(b *testing.B, n uint32) {
	bed := openBed(b, int(n))
	plainN6(b, bed)
	installSessions(b, bed, n)
	up, down := conformance.BenchFrames()
	for _, dir := range []struct {
		name string
		prog *ebpf.Program
		p    harness.Packet
	}{
		{"uplink", bed.objs.UpfGtpuXdp, harness.Packet{Frame: up, TEIDAt: upTEIDAt, AddressAt: upAddressAt}},
		{"downlink", bed.objs.UpfN6Xdp, harness.Packet{Frame: down, AddressAt: downAddressAt}},
	} {
		for _, access := range []string{"same", "random"} {
			if n == 1 && access == "random" {
				continue
			}
			p := dir.p
			p.Sessions, p.Random, p.TEID, p.Address = n, access == "random", benchTEID, benchAddress
			b.Run(fmt.Sprintf("%s/access=%s", dir.name, access), func(b *testing.B) {
				measure(b, dir.prog, p)
			})
		}
	}
	if err := bed.Close(); err != nil {
		b.Fatal(err)
	}
}

// plainN6 makes the bed one without NAT and MSS clamp, as most are.
func plainN6(b *testing.B, bed *bed) {
	b.Helper()
	if err := bed.objs.N6Arrivals.Set(uint32(0)); err != nil {
		b.Fatal(err)
	}
}

func measure(b *testing.B, prog *ebpf.Program, p harness.Packet) {
	h, err := harness.Open()
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := h.Close(); err != nil {
			b.Error(err)
		}
	}()
	b.ResetTimer()
	ns, err := h.Measure(prog, p, max(b.N, 1000))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(ns.Nanoseconds()), "ns/op")
}

// BenchmarkEnforce is what an MBR and a URR with a threshold add to a packet of
// the plainest session, uplink: both are far from their limits.
func BenchmarkEnforce(b *testing.B) {
	for _, n := range []uint32{1, 100_000} {
		b.Run(fmt.Sprintf("sessions=%d", n), func(b *testing.B) { benchEnforce(b, n) })
	}
}

func benchEnforce(b *testing.B, n uint32) {
	peer := conformance.GNBAddress.As4()
	up, _ := conformance.BenchFrames()
	for _, c := range []struct {
		name     string
		mbr, urr bool
	}{{name: "none"}, {name: "mbr", mbr: true}, {name: "urr", urr: true}, {name: "mbr+urr", mbr: true, urr: true}} {
		bed := openBed(b, int(n))
		for i := range n {
			s := benchSession(i, binary.BigEndian.Uint32(peer[:]))
			limit(s, c.mbr, c.urr)
			if err := bed.Apply(context.Background(), &api.Change{Seid: s.GetSeid(), Session: s}); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(c.name, func(b *testing.B) {
			measure(b, bed.objs.UpfGtpuXdp, harness.Packet{
				Frame: up, Sessions: n, Random: n > 1, TEIDAt: upTEIDAt, AddressAt: upAddressAt, TEID: benchTEID, Address: benchAddress,
			})
		})
		if err := bed.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// limit gives s an MBR that no packet exceeds, and a URR of both directions.
func limit(s *api.Session, mbr, urr bool) {
	if mbr {
		s.Qers[0].UplinkMbrBps, s.Qers[0].DownlinkMbrBps = 1_000_000_000_000, 1_000_000_000_000
	}
	if urr {
		s.Urrs = []*api.URR{{Id: 1, Threshold: &api.Volume{Total: 1 << 60}}}
		s.Rules[0].UrrIds, s.Rules[1].UrrIds = []uint32{1}, []uint32{1}
	}
}

// BenchmarkRelay is a G-PDU that goes on through another tunnel (N9), without and
// with a URR, and uplink out on N6 with a URR and with a meter beside.
func BenchmarkRelay(b *testing.B) {
	up, _ := conformance.BenchFrames()
	peer := conformance.PeerAddress.As4()
	relay := func(s *api.Session) {
		s.Rules[0].Forward.OuterHeaderCreation = &api.OuterHeaderCreation{Teid: 1, Ipv4: binary.BigEndian.Uint32(peer[:])}
		s.Rules[0].Forward.NetworkInstance = "n9"
	}
	usage := func(s *api.Session) {
		s.Urrs = []*api.URR{{Id: 1, Quota: &api.Volume{Total: 1 << 60}}}
		s.Rules[0].UrrIds = []uint32{1}
	}
	meter := func(s *api.Session) { s.Qers[0].UplinkMbrBps = 1_000_000_000_000 }
	for _, c := range []struct {
		name string
		make []func(s *api.Session)
	}{
		{"n9", []func(s *api.Session){relay}},
		{"n9+urr", []func(s *api.Session){relay, usage}},
		{"n6", nil},
		{"n6+urr", []func(s *api.Session){usage}},
		{"n6+meter", []func(s *api.Session){meter}},
	} {
		b.Run(c.name, func(b *testing.B) {
			bed := openBed(b, 64)
			s := benchSession(0, binary.BigEndian.Uint32(peer[:]))
			for _, change := range c.make {
				change(s)
			}
			if err := bed.Apply(context.Background(), &api.Change{Seid: s.GetSeid(), Session: s}); err != nil {
				b.Fatal(err)
			}
			measure(b, bed.objs.UpfGtpuXdp, harness.Packet{
				Frame: up, Sessions: 1, TEIDAt: upTEIDAt, AddressAt: upAddressAt, TEID: benchTEID, Address: benchAddress,
			})
		})
	}
}

// BenchmarkApply installs sessions of two PDRs, one QER with an MBR and one URR,
// changes the tunnel of each, and removes them.
func BenchmarkApply(b *testing.B) {
	const sessions = 1 << 16
	bed := openBed(b, sessions)
	peer := conformance.GNBAddress.As4()
	changes := make([]*api.Change, sessions)
	for i := range changes {
		s := benchSession(uint32(i), binary.BigEndian.Uint32(peer[:]))
		s.Qers[0].UplinkMbrBps, s.Qers[0].DownlinkMbrBps = 1_000_000_000, 1_000_000_000
		s.Urrs = []*api.URR{{Id: 1, Threshold: &api.Volume{Total: 1 << 40}}}
		s.Rules[0].UrrIds, s.Rules[1].UrrIds = []uint32{1}, []uint32{1}
		changes[i] = &api.Change{Seid: s.GetSeid(), Session: s}
	}
	apply := func(b *testing.B, c *api.Change) {
		if err := bed.Apply(context.Background(), c); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("install and remove", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			apply(b, changes[i%sessions])
			apply(b, &api.Change{Seid: changes[i%sessions].GetSeid()})
		}
	})
	before := heapInUse()
	for _, c := range changes {
		apply(b, c)
	}
	perSession := float64(heapInUse()-before) / sessions
	b.Run("modify", func(b *testing.B) {
		b.ReportAllocs()
		b.ReportMetric(perSession, "octets/session")
		for i := range b.N {
			c := changes[i%sessions]
			c.Session.Rules[1].Forward.OuterHeaderCreation.Teid++
			apply(b, c)
		}
	})
}

func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func installSessions(tb testing.TB, d *bed, n uint32) {
	tb.Helper()
	peer := conformance.GNBAddress.As4()
	for i := range n {
		s := benchSession(i, binary.BigEndian.Uint32(peer[:]))
		if err := d.Apply(context.Background(), &api.Change{Seid: s.GetSeid(), Session: s}); err != nil {
			tb.Fatal(err)
		}
	}
}

func benchSession(i, peer uint32) *api.Session {
	ue := &api.UEAddress{Ipv4: benchAddress + i}
	return &api.Session{
		Seid: uint64(i) + 1,
		Rules: []*api.Rule{{
			PdrId: 1, QerIds: []uint32{1}, OuterHeaderRemoval: true,
			Detect:  &api.Detect{SourceInterface: api.Interface_ACCESS, FTeid: &api.FTEID{Teid: benchTEID + i, Ipv4: 0x0a030001}, UeAddress: ue},
			Forward: &api.Forward{Action: api.Action_FORW, DestinationInterface: api.Interface_CORE},
		}, {
			PdrId: 2, QerIds: []uint32{1},
			Detect: &api.Detect{SourceInterface: api.Interface_CORE, UeAddress: ue},
			Forward: &api.Forward{
				Action: api.Action_FORW, DestinationInterface: api.Interface_ACCESS,
				OuterHeaderCreation: &api.OuterHeaderCreation{Teid: i + 1, Ipv4: peer},
			},
		}},
		Qers: []*api.QER{{Id: 1, Qfi: 9}},
	}
}
