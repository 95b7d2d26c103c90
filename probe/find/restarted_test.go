package find_test

import (
	"context"
	"encoding/binary"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"

	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/lab/dut"
	"github.com/plumbline-upf/plumbline/probe"
	"github.com/plumbline-upf/plumbline/probe/export"
	"github.com/plumbline-upf/plumbline/probe/find"
	"github.com/plumbline-upf/plumbline/probe/watch"
)

// TestKilledUnderTraffic kills a UPF and starts it again while packets come all the time,
// with another UPF beside it that has the same addresses and TEIDs: the account balances at
// every moment, the other one's packets stay its own, each time without the UPF is told of,
// and nothing stays attached.
func TestKilledUnderTraffic(t *testing.T) {
	for _, datapath := range dut.Datapaths {
		t.Run(datapath, func(t *testing.T) {
			killed, other := newBed(t, kindOf(t, datapath), false), newBed(t, kindOf(t, datapath), false)
			before := killed.attached(t) + other.attached(t)
			w, stop := killed.begin(t)
			stopTraffic := killed.traffic(t)
			const datagrams = 10
			for round := range 3 {
				other.exchange(t, datagrams)
				first := killed.upf.PID()
				if round == 0 {
					if err := killed.upf.Kill(); err != nil {
						t.Fatal(err)
					}
					killed.awaitUPF(t, w, func(u *export.UPF) bool { return u.Missing == "it has ended" })
				}
				killed.restart(t)
				killed.awaitUPF(t, w, func(u *export.UPF) bool {
					return u.PID == killed.upf.PID() && u.PID != first && u.Missing == "" && len(u.Gaps) > round
				})
			}
			sent := stopTraffic()
			killed.settled(t, w)
			was := killed.account(t, w)
			killed.exchange(t, datagrams)
			killed.settled(t, w)
			for d, a := range killed.account(t, w) {
				if got := a.Matched - was[d].Matched; got != datagrams || a.Lost != was[d].Lost {
					t.Errorf("%v, after the last start: %d matched, %d lost, want %d and 0", d, got, a.Lost-was[d].Lost, datagrams)
				}
				if a.In > sent+datagrams {
					t.Errorf("%v: %d packets in, but %d were sent", d, a.In, sent+datagrams)
				}
			}
			for d, a := range other.account(t, w) {
				if want := (probe.Account{In: 3 * datagrams, Matched: 3 * datagrams}); a.In != want.In || a.Matched != want.Matched {
					t.Errorf("%v of the other UPF: got %+v, want %+v", d, a, want)
				}
			}
			stop()
			if after := killed.attached(t) + other.attached(t); after != before {
				t.Errorf("%d programs at devices, were %d before", after, before)
			}
		})
	}
}

// begin measures all UPFs of the machine until stop.
func (b *bed) begin(t *testing.T) (w *watch.Watch, stop func()) {
	t.Helper()
	w, err := watch.Open(t.Context(), watch.Config{Selector: find.Selector{Auto: true}, Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
		if err := w.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	t.Cleanup(stop)
	return w, stop
}

// traffic sends uplink datagrams, each of which is another one, and has the server send
// them back, until it is stopped. stop returns how many were sent.
func (b *bed) traffic(t *testing.T) (stop func() uint64) {
	t.Helper()
	up := b.uplink(t)
	to := net.UDPAddrFromAddrPort(netip.AddrPortFrom(b.N3.UPF.Address.Addr(), gtpu.Port))
	server := listen(t, b.DN, netip.AddrPortFrom(b.N6.Peer.Address.Addr(), serverPort+1))
	binary.BigEndian.PutUint16(up[8+20+2:], serverPort+1)
	binary.BigEndian.PutUint16(up[8+20+6:], 0) // no checksum, as the payload changes
	ctx, cancel := context.WithCancel(t.Context())
	var sent atomic.Uint64
	var running sync.WaitGroup
	running.Go(func() {
		for i := uint64(1); ctx.Err() == nil; i++ {
			binary.BigEndian.PutUint64(up[8+28:], i)
			if _, err := b.ran.WriteTo(up, to); err == nil {
				sent.Add(1)
			}
			time.Sleep(time.Millisecond)
		}
	})
	running.Go(func() {
		got := make([]byte, 2000)
		for ctx.Err() == nil {
			_ = server.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
			if n, ue, err := server.ReadFrom(got); err == nil {
				_, _ = server.WriteTo(got[:n], ue)
			}
		}
	})
	stop = sync.OnceValue(func() uint64 {
		cancel()
		running.Wait()
		b.drain()
		return sent.Load()
	})
	t.Cleanup(func() { stop() })
	return stop
}

// drain reads what has come to the gNB.
func (b *bed) drain() {
	got := make([]byte, 2000)
	for {
		_ = b.ran.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
		if _, _, err := b.ran.ReadFrom(got); err != nil {
			return
		}
	}
}

// name is that of the bed's UPF in a Watch.
func (b *bed) name(w *watch.Watch) string {
	for _, u := range w.UPFs() {
		if u.Namespace == b.UPF.Path() {
			return u.Name
		}
	}
	return ""
}

// awaitUPF waits until the bed's UPF is as it should be, and wants the account to balance
// meanwhile.
func (b *bed) awaitUPF(t *testing.T, w *watch.Watch, is func(*export.UPF) bool) {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		b.account(t, w)
		list := w.UPFs()
		if i := slices.IndexFunc(list, func(u export.UPF) bool { return u.Namespace == b.UPF.Path() && is(&u) }); i >= 0 {
			return
		}
	}
	t.Fatalf("got %+v", w.UPFs())
}

// account is what became of the packets of the bed's UPF.
func (b *bed) account(t *testing.T, w *watch.Watch) map[probe.Direction]probe.Account {
	t.Helper()
	snapshot, _, err := w.Read()
	if err != nil {
		t.Fatal(err)
	}
	name, sums := b.name(w), map[probe.Direction]probe.Account{}
	for _, s := range snapshot.Series {
		if !s.Balanced() {
			t.Errorf("%s, %v: %+v does not balance", s.UPF, s.Direction, s.Account)
		}
		if s.UPF == name {
			sum := sums[s.Direction]
			sum.In, sum.Matched, sum.Lost, sum.InFlight = sum.In+s.In, sum.Matched+s.Matched, sum.Lost+s.Lost, sum.InFlight+s.InFlight
			sums[s.Direction] = sum
		}
	}
	return sums
}

// settled waits until no packet is in the bed's UPF.
func (b *bed) settled(t *testing.T, w *watch.Watch) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		inside := uint64(0)
		for _, a := range b.account(t, w) {
			inside += a.InFlight
		}
		if inside == 0 {
			return
		}
	}
	t.Fatalf("packets are still in flight: %+v", b.account(t, w))
}

// attached is how many programs of tcx there are at the bed's devices.
func (b *bed) attached(t *testing.T) (n int) {
	t.Helper()
	for _, path := range []string{b.UPF.Path(), b.GNB.Path(), b.DN.Path()} {
		inside(t, path, func() error {
			links, err := netlink.LinkList()
			if err != nil {
				return err
			}
			for _, l := range links {
				for _, at := range []ebpf.AttachType{ebpf.AttachTCXIngress, ebpf.AttachTCXEgress} {
					result, err := link.QueryPrograms(link.QueryOptions{Target: l.Attrs().Index, Attach: at})
					if err != nil {
						return err
					}
					n += len(result.Programs)
				}
			}
			return nil
		})
	}
	return n
}
