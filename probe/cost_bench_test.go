package probe

import (
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/gopacket/gopacket/layers"

	"github.com/plumbline-upf/plumbline/internal/stats"
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
		timed  uint32
		at     Point // what is measured
		number int   // octets of the user packet behind its number
		in     []byte
		out    []byte
	}{
		{"N3in/udp", 1, n3In, 72, onN3(In, gpdu(7, 9, up)), frame(up)},
		{"N6out/udp", 1, n6Out, 72, onN3(In, gpdu(7, 9, up)), frame(up)},
		{"N6in/udp", 1, n6In, 72, frame(down), onN3(Out, gpdu(8, 9, down))},
		{"N3out/udp", 1, n3Out, 72, frame(down), onN3(Out, gpdu(8, 9, down))},
		{"N3in/ack", 1, n3In, 28, onN3(In, gpdu(7, 9, upAck)), frame(upAck)},
		{"N6out/ack", 1, n6Out, 28, onN3(In, gpdu(7, 9, upAck)), frame(upAck)},
		{"N6in/ack", 1, n6In, 28, frame(downAck), onN3(Out, gpdu(8, 9, downAck))},
		{"N3in/udp6", 1, n3In, 72, onN3(In, gpdu(7, 9, up6)), frame(up6)},
		{"N6out/udp6", 1, n6Out, 72, onN3(In, gpdu(7, 9, up6)), frame(up6)},
		{"N6in/udp6", 1, n6In, 72, frame(down6), onN3(Out, gpdu(8, 9, down6))},
		{"N3in/udp/untimed", 1 << 31, n3In, 72, onN3(In, gpdu(7, 9, up)), frame(up)},
		{"N6out/udp/untimed", 1 << 31, n6Out, 72, onN3(In, gpdu(7, 9, up)), frame(up)},
		{"N6in/udp/untimed", 1 << 31, n6In, 72, frame(down), onN3(Out, gpdu(8, 9, down))},
		{"N3out/udp/untimed", 1 << 31, n3Out, 72, frame(down), onN3(Out, gpdu(8, 9, down))},
	} {
		b.Run(tc.name, func(b *testing.B) {
			r := newRig(b, Config{Slices: []Slice{{Name: "embb"}}, Timed: tc.timed})
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
	nothing, err := classifier(asm.Mov.Imm(asm.R0, passOn), asm.Return())
	if err != nil {
		b.Fatal(err)
	}
	defer nothing.Close()
	clock, err := classifier(asm.FnKtimeGetNs.Call(), asm.Mov.Imm(asm.R0, passOn), asm.Return())
	if err != nil {
		b.Fatal(err)
	}
	defer clock.Close()
	f := frame(udp(ueAddr, hostAddr, numbered(0, 72)))
	took, err := timed([]*ebpf.Program{clock, nothing}, [][]byte{f, f}, 72, trialPackets, b.N/trialPackets+1)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64((stats.Middle(took[0]) - stats.Middle(took[1])).Nanoseconds()), "ns/op")
}

// benchmarkPoint reports the median of rounds, which others on the machine hardly touch.
func benchmarkPoint(b *testing.B, r *rig, in, out, at Point, inFrame, outFrame []byte, behind int) {
	nothing, err := classifier(asm.Mov.Imm(asm.R0, passOn), asm.Return())
	if err != nil {
		b.Fatal(err)
	}
	defer nothing.Close()
	i, measured := 0, inFrame
	if at == out {
		i, measured = 1, outFrame
	}
	b.ResetTimer()
	took, err := timed([]*ebpf.Program{r.programs[in], r.programs[out], nothing}, [][]byte{inFrame, outFrame, measured}, behind, trialPackets, b.N/trialPackets+1)
	b.StopTimer()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64((stats.Middle(took[i]) - stats.Middle(took[2])).Nanoseconds()), "ns/op")
	b.ReportMetric(float64((took[i][0] - took[2][0]).Nanoseconds()), "least-ns")
	for _, x := range r.snapshot().Series {
		if x.Matched+x.Untimed+x.In/1000+5 < x.In {
			b.Errorf("%v %v: got %+v", x.Slice, x.Direction, x.Account)
		}
	}
}
