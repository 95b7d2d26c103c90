package probetest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/system"
	"github.com/plumbline-upf/plumbline/lab/tcp"
	"github.com/plumbline-upf/plumbline/probe"
	"github.com/plumbline-upf/plumbline/upf"
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
// and without it. Packets are short, where a point weighs most, or long.
//
//	go test -run '^$' -bench Throughput -benchtime 10x ./probe/probetest
func BenchmarkThroughput(b *testing.B) {
	const duration = 500 * time.Millisecond
	for _, datapath := range []string{upf.DatapathXDP, upf.DatapathTC} {
		for _, octets := range []int{100, 1400} {
			for _, timed := range []uint32{1, 16, 64} {
				b.Run(fmt.Sprintf("%s/octets=%d/timed=%d", datapath, octets, timed), func(b *testing.B) {
					benchmarkThroughput(b, datapath, octets, duration, timed)
				})
			}
		}
	}
}

func benchmarkThroughput(b *testing.B, datapath string, octets int, duration time.Duration, timed uint32) {
	o, w := newOwnOf(b, datapath, octets, probe.Config{Timed: timed})
	alternate(b, w, o.points(datapath), "packets/s", func() (received float64) {
		for _, l := range o.lanes {
			l.attach(b)
		}
		elapsed := o.run(b, generator.Load{Duration: duration, Realtime: true})
		for _, l := range o.lanes {
			received += float64(l.received(b).Received) / elapsed.Seconds()
		}
		return received
	})
}

// BenchmarkTCP is [BenchmarkThroughput] with iperf3 over a UE, up and down.
//
//	go test -run '^$' -bench TCP -benchtime 10x ./probe/probetest
func BenchmarkTCP(b *testing.B) {
	for _, datapath := range []string{upf.DatapathXDP, upf.DatapathTC, upf.DatapathTUN} {
		for _, downlink := range []bool{false, true} {
			b.Run(fmt.Sprint(datapath, map[bool]string{false: "/up", true: "/down"}[downlink]), func(b *testing.B) {
				benchmarkTCP(b, datapath, downlink)
			})
		}
	}
}

func benchmarkTCP(b *testing.B, datapath string, downlink bool) {
	o := &own{System: newSystem(b, datapath)}
	bed, session := o.Topology(), o.Sessions()[0]
	w := newWatch(b, probe.Config{UPFs: []probe.UPF{{Name: datapath, UEs: bed.Config.UEPools}}}, o.points(datapath))
	ue := tcp.UE{Address: session.UE, UplinkTEID: session.ULTEID, DownlinkTEID: session.DLTEID, QFI: system.QFI}
	stop, err := tcp.Attach(b.Context(), bed, ue)
	must(b, err)
	b.Cleanup(func() { mustBe(b, stop()) })
	alternate(b, w, o.points(datapath), "bit/s", func() float64 {
		test, err := tcp.Start(b.Context(), bed, tcp.Flow{UE: ue, Downlink: downlink, Duration: time.Second, Omit: time.Second})
		must(b, err)
		r, err := test.Wait(b.Context(), 3*time.Second)
		must(b, err)
		return r.BPS
	})
}

// alternate runs a trial without and with the probe at the points, b.N times each, and
// reports the means and their ratio.
func alternate(b *testing.B, w *watch, points []probe.Point, unit string, trial func() float64) {
	b.Helper()
	for _, a := range w.attachments {
		must(b, a.Close())
	}
	var sum [2]float64
	for range b.N {
		for with := range 2 {
			var attachments []*probe.Attachment
			for _, p := range points[:len(points)*with] {
				a, err := w.Attach(p)
				must(b, err)
				attachments = append(attachments, a)
			}
			sum[with] += trial()
			for _, a := range attachments {
				must(b, a.Close())
			}
		}
	}
	b.ReportMetric(sum[0]/float64(b.N), unit+"-without")
	b.ReportMetric(sum[1]/float64(b.N), unit+"-with")
	b.ReportMetric(sum[1]/sum[0], "ratio")
}
