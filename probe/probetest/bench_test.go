package probetest_test

import (
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"plumbline/lab/generator"
	"plumbline/lab/topology"
	"plumbline/probe"
	"plumbline/upf"
)

// BenchmarkInPlace measures what a packet costs at each point of a UPF in use, with its
// caches as cold as they are then, by the kernel's own statistics of programs, which are
// included. Their resolution is that of the clock.
//
//	go test -run '^$' -bench InPlace -benchtime 100000x ./probe/probetest
func BenchmarkInPlace(b *testing.B) {
	const rate = 20_000
	o, _ := newOwn(b, upf.DatapathTUN, probe.Config{}, inside)
	o.run(b, generator.Load{Rate: rate, Frames: rate / 4, CPU: -1}) // warm
	on, err := ebpf.EnableStats(uint32(unix.BPF_STATS_RUN_TIME))
	must(b, err)
	defer on.Close()
	bed := o.Topology()
	points := []struct {
		unit string
		port topology.Port
		at   ebpf.AttachType
	}{
		{"ns/N3-in", bed.N3.UPF, ebpf.AttachTCXIngress}, {"ns/N6-out", bed.N6.UPF, ebpf.AttachTCXEgress},
		{"ns/N6-in", bed.N6.UPF, ebpf.AttachTCXIngress}, {"ns/N3-out", bed.N3.UPF, ebpf.AttachTCXEgress},
	}
	before := make([]*ebpf.ProgramStats, len(points))
	for i, p := range points {
		before[i] = statsOf(b, p.port, p.at)
	}
	b.ResetTimer()
	o.run(b, generator.Load{Rate: rate, Frames: uint64(b.N), CPU: -1})
	for i, p := range points {
		after := statsOf(b, p.port, p.at)
		if runs := after.RunCount - before[i].RunCount; runs > 0 {
			b.ReportMetric(float64((after.Runtime-before[i].Runtime).Nanoseconds())/float64(runs), p.unit)
		}
	}
}

// statsOf are those of the only program at a device.
func statsOf(b *testing.B, port topology.Port, at ebpf.AttachType) *ebpf.ProgramStats {
	b.Helper()
	list := attached(b, port, at)
	if len(list) != 1 {
		b.Fatalf("%s: %d programs at %v, want 1", port.Device, len(list), at)
	}
	program, err := ebpf.NewProgramFromID(list[0].ID)
	must(b, err)
	defer program.Close()
	stats, err := program.Stats()
	must(b, err)
	return stats
}

// BenchmarkThroughput measures what an XDP UPF forwards without and with a probe at the
// other ends of its links, in turn.
//
//	go test -run '^$' -bench Throughput -benchtime 10x ./probe/probetest
func BenchmarkThroughput(b *testing.B) {
	const duration = 500 * time.Millisecond
	o, w := newOwn(b, upf.DatapathXDP, probe.Config{}, func(*topology.Topology) []probe.Point { return nil })
	points := around(o.Topology())
	var received [2]float64 // frames/s, added up
	for range b.N {
		for with := range 2 {
			var attachments []*probe.Attachment
			for _, p := range points[:len(points)*with] {
				a, err := w.Attach(p)
				must(b, err)
				attachments = append(attachments, a)
			}
			for _, l := range o.lanes {
				l.attach(b)
			}
			elapsed := o.run(b, generator.Load{Duration: duration, CPU: 0, Realtime: true})
			for _, l := range o.lanes {
				received[with] += float64(l.received(b).Received) / elapsed.Seconds()
			}
			for _, a := range attachments {
				must(b, a.Close())
			}
		}
	}
	b.ReportMetric(received[0]/float64(b.N), "packets/s-without")
	b.ReportMetric(received[1]/float64(b.N), "packets/s-with")
	b.ReportMetric(received[1]/received[0], "ratio")
}
