package p4

import (
	"net/netip"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

var benchEndpoints = []datapath.Endpoint{{Name: "N3", Address: netip.MustParseAddr("10.3.0.1")}}

// benchSession is session i: a PDR each way, a QER with QFI and MBR, a URR.
func benchSession(i uint32) *api.Session {
	ue := &api.UEAddress{Ipv4: 10<<24 | 1 + i}
	return &api.Session{
		Seid: uint64(i) + 1, Qers: []*api.QER{{Id: 1, Qfi: 9, UplinkMbrBps: 1e9, DownlinkMbrBps: 1e9}}, Urrs: []*api.URR{{Id: 1}},
		Rules: []*api.Rule{
			{
				PdrId: 1, FarId: 1, QerIds: []uint32{1}, UrrIds: []uint32{1}, OuterHeaderRemoval: true,
				Detect:  &api.Detect{SourceInterface: api.Interface_ACCESS, FTeid: &api.FTEID{Teid: 0x01000001 + i, Ipv4: 0x0a030001}, UeAddress: ue},
				Forward: &api.Forward{Action: api.Action_FORW, DestinationInterface: api.Interface_CORE},
			},
			{
				PdrId: 2, FarId: 2, QerIds: []uint32{1}, UrrIds: []uint32{1}, Detect: &api.Detect{SourceInterface: api.Interface_CORE, UeAddress: ue},
				Forward: &api.Forward{
					Action: api.Action_FORW, DestinationInterface: api.Interface_ACCESS,
					OuterHeaderCreation: &api.OuterHeaderCreation{Teid: 0x100 + i, Ipv4: 0x0a030002},
				},
			},
		},
	}
}

// plainBenchSession is session i with a PDR and a FAR each way, and a QFI.
func plainBenchSession(i uint32) *api.Session {
	s := benchSession(i)
	s.Qers[0].UplinkMbrBps, s.Qers[0].DownlinkMbrBps, s.Urrs = 0, 0, nil
	for _, r := range s.Rules {
		r.UrrIds = nil
	}
	return s
}

// BenchmarkSessions puts 100,000 sessions into the target, reads what all of them have counted,
// and takes them out again. The changes are made before the clock starts: that is the work of
// the N4 decoder.
func BenchmarkSessions(b *testing.B) {
	for name, session := range map[string]func(i uint32) *api.Session{"plain": plainBenchSession, "MBR and URR": benchSession} {
		b.Run(name, func(b *testing.B) { benchSessions(b, session) })
	}
}

func benchSessions(b *testing.B, session func(i uint32) *api.Session) {
	const n = 100_000
	for b.Loop() {
		r := newRig(b, benchEndpoints, datapath.N6{Networks: []datapath.DataNetwork{{Name: "internet"}}}, 2*n)
		step := func(what string, do func()) {
			runtime.GC()
			begun, used := time.Now(), processorTime(b)
			do()
			b.ReportMetric(n/time.Since(begun).Seconds(), what+"/s")
			b.ReportMetric(float64(processorTime(b)-used)/n, "ns-CPU/"+what)
		}
		changes := func(what string, s func(i uint32) *api.Session) {
			all := make([]*api.Change, n)
			for i := range uint32(n) {
				all[i] = &api.Change{Seid: uint64(i) + 1, Session: s(i)}
			}
			step(what, func() {
				for _, c := range all {
					if err := r.apply(b.Context(), c); err != nil {
						b.Fatal(err)
					}
				}
				r.offload.flush()
			})
		}
		changes("put", session)
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(m.HeapAlloc)/n, "octets/session")
		step("read", func() {
			if err := r.offload.collectAll(b.Context()); err != nil {
				b.Fatal(err)
			}
		})
		changes("change", session)
		changes("gone", func(uint32) *api.Session { return nil })
		if t := r.offload.entries; t[r.offload.schema.tables[tableTunnels].id] != 0 || t[r.offload.schema.tables[tableRules].id] != 0 {
			b.Errorf("entries left: %v", t)
		}
	}
}

// processorTime is what the process has had of all processors, which is less a matter of what else
// they do than the time that passes.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
