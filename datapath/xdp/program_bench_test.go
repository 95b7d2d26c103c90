package xdp

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/cilium/ebpf"

	"plumbline/api"
	"plumbline/datapath/conformance"
	"plumbline/datapath/xdp/harness"
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
		bed := openBed(b, int(n))
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
				b.Run(fmt.Sprintf("%s/sessions=%d/access=%s", dir.name, n, access), func(b *testing.B) {
					measure(b, dir.prog, p)
				})
			}
		}
		if err := bed.Close(); err != nil {
			b.Fatal(err)
		}
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
			Detect:  &api.Detect{SourceInterface: api.Interface_ACCESS, FTeid: &api.FTEID{Teid: benchTEID + i}, UeAddress: ue},
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
