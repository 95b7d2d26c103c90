package afxdp

import (
	"os"
	"runtime/pprof"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/meter"
)

// BenchmarkForward: frames of 64 octets of payload through a worker on the first CPU,
// as many as the generator on the last one sends. The time of the worker's thread for
// a frame has the kernel's in it: what it copies and sends, and the meter at the other
// end. With PROFILE in the environment it writes a profile of the CPU there.
func BenchmarkForward(b *testing.B) {
	for _, direction := range []generator.Direction{generator.Uplink, generator.Downlink} {
		b.Run(direction.String(), func(b *testing.B) {
			n := layNet(b, "afxdp-bench", false)
			n.open(b, Config{Mode: Adaptive, CPUs: []int{0}})
			n.install(b)
			g := generator.Config{
				Link: n.N3, Direction: direction, Run: 1, Server: n.N6.Peer.Address.Addr(), PayloadOctets: 64,
				Sessions: []generator.Session{{TEID: ulTEID, UE: n.ue, QFI: 9}},
			}
			m := meter.Config{Port: n.N6.Peer, N3: n.N3, N6: n.N6, Direction: direction, Run: 1}
			if direction == generator.Downlink {
				g.Link, g.Sessions[0].TEID, m.Port = n.N6, dlTEID, n.N3.Peer
			}
			gen, err := generator.New(g)
			check(b, err)
			defer func() { check(b, gen.Close()) }()
			meter, err := meter.Attach(m)
			check(b, err)
			defer func() { check(b, meter.Close()) }()
			n.forward(b, gen, meter)
		})
	}
}

func (n *testNet) forward(b *testing.B, gen *generator.Generator, meter *meter.Meter) {
	machine := n.upf.machine.Load()
	machine.halt() // to run the worker on a thread whose clock is ours
	var word [8]byte
	_, err := unix.Read(machine.stop, word[:])
	check(b, err)
	machine.stopping.Store(false)
	w := machine.workers[0]
	var took [2]time.Duration
	machine.ended.Go(func() {
		err := w.run()
		var now unix.Rusage
		if unix.Getrusage(unix.RUSAGE_THREAD, &now) == nil {
			took = [2]time.Duration{time.Duration(now.Utime.Nano()), time.Duration(now.Stime.Nano())}
		}
		if err != nil {
			b.Error(err)
		}
	})
	if name := os.Getenv("PROFILE"); name != "" {
		f, err := os.Create(name)
		check(b, err)
		check(b, pprof.StartCPUProfile(f))
		defer f.Close()
		defer pprof.StopCPUProfile()
	}
	var sent generator.Result
	for b.Loop() {
		sent, err = gen.Run(b.Context(), generator.Load{Duration: time.Second, CPU: generator.LastCPU()})
		check(b, err)
	}
	time.Sleep(10 * time.Millisecond)
	machine.halt()
	s, err := meter.Read()
	check(b, err)
	received := float64(s.Streams[0].Received)
	b.ReportMetric(float64(sent.Sent)/sent.Elapsed.Seconds()/1e3, "offered-kpps")
	b.ReportMetric(received/float64(b.N)/sent.Elapsed.Seconds()/1e3, "received-kpps")
	b.ReportMetric(float64(took[0].Nanoseconds())/received, "user-ns/frame")
	b.ReportMetric(float64(took[1].Nanoseconds())/received, "system-ns/frame")
	if wrong := s.Streams[0].MisdeliveredTotal() + s.Streams[0].Duplicated; wrong > 0 {
		b.Errorf("%d frames misdelivered or duplicated", wrong)
	}
}
