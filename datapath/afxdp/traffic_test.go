package afxdp

import (
	"context"
	"encoding/binary"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/vector"
	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/inet"
	"github.com/plumbline-upf/plumbline/internal/xsk"
)

// TestOrder: numbered packets leave in their order and none is missing, both ways at
// once, while the rules change and some are buffered. Afterwards every frame is where
// it belongs.
func TestOrder(t *testing.T) {
	n := layNet(t, "afxdp-order", false)
	n.start(t, Config{})
	n.install(t)
	const rounds, window = 60, 100
	numbered := func(i int) []byte { return binary.BigEndian.AppendUint32(payload(64), uint32(i)) }
	for round := range rounds {
		s := n.session()
		if round%3 == 1 {
			s.Rules[1].Forward.Action = api.Action_BUFF
		}
		for i := range window {
			if i == window/2 {
				check(t, n.upf.Apply(context.Background(), &api.Change{Seid: 1, Session: s}))
			}
			user := n.datagram(numbered(round*window + i))
			_, err := n.gnb.WriteToUDPAddrPort(append(gtpu.AppendGPDU(nil, ulTEID, gtpu.PDUTypeUplink, 9, len(user)), user...), n.n3)
			check(t, err)
			_, err = n.dn.WriteToUDPAddrPort(numbered(round*window+i), netip.AddrPortFrom(n.ue, uePort))
			check(t, err)
		}
		check(t, n.upf.Apply(context.Background(), &api.Change{Seid: 1, Session: n.session()}))
		buf := make([]byte, 2048)
		for i := range window {
			size, _, err := n.dn.ReadFromUDPAddrPort(buf)
			n.explain(t, err)
			if got := binary.BigEndian.Uint32(buf[size-4:]); int(got) != round*window+i {
				t.Fatalf("the data network got packet %d, want %d", got, round*window+i)
			}
			if user := n.atGNB(t); int(binary.BigEndian.Uint32(user[len(user)-4:])) != round*window+i {
				t.Fatalf("the gNB got packet %x, want %d", user[len(user)-4:], round*window+i)
			}
		}
	}
	n.whole(t)
}

// whole ends the workers and looks for every frame.
func (n *testNet) whole(t *testing.T) {
	t.Helper()
	m := n.upf.machine.Load()
	m.halt()
	for _, w := range m.workers {
		check(t, w.reclaim())
		census := w.umem.Census()
		filling := 0
		for _, s := range w.sockets {
			filling += int(s.Fill.Unread())
			if left := s.TX.Left(); left != 0 {
				t.Errorf("%s: %d frames not sent", s.device.name, left)
			}
		}
		if census[xsk.Held] != 0 || census[xsk.Sent] != 0 || census[xsk.Kernel] < filling || len(w.umem.Unused) != census[xsk.Free] {
			t.Errorf("frames: %d free (list %d), %d with the kernel (fill rings %d), %d treated, %d sent",
				census[xsk.Free], len(w.umem.Unused), census[xsk.Kernel], filling, census[xsk.Held], census[xsk.Sent])
		}
	}
}

// TestNothingTaken: a device that takes nothing has packets dropped, with a reason,
// and costs no frame; what was sent before stays in its order.
func TestNothingTaken(t *testing.T) {
	u, err := xsk.NewUMEM(64, 2048)
	check(t, err)
	t.Cleanup(func() { check(t, u.Close()) })
	engine := vector.New(vector.Config{Name: "afxdp", Links: noLinks{}})
	w := &worker{umem: u, engine: engine.NewWorker(), given: make([]uint64, 8)}
	tx, _, consumer := testRing(16)
	completions, producer, _ := testRing(64)
	s := &socket{Socket: &xsk.Socket{
		FD: -1, TX: xsk.TXRing{Ring: tx, Entries: make([]unix.XDPDesc, 16)}, Completion: xsk.CompletionRing{Ring: completions, Entries: make([]uint64, 64)},
	}}
	w.sockets, w.out = []*socket{s}, []*socket{s}
	send := func(count int) {
		for i := range count {
			p := &vector.Packet{Buf: []byte{byte(i)}, End: 1}
			offset, ok := w.room(p, inet.LenEthernet)
			if !ok {
				t.Fatal("no frame")
			}
			w.add(s, p, offset)
		}
		w.flushAll()
	}
	send(20)
	drops, err := engine.Drops()
	check(t, err)
	if drops[datapath.DropTxFull.String()] != 4 || u.Census() != [4]int{xsk.Free: 48, xsk.Sent: 16} {
		t.Errorf("dropped %d, want 4; frames %v", drops[datapath.DropTxFull.String()], u.Census())
	}
	for i := range uint32(16) { // the kernel wakes up
		d := s.TX.Entries[(*consumer+i)&15]
		if got := u.Memory[d.Addr]; got != byte(i) || d.Len != 1 {
			t.Errorf("frame %d has octet %d", i, got)
		}
		s.Completion.Entries[(*producer+i)&63] = d.Addr
	}
	atomic.AddUint32(consumer, 16)
	atomic.AddUint32(producer, 16)
	check(t, w.reclaim())
	if u.Census() != [4]int{xsk.Free: 64} || len(u.Unused) != 64 {
		t.Errorf("frames %v", u.Census())
	}
	send(3)
	if s.TX.Left() != 3 {
		t.Errorf("%d frames in the ring, want 3", s.TX.Left())
	}
}

