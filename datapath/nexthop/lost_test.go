package nexthop

import (
	"log/slog"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/plumbline-upf/plumbline/lab/topology"
)

// TestNewsLost: a watcher whose subscription has ended hears of what changed
// meanwhile, and of what changes then.
func TestNewsLost(t *testing.T) {
	top, err := topology.New(topology.Config{Name: "plt-lost"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := top.Close(); err != nil {
			t.Error(err)
		}
	})
	events := make(chan MAC, 64)
	addr := netip.AddrFrom4([4]byte{192, 0, 2, 77})
	neigh := func(last byte) *netlink.Neigh {
		return &netlink.Neigh{
			LinkIndex: top.N3.UPF.Index, State: netlink.NUD_PERMANENT, IP: addr.AsSlice(), HardwareAddr: net.HardwareAddr{2, 0, 0, 0, 0, last},
		}
	}
	var (
		w      *Watcher
		kernel *netlink.Handle
	)
	err = top.UPF.Do(func() (err error) {
		if kernel, err = netlink.NewHandle(); err != nil {
			return err
		}
		w, err = Watch(top.N3.UPF.Index, slog.New(slog.DiscardHandler), func(a netip.Addr, m MAC) {
			if a == addr {
				events <- m
			}
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer kernel.Close()
	defer w.Close()
	set := func(last byte) {
		if err := kernel.NeighSet(neigh(last)); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(want MAC) {
		t.Helper()
		select {
		case got := <-events:
			if got != want {
				t.Fatalf("%x was told, want %x", got, want)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%x was not told", want)
		}
	}
	set(1)
	expect(MAC{2, 0, 0, 0, 0, 1})

	w.mu.Lock() // so that what changes now is not heard of before the end
	set(2)
	w.first.end()
	w.mu.Unlock()
	expect(MAC{2, 0, 0, 0, 0, 2})
	set(3)
	expect(MAC{2, 0, 0, 0, 0, 3})
	if err := kernel.NeighDel(neigh(3)); err != nil {
		t.Fatal(err)
	}
	expect(MAC{})
}
