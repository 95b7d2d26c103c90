package probetest_test

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"

	"github.com/plumbline-upf/plumbline/lab/dut"
	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/host"
	"github.com/plumbline-upf/plumbline/lab/meter"
	"github.com/plumbline-upf/plumbline/lab/system"
	"github.com/plumbline-upf/plumbline/lab/topology"
	"github.com/plumbline-upf/plumbline/probe"
	"github.com/plumbline-upf/plumbline/upf"
)

// plumb is our own UPF, built when it is first asked for.
var plumb = sync.OnceValues(func() (string, error) {
	path := filepath.Join(scratch, "plumb")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", path, "github.com/plumbline-upf/plumbline/cmd/plumb")
	build.Stderr = os.Stderr
	return path, build.Run()
})

// own is a UPF of ours with a generator and a meter for each direction.
type own struct {
	*system.System
	lanes []*lane
	cpus  []int // of the senders of both directions
}

// lane is one direction.
type lane struct {
	direction probe.Direction
	generator *generator.Generator
	at        meter.Config
	meter     *meter.Meter // nil: not attached
	sent      uint64       // since it was attached
}

const sessions = 20

// frames reports whether a datapath takes frames before anybody else at the UPF's devices
// sees them: then the points are at the other ends.
func frames(datapath string) bool {
	return datapath == upf.DatapathXDP || datapath == upf.DatapathAFXDP || datapath == upf.DatapathP4
}

// newOwn starts a UPF, with a probe, generators of short packets and meters.
func newOwn(t testing.TB, datapath string, c probe.Config) (*own, *watch) {
	t.Helper()
	return newOwnOf(t, datapath, 100, c)
}

// newOwnOf is newOwn for packets of so many octets of UDP payload.
func newOwnOf(t testing.TB, datapath string, octets int, c probe.Config) (*own, *watch) {
	t.Helper()
	o := &own{System: newSystem(t, datapath)}
	bed := o.Topology()
	c.UPFs = []probe.UPF{{Name: datapath, UEs: bed.Config.UEPools}}
	all, err := host.CPUs()
	must(t, err)
	o.cpus = all
	w := newWatch(t, c, o.points(datapath))
	n3, n6 := bed.N3, bed.N6
	if frames(datapath) {
		n3, n6 = feed(t, n3), feed(t, n6)
	}
	o.addLane(t, probe.Uplink, n3, bed.N6.Peer, octets)
	o.addLane(t, probe.Downlink, n6, bed.N3.Peer, octets)
	return o, w
}

// newSystem starts a UPF with sessions.
func newSystem(t testing.TB, datapath string) *system.System {
	t.Helper()
	kind := dut.Plumbline(datapath, nil)
	var err error
	kind.Path, err = plumb()
	must(t, err)
	cpus, err := system.ShareCPUs(1)
	must(t, err)
	s, err := system.New(t.Context(), system.Config{Run: "plt-probe", Name: datapath, Kind: kind, CPUs: cpus, Offload: kind.Offloads})
	must(t, err)
	t.Cleanup(func() { mustBe(t, s.Close()) })
	must(t, s.Establish(t.Context(), sessions, system.Rules{}))
	return s
}

func (o *own) points(datapath string) []probe.Point {
	if frames(datapath) {
		return outside(o.Topology(), 0)
	}
	return devices(o.Topology(), 0, probe.Ingress, probe.Egress)
}

