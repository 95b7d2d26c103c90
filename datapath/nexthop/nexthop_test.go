package nexthop_test

import (
	"bytes"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/plumbline-upf/plumbline/datapath/nexthop"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

type told struct {
	addr netip.Addr
	mac  nexthop.MAC
}

// TestWatch follows a neighbour and an address behind it as they come, change
// and go.
func TestWatch(t *testing.T) {
	top, err := topology.New(topology.Config{Name: "plt-nexthop"})
	check(t, err)
	t.Cleanup(func() { check(t, top.Close()) })
	events := make(chan told, 64)
	var (
		w      *nexthop.Watcher
		kernel *netlink.Handle
		said   bytes.Buffer // handlers write one record at a time
	)
	check(t, top.UPF.Do(func() (err error) {
		if kernel, err = netlink.NewHandle(); err != nil {
			return err
		}
		w, err = nexthop.Watch(top.N3.UPF.Index, slog.New(slog.NewTextHandler(&said, nil)), func(a netip.Addr, m nexthop.MAC) {
			events <- told{a, m}
		})
		return err
	}))
	defer kernel.Close()

	gnb, gnbMAC := top.N3.Peer.Address.Addr(), nexthop.MAC(top.N3.Peer.MAC)
	w.Want(gnb) // nobody has sent to it: the kernel resolves it for us
	expect(t, events, told{gnb, gnbMAC})

	far := netip.MustParseAddr("10.99.0.1")
	check(t, kernel.RouteAdd(&netlink.Route{
		LinkIndex: top.N3.UPF.Index, Gw: gnb.AsSlice(),
		Dst: &net.IPNet{IP: net.IP{10, 99, 0, 0}, Mask: net.CIDRMask(16, 32)},
	}))
	w.Want(far)
	expect(t, events, told{far, gnbMAC})

	changed := nexthop.MAC{2, 0, 0, 0, 0, 9}
	neigh := netlink.Neigh{
		LinkIndex: top.N3.UPF.Index, State: netlink.NUD_PERMANENT, IP: gnb.AsSlice(), HardwareAddr: changed[:],
	}
	check(t, kernel.NeighSet(&neigh))
	expect(t, events, told{gnb, changed})
	expect(t, events, told{far, changed})

	check(t, kernel.NeighDel(&neigh))
	expect(t, events, told{gnb, nexthop.MAC{}})
	expect(t, events, told{far, nexthop.MAC{}})

	own := top.N3.UPF.Address.Addr()
	w.Want(own)
	w.Close()
	if got, want := said.String(), own.String(); !strings.Contains(got, want) || strings.Contains(got, "<nil>") {
		t.Errorf("log %q, want %s in it, with a reason", got, want)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// expect waits until want is told, whatever else is told before.
func expect(t *testing.T, events <-chan told, want told) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	var got []told
	for {
		select {
		case e := <-events:
			if e == want {
				return
			}
			got = append(got, e)
		case <-deadline:
			t.Fatalf("%+v was not told; was told %+v", want, got)
		}
	}
}
