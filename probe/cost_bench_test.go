package probe

import (
	"slices"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/gopacket/gopacket/layers"
)

// BenchmarkPoint measures what a packet costs at a point, without devices: packets that
// differ in a number come in, 4,096 at a time, and then leave. The time of the loop, and
// of counting the number up, is subtracted.
func BenchmarkPoint(b *testing.B) {
	up, down := udp(ueAddr, hostAddr, numbered(0, 72)), udp(hostAddr, ueAddr, numbered(0, 72))
	ack := layers.TCP{ACK: true, Options: []layers.TCPOption{{OptionType: layers.TCPOptionKindNop}, {OptionType: layers.TCPOptionKindNop},
		{OptionType: layers.TCPOptionKindTimestamps, OptionLength: 10, OptionData: make([]byte, 8)}}}
	upAck, downAck := tcp(ueAddr, hostAddr, ack, nil), tcp(hostAddr, ueAddr, ack, nil)
	up6, down6 := udp(ueAddr6, hostAdr6, numbered(0, 72)), udp(hostAdr6, ueAddr6, numbered(0, 72))
	for _, tc := range []struct {
		name   string
		at     Point // what is measured
		number int   // octets of the user packet behind its number
		in     []byte
		out    []byte
	}{
		{"N3in/udp", n3In, 72, onN3(In, gpdu(7, 9, up)), frame(up)},
		{"N6out/udp", n6Out, 72, onN3(In, gpdu(7, 9, up)), frame(up)},
		{"N6in/udp", n6In, 72, frame(down), onN3(Out, gpdu(8, 9, down))},
		{"N3out/udp", n3Out, 72, frame(down), onN3(Out, gpdu(8, 9, down))},
		{"N3in/ack", n3In, 28, onN3(In, gpdu(7, 9, upAck)), frame(upAck)},
		{"N6out/ack", n6Out, 28, onN3(In, gpdu(7, 9, upAck)), frame(upAck)},
		{"N6in/ack", n6In, 28, frame(downAck), onN3(Out, gpdu(8, 9, downAck))},
		{"N3in/udp6", n3In, 72, onN3(In, gpdu(7, 9, up6)), frame(up6)},
		{"N6out/udp6", n6Out, 72, onN3(In, gpdu(7, 9, up6)), frame(up6)},
		{"N6in/udp6", n6In, 72, frame(down6), onN3(Out, gpdu(8, 9, down6))},
	} {
		b.Run(tc.name, func(b *testing.B) {
			r := newRig(b, Config{Slices: []Slice{{Name: "embb"}}})
			for _, k := range []Key{{TEID: 7}} {
				if err := r.Learn(0, k, Slice{Name: "embb"}); err != nil {
					b.Fatal(err)
				}
			}
			for _, f := range [][]byte{up, up6, upAck} { // the UE is learnt
				r.pass(n3In, onN3(In, gpdu(7, 9, f)))
				r.pass(n6Out, frame(f))
			}
			in, out := n3In, n6Out
			if tc.at == n6In || tc.at == n3Out {
				in, out = n6In, n3Out
			}
			r.pass(in, tc.in)
			r.pass(out, tc.out)
			benchmarkPoint(b, r, in, out, tc.at, tc.in, tc.out, tc.number)
		})
	}
}

// benchPackets are in flight at once.
// BenchmarkClock is what of the above reading the clock takes.
func BenchmarkClock(b *testing.B) {
	quietThread(b)
	frame := frame(udp(ueAddr, hostAddr, numbered(0, 72)))
	clock := classifier(b, asm.FnKtimeGetNs.Call(), asm.Mov.Imm(asm.R0, -1), asm.Return())
	nothing := classifier(b, asm.Mov.Imm(asm.R0, -1), asm.Return())
	var took, loop []time.Duration
	for range b.N/benchPackets + 1 {
		for _, x := range []struct {
			program *ebpf.Program
			to      *[]time.Duration
		}{{clock, &took}, {nothing, &loop}} {
			_, d, err := x.program.Benchmark(frame, benchPackets, nil)
			if err != nil {
				b.Fatal(err)
			}
			*x.to = append(*x.to, d)
		}
	}
	b.ReportMetric(float64((median(took) - median(loop)).Nanoseconds()), "ns/op")
}

// benchPackets are in flight at once.
const benchPackets = 4096

// benchmarkPoint reports the median of rounds, which others on the machine hardly touch.
func benchmarkPoint(b *testing.B, r *rig, in, out, at Point, inFrame, outFrame []byte, behind int) {
	quietThread(b)
	measured := inFrame
	if at == out {
		measured = outFrame
	}
	steps := []struct {
		run   *ebpf.Program
		frame []byte
		took  []time.Duration
	}{
		{run: counting(b, r.programs[in], len(inFrame)-behind), frame: inFrame},
		{run: counting(b, r.programs[out], len(outFrame)-behind), frame: outFrame},
		{run: counting(b, classifier(b, asm.Mov.Imm(asm.R0, -1), asm.Return()), len(measured)-behind), frame: measured},
	}
	b.ResetTimer()
	for range b.N/benchPackets + 1 {
		for i := range steps {
			_, took, err := steps[i].run.Benchmark(steps[i].frame, benchPackets, nil)
			if err != nil {
				b.Fatal(err)
			}
			steps[i].took = append(steps[i].took, took)
		}
	}
	b.StopTimer()
	runs := steps[0].took
	if at == out {
		runs = steps[1].took
	}
	b.ReportMetric(float64((median(runs) - median(steps[2].took)).Nanoseconds()), "ns/op")
	b.ReportMetric(float64((slices.Min(runs) - slices.Min(steps[2].took)).Nanoseconds()), "least-ns")
	for _, x := range r.snapshot().Series {
		if x.Matched+x.In/1000+5 < x.In {
			b.Errorf("%v %v: got %+v", x.Slice, x.Direction, x.Account)
		}
	}
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