func (o *own) addLane(t testing.TB, d probe.Direction, from topology.Link, to topology.Port, octets int) {
	t.Helper()
	bed, run := o.Topology(), system.NewRun()
	g := generator.Config{
		Link: from, Direction: generator.Uplink, Run: run, Server: bed.N6.Peer.Address.Addr(), PayloadOctets: octets, Access: generator.Uniform,
	}
	if d == probe.Downlink {
		g.Direction = generator.Downlink
	}
	for _, s := range o.Sessions() {
		teid := s.ULTEID
		if d == probe.Downlink {
			teid = s.DLTEID
		}
		g.Sessions = append(g.Sessions, generator.Session{TEID: teid, UE: s.UE, QFI: system.QFI})
	}
	l := &lane{direction: d, at: meter.Config{Port: to, N3: bed.N3, N6: bed.N6, Direction: g.Direction, Run: run, Packets: true}}
	var err error
	l.generator, err = generator.New(g)
	must(t, err)
	t.Cleanup(func() { mustBe(t, l.generator.Close()) })
	t.Cleanup(func() { mustBe(t, l.meter.Close()) })
	l.attach(t)
	o.lanes = append(o.lanes, l)
}

// attach puts the meter, which takes frames, behind whoever else is at its device.
func (l *lane) attach(t testing.TB) {
	t.Helper()
	if l.meter != nil {
		must(t, l.meter.Close())
	}
	var err error
	l.meter, err = meter.Attach(l.at)
	must(t, err)
	l.sent = 0
}

// feed makes a pair of devices at the outer end of a link. What is sent by the first one
// leaves by the link's own device as a socket buffer, as if the host had sent it.
//
//	generator ─► feed0 ─ feed1 ─► n3 or n6 ─ UPF
func feed(t testing.TB, l topology.Link) topology.Link {
	t.Helper()
	port := l.Peer
	port.Device = "feed0"
	must(t, port.Namespace.Do(func() error {
		attrs := netlink.NewLinkAttrs()
		attrs.Name, attrs.NumTxQueues, attrs.NumRxQueues = "feed0", 1, 1
		err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: "feed1"})
		if err != nil {
			return fmt.Errorf("feed: %w", err)
		}
		tool, err := ethtool.NewEthtool()
		if err != nil {
			return err
		}
		defer tool.Close()
		for _, name := range []string{"feed1", "feed0"} { // takes redirected frames if the other end has GRO
			device, err := netlink.LinkByName(name)
			if err == nil {
				err = errors.Join(tool.Change(name, map[string]bool{"rx-gro": true}), netlink.LinkSetUp(device))
			}
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		device, err := net.InterfaceByName("feed0")
		if err == nil {
			port.Index = device.Index
		}
		return err
	}))
	redirect, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, License: "GPL", Instructions: asm.Instructions{
		asm.Mov.Imm(asm.R1, int32(l.Peer.Index)),
		asm.Mov.Imm(asm.R2, 0),
		asm.FnRedirect.Call(),
		asm.Return(),
	}})
	must(t, err)
	t.Cleanup(func() { redirect.Close() })
	end := port
	must(t, port.Namespace.Do(func() error {
		device, err := net.InterfaceByName("feed1")
		if err == nil {
			end.Index, end.Device = device.Index, device.Name
		}
		return err
	}))
	hold, err := end.AttachTCX(redirect)
	must(t, err)
	t.Cleanup(func() { hold.Close() })
	l.Peer = port
	return l
}

// run sends a load both ways at the same time, and returns how long that took.
func (o *own) run(t testing.TB, l generator.Load) time.Duration {
	t.Helper()
	var sending sync.WaitGroup
	started := time.Now()
	for i, lane := range o.lanes {
		sending.Go(func() {
			load := l
			load.CPU = o.cpus[i%len(o.cpus)]
			r, err := lane.generator.Run(t.Context(), load)
			mustBe(t, err)
			lane.sent += r.Sent
		})
	}
	sending.Wait()
	return time.Since(started)
}

// received waits until nothing arrives any more, and returns what has.
func (l *lane) received(t testing.TB) meter.Stream {
	t.Helper()
	const quiet = 100 * time.Millisecond
	for last := uint64(0); ; time.Sleep(quiet) {
		s, err := l.meter.Read()
		must(t, err)
		if got := s.Streams[0]; got.Received == last && last > 0 || got.Received == l.sent {
			return got
		} else {
			last = got.Received
		}
	}
}

