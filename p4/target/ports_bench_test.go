package target

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netns"

	"github.com/plumbline-upf/plumbline/p4/port"
)

// BenchmarkPorts: frames a second that one worker bridges between two veths, by the kind of ports, while one goroutine sends
// as many as it can. CPU time is that of the whole machine for a frame, sender and receiver with it.
//
//	plt-ports1: h1 ─── s1, port 1: plt-portssw :port 2, s2 ─── h2 :plt-ports2
func BenchmarkPorts(b *testing.B) {
	for _, octets := range []int{64, 1400} {
		for _, kind := range []port.Kind{port.Packet, port.AFXDP} {
			b.Run(fmt.Sprintf("%d/%s", octets, kind), func(b *testing.B) { benchPorts(b, kind, octets) })
		}
	}
}

func benchPorts(b *testing.B, kind port.Kind, octets int) {
	for _, n := range []string{"plt-portssw", "plt-ports1", "plt-ports2"} {
		_ = exec.Command("ip", "netns", "del", n).Run() // of a test that was killed
		ip(b, "netns add "+n)
		b.Cleanup(func() { _ = exec.Command("ip", "netns", "del", n).Run() })
	}
	for n := 1; n <= 2; n++ {
		ip(b, fmt.Sprintf("-n plt-portssw link add s%d type veth peer name h%d netns plt-ports%d", n, n, n))
		ip(b, fmt.Sprintf("-n plt-portssw link set s%d up", n))
		ip(b, fmt.Sprintf("-n plt-ports%d link set h%d up arp off", n, n))
	}
	ports := map[uint32]port.Port{}
	for n := uint32(1); n <= 2; n++ {
		ports[n] = openIn(b, "plt-portssw", port.Config{Device: fmt.Sprint("s", n), Kind: kind})
	}
	from, err := openIn(b, "plt-ports1", port.Config{Device: "h1", Kind: port.Packet}).NewSender()
	if err != nil {
		b.Fatal(err)
	}
	r := &rig{ids: map[string]uint32{}}
	r.run(b, 1, ports)
	r.mustWrite(b,
		`table_entry { table_id: @table:macs@ match { field_id: 1 exact { value: "\x02\x00\x00\x00\x00\x02" } } action { action { action_id: @action:forward@ params { param_id: 1 value: "\x02" } } } }`,
		`table_entry { table_id: @table:sources@ match { field_id: 1 exact { value: "\x02\x00\x00\x00\x00\x01" } } action { action { action_id: @action:NoAction@ } } }`)
	frame := append([]byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5}, make([]byte, octets-14)...)
	stop, stopped := make(chan bool), make(chan bool)
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
			}
			for range 64 {
				from.Send(frame)
			}
			from.Flush()
		}
	}()
	time.Sleep(100 * time.Millisecond)
	b.ResetTimer()
	busy, before := busyTime(b), ports[2].Stats().TxFrames
	begin := time.Now()
	for b.Loop() {
		time.Sleep(100 * time.Millisecond)
	}
	seconds, frames := time.Since(begin).Seconds(), float64(ports[2].Stats().TxFrames-before)
	b.ReportMetric(frames/seconds, "frames/s")
	b.ReportMetric(float64((busyTime(b)-busy).Nanoseconds())/frames, "cpu-ns/frame")
	close(stop)
	<-stopped
}

// busyTime is for how long the CPUs of this machine were not idle. Source: proc_stat(5).
func busyTime(b *testing.B) time.Duration {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		b.Fatal(err)
	}
	var v [8]uint64
	line, _, _ := strings.Cut(string(text), "\n")
	if _, err := fmt.Sscanf(line, "cpu %d %d %d %d %d %d %d %d", &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]); err != nil {
		b.Fatal(err)
	}
	return time.Duration(v[0]+v[1]+v[2]+v[5]+v[6]) * 10 * time.Millisecond
}

// ip runs ip(8).
func ip(t testing.TB, args string) {
	t.Helper()
	if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v: %s", args, err, out)
	}
}

// openIn opens a port in a network namespace.
func openIn(t testing.TB, space string, c port.Config) port.Port {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	home, err := netns.Get()
	if err != nil {
		t.Fatal(err)
	}
	defer home.Close()
	there, err := netns.GetFromName(space)
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	if err := netns.Set(there); err != nil {
		t.Fatal(err)
	}
	p, err := port.Open(c)
	if back := netns.Set(home); back != nil {
		t.Fatal(back)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}
