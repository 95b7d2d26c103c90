package xdp

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath/conformance"
)

// BenchmarkLoad is how long the tables and programs of the bed take to load, of
// which the start of a process mostly consists, and how much of the CPUs: on a
// machine that has other work that says more.
func BenchmarkLoad(b *testing.B) {
	cpu := usedCPU(b)
	for b.Loop() {
		d, err := load(Config{
			MaxSessions: 1000, programs: twoDevices, Endpoints: conformance.Endpoints, N6: conformance.DataNetworks,
		}, bedPorts())
		if err != nil {
			b.Fatal(err)
		}
		if err := d.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((usedCPU(b)-cpu).Milliseconds())/float64(b.N), "cpu-ms/op")
}

func usedCPU(b *testing.B) time.Duration {
	b.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
