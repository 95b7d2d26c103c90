package probetest_test

import (
	"testing"
	"time"

	"plumbline/lab/generator"
	"plumbline/probe"
	"plumbline/upf"
)

// BenchmarkInPlace measures what a packet costs at each point of a UPF in use, with its
// caches as cold as they are then, by the kernel's own statistics of programs, which are
// included.
//
//	go test -run '^$' -bench InPlace -benchtime 100000x ./probe/probetest
func BenchmarkInPlace(b *testing.B) {
	const rate = 20_000
	for _, datapath := range []string{upf.DatapathTC, upf.DatapathTUN} {
		b.Run(datapath, func(b *testing.B) {
			o, w := newOwn(b, datapath, probe.Config{Stats: true})
			o.run(b, generator.Load{Rate: rate, Frames: rate / 4}) // warm
			before := w.read(b).Points
			b.ResetTimer()
			o.run(b, generator.Load{Rate: rate, Frames: uint64(b.N)})
			for i, p := range w.read(b).Points {
				took, packets := p.Cost.Took-before[i].Cost.Took, p.Packets-before[i].Packets
				name := map[probe.Way]string{probe.In: "-in", probe.Out: "-out"}[p.Way]
				if packets > 0 {
					b.ReportMetric(float64(took.Nanoseconds())/float64(packets), "ns/"+p.Device+name)
				}
			}
		})
	}
}

// BenchmarkThroughput measures what a UPF forwards without and with a probe, in turn; that of
// XDP is probed at the other ends of its links, where socket buffers are made of frames with
// and without it.
//
//	go test -run '^$' -bench Throughput -benchtime 10x ./probe/probetest
func BenchmarkThroughput(b *testing.B) {
	const duration = 500 * time.Millisecond
	for _, datapath := range []string{upf.DatapathXDP, upf.DatapathTC} {
		b.Run(datapath, func(b *testing.B) { benchmarkThroughput(b, datapath, duration) })
	}
}

func benchmarkThroughput(b *testing.B, datapath string, duration time.Duration) {
	o, w := newOwn(b, datapath, probe.Config{})
	for _, a := range w.attachments {
		must(b, a.Close())
	}
	points := o.points(datapath)
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
			elapsed := o.run(b, generator.Load{Duration: duration, Realtime: true})
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