// TestDatapaths probes each of our own datapaths. Probe and meter agree: what left is what
// arrived, and no packet was in the UPF for longer than on its whole way.
func TestDatapaths(t *testing.T) {
	for _, datapath := range dut.Datapaths {
		t.Run(datapath, func(t *testing.T) {
			o, w := newOwn(t, datapath, probe.Config{Timeout: enough})
			must(t, o.Topology().LeaveUDPWhole(false)) // the meters count packets, and not runs of them
			o.run(t, generator.Load{Rate: 10_000, Frames: 3000})
			for _, l := range o.lanes {
				compare(t, w, l)
			}
		})
	}
}

// compare wants the probe and the meter to agree.
func compare(t *testing.T, w *watch, l *lane) {
	t.Helper()
	got := l.received(t)
	w.wants(t, l.direction, probe.Account{In: l.sent, Matched: got.Received, Lost: l.sent - got.Received})
	if got.Received == 0 || got.Duplicated+got.MisdeliveredTotal() != 0 {
		t.Errorf("%v: %d of %d frames arrived, %d twice, %d wrong", l.direction, got.Received, l.sent, got.Duplicated, got.MisdeliveredTotal())
	}
	for _, s := range w.read(t).Series {
		if s.Direction != l.direction || s.Matched == 0 {
			continue
		}
		for _, q := range []float64{1, 50, 90, 99, 99.9, 100} {
			in, whole := s.Delay.ValueAtPercentile(q), got.FromSent.ValueAtPercentile(q)
			if in > whole+whole/64 { // a count of the histogram is as wide
				t.Errorf("%v: %g %% of the packets stayed for up to %d ns, and arrived within %d ns", l.direction, q, in, whole)
			}
		}
		t.Logf("%v: median in the UPF %d ns, on the whole way %d ns", l.direction, s.Delay.ValueAtPercentile(50), got.FromSent.ValueAtPercentile(50))
	}
}

// TestFlood sends both ways as fast as the machine can, and wants every packet accounted for
// and the pairs right: of one CPU packets leave in the order in which they came.
func TestFlood(t *testing.T) {
	const count, every = 200_000, 64
	for _, datapath := range []string{upf.DatapathXDP, upf.DatapathTC} {
		t.Run(datapath, func(t *testing.T) {
			o, w := newOwn(t, datapath, probe.Config{Timeout: enough, Sample: probe.Sampling{Every: every}})
			elapsed := o.run(t, generator.Load{Frames: count, Realtime: true})
			for _, l := range o.lanes {
				got := l.received(t)
				var a probe.Account
				await(func() bool { a = w.account(t, l.direction); return a.InFlight == 0 })
				if !a.Balanced() || a.In == 0 || a.In > l.sent || a.Matched != got.Received || a.Ambiguous != 0 || a.Evicted*1_000_000 > a.In {
					t.Errorf("%v: account %+v, want %d packets at most, %d matched", l.direction, a, l.sent, got.Received)
				}
				await(func() bool { return uint64(len(w.of(l.direction))) >= a.Matched/2/every })
				inOrder(t, w.of(l.direction))
				t.Logf("%v: %+v", l.direction, a)
			}
			t.Logf("%.0f packets/s", 2*count/elapsed.Seconds())
		})
	}
}

// inOrder wants samples whose packets left in the order in which they came.
func inOrder(t *testing.T, samples []probe.Sample) {
	t.Helper()
	slices.SortFunc(samples, func(a, b probe.Sample) int { return cmp.Compare(a.InNs, b.InNs) })
	if len(samples) == 0 || !slices.IsSortedFunc(samples, func(a, b probe.Sample) int { return cmp.Compare(a.OutNs, b.OutNs) }) {
		t.Errorf("%d samples: some left in another order than they came", len(samples))
	}
}
