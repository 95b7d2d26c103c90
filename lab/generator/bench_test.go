package generator

import (
	"context"
	"fmt"
	"testing"

	"github.com/cilium/ebpf"
)

// BenchmarkGenerate measures the generator alone: one op is one frame from the
// program over a veth to a program that drops it.
func BenchmarkGenerate(b *testing.B) {
	for _, d := range []Direction{Uplink, Downlink} {
		for _, payload := range []int{ShortStampOctets, 64, 1400} {
			for _, n := range []int{1, 1_000_000} {
				b.Run(fmt.Sprintf("%v/%dB/%dsessions", d, payload, n), func(b *testing.B) { benchmarkGenerate(b, d, payload, n) })
			}
		}
	}
}

// BenchmarkSender is the same for each sender.
func BenchmarkSender(b *testing.B) {
	for _, s := range senders {
		for _, payload := range []int{ShortStampOctets, 1400} {
			b.Run(fmt.Sprintf("%v/%dB", s, payload), func(b *testing.B) {
				c := Config{Sender: s, PayloadOctets: payload}
				benchmarkBy(b, &c, Downlink, 1000)
			})
		}
	}
}

func benchmarkGenerate(b *testing.B, d Direction, payload, n int) {
	benchmarkBy(b, &Config{PayloadOctets: payload}, d, n)
}

func benchmarkBy(b *testing.B, of *Config, d Direction, n int) {
	bed := newBed(b, "plt-bench")
	c := config(bed, d, false)
	c.Sender, c.PayloadOctets, c.Sessions, c.Access = of.Sender, of.PayloadOctets, sessions(n, false), Uniform
	attach(b, c.Link.UPF, dropAll)
	g := mustNew(b, c)
	b.SetBytes(int64(g.FrameOctets()))
	b.ResetTimer()
	result, err := g.Run(context.Background(), Load{Frames: uint64(b.N), CPU: 1, Realtime: true})
	b.StopTimer()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(result.Sent)/result.Elapsed.Seconds()/1e6, "Mpps")
}

// BenchmarkProgram measures what making a frame takes, without the page it is
// made in and the way to the device. The baseline, a program that does nothing,
// is to be subtracted.
func BenchmarkProgram(b *testing.B) {
	bed := newBed(b, "plt-bench")
	attach(b, bed.N3.UPF, dropAll)
	nothing, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, License: "GPL", Instructions: dropAll})
	if err != nil {
		b.Fatal(err)
	}
	defer nothing.Close()
	benchmarkProgram(b, "baseline", nothing, make([]byte, 200))
	for _, d := range []Direction{Uplink, Downlink} {
		for _, ipv6 := range []bool{false, true} {
			g := mustNew(b, config(bed, d, ipv6))
			load := Load{Frames: 1 << 62}
			run, _ := load.schedule(generatorRun{}, now())
			if err := g.sender.begin(run, nil); err != nil {
				b.Fatal(err)
			}
			benchmarkProgram(b, fmt.Sprintf("%v/IPv6=%v", d, ipv6), g.sender.(*live).program, g.layout.template())
		}
	}
}

func benchmarkProgram(b *testing.B, name string, program *ebpf.Program, frame []byte) {
	b.Run(name, func(b *testing.B) {
		_, took, err := program.Benchmark(frame, b.N, b.ResetTimer)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(took.Nanoseconds()), "ns/op")
	})
}