// noLinks are links of which nothing is asked.
type noLinks struct{ vector.Links }

// TestPaused: a driver that is paused leaves the devices alone, and comes back.
func TestPaused(t *testing.T) {
	n := layNet(t, "afxdp-paused", false)
	n.start(t, Config{Paused: true})
	n.install(t)
	if n.attached(t) {
		t.Error("attached although it is paused")
	}
	for range 2 {
		check(t, n.UPF.Do(n.upf.Resume))
		n.uplink(t, payload(10))
		n.downlink(t, payload(10))
		check(t, n.upf.Pause())
		if n.attached(t) {
			t.Error("attached although it is paused")
		}
	}
	usage, err := n.upf.Usage(1)
	check(t, err)
	if got := usage.GetRules()[0].GetPackets(); got != 2 {
		t.Errorf("counted %d packets, want 2", got)
	}
}

// attached reports whether any program is on the UPF's devices.
func (n *testNet) attached(t testing.TB) bool {
	t.Helper()
	is := false
	check(t, n.UPF.Do(func() error {
		links, err := netlink.LinkList()
		for _, l := range links {
			is = is || l.Attrs().Xdp != nil && l.Attrs().Xdp.Attached
		}
		return err
	}))
	return is
}

// TestKilled: what a process that is killed has put on devices goes with it.
func TestKilled(t *testing.T) {
	if os.Getenv("PLT_AFXDP_CHILD") != "" {
		runChild(t, os.Getenv("PLT_AFXDP_CHILD"))
		return
	}
	n := layNet(t, "afxdp-killed", false)
	child := exec.Command(os.Args[0], "-test.run=^TestKilled$")
	child.Env = append(os.Environ(), "PLT_AFXDP_CHILD="+n.UPF.Name)
	check(t, child.Start())
	wait := func(want bool) {
		t.Helper()
		for deadline := time.Now().Add(10 * time.Second); n.attached(t) != want; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("attached: %v, want %v", !want, want)
			}
		}
	}
	wait(true)
	check(t, child.Process.Kill())
	_ = child.Wait()
	wait(false)
}

// runChild opens a driver in a namespace, and waits to be killed.
func runChild(t *testing.T, namespace string) {
	ns, err := netns.GetFromName(namespace)
	check(t, err)
	inNamespace(t, ns, func() error {
		_, err := New(Config{
			Endpoints:   []datapath.Endpoint{{Name: "n3", Device: "n3", Address: netip.MustParseAddr("10.3.0.1")}},
			N6:          datapath.N6{Networks: []datapath.DataNetwork{{Name: "n6", Device: "n6"}}},
			MaxSessions: 64, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		})
		return err
	})
	time.Sleep(time.Minute)
}

// BenchmarkIdle: how much of a CPU a UPF takes to which nothing comes.
func BenchmarkIdle(b *testing.B) {
	for _, mode := range []Mode{Adaptive, Interrupt, Poll} {
		b.Run(string(mode), func(b *testing.B) {
			n := layNet(b, "afxdp-idle", false)
			n.open(b, Config{Mode: mode})
			time.Sleep(100 * time.Millisecond)
			var before, after unix.Timespec
			for b.Loop() {
				check(b, unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &before))
				time.Sleep(time.Second)
				check(b, unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &after))
			}
			b.ReportMetric(float64(after.Nano()-before.Nano())/1e9*100, "%CPU")
		})
	}
}

// testRing is a ring in memory of the test's, which is the kernel.
func testRing(size int) (r xsk.Ring, producer, consumer *uint32) {
	words := make([]uint32, 3)
	return xsk.NewRing(&words[0], &words[1], &words[2], size, 0), &words[0], &words[1]
}
