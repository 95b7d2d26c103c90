package nexthop_test

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/plumbline-upf/plumbline/datapath/nexthop"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

// peersBed follows the peers of a UPF with two devices.
type peersBed struct {
	*topology.Topology
	*nexthop.PeerWatcher
	kernel *netlink.Handle
	told   chan map[nexthop.Peer]nexthop.Way
	last   map[nexthop.Peer]nexthop.Way
}

func openPeers(t *testing.T) *peersBed {
	t.Helper()
	top, err := topology.New(topology.Config{Name: "plt-peers"})
	check(t, err)
	t.Cleanup(func() { check(t, top.Close()) })
	b := &peersBed{Topology: top, told: make(chan map[nexthop.Peer]nexthop.Way, 1024), last: map[nexthop.Peer]nexthop.Way{}}
	check(t, top.UPF.Do(func() (err error) {
		retrans := fmt.Sprintf("/proc/sys/net/ipv4/neigh/%s/retrans_time_ms", top.N3.UPF.Device)
		if err := os.WriteFile(retrans, []byte("50"), 0); err != nil {
			return err
		}
		if b.kernel, err = netlink.NewHandle(); err != nil {
			return err
		}
		b.PeerWatcher, err = nexthop.WatchPeers([]int{top.N3.UPF.Index, top.N6.UPF.Index}, slog.New(slog.DiscardHandler),
			func(ways map[nexthop.Peer]nexthop.Way) { b.told <- ways })
		return err
	}))
	t.Cleanup(func() { b.Close(); b.kernel.Close() })
	return b
}

// Close ends the watcher, and Topology.Close the bed.
func (b *peersBed) Close() { b.PeerWatcher.Close() }

// await waits until the way of a peer is as wanted.
func (b *peersBed) await(t *testing.T, p nexthop.Peer, want nexthop.Way) {
	t.Helper()
	for deadline := time.After(30 * time.Second); b.last[p] != want; {
		select {
		case ways := <-b.told:
			for p, way := range ways {
				b.last[p] = way
			}
		case <-deadline:
			t.Fatalf("way of %v: %+v, want %+v", p, b.last[p], want)
		}
	}
}

func (b *peersBed) route(t *testing.T, do func(*netlink.Route) error, prefix string, via netip.Addr, mtu int) {
	t.Helper()
	p := netip.MustParsePrefix(prefix)
	check(t, do(&netlink.Route{
		Dst: &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}, Gw: via.AsSlice(), MTU: mtu,
	}))
}

// out is a way by a port's device to its peer's end.
func out(l topology.Link, mtu int) nexthop.Way {
	return nexthop.Way{
		Device: l.UPF.Index, Name: l.UPF.Device, Source: nexthop.MAC(l.UPF.MAC), MTU: mtu, Via: l.Peer.Address.Addr(),
		MAC: nexthop.MAC(l.Peer.MAC), State: nexthop.Resolved,
	}
}

// TestPeers follows peers as routes, devices and neighbours come, change and go.
func TestPeers(t *testing.T) {
	b := openPeers(t)
	local := b.N3.UPF.Address.Addr()
	near := nexthop.Peer{Local: local, Addr: b.N3.Peer.Address.Addr()}
	far := nexthop.Peer{Local: local, Addr: netip.MustParseAddr("10.99.0.2")}
	own := nexthop.Peer{Local: local, Addr: b.N6.UPF.Address.Addr()}
	silent := nexthop.Peer{Local: local, Addr: local.Next().Next().Next()}
	for _, p := range []nexthop.Peer{near, far, own, silent} {
		b.Want(p)
	}
	onN3 := out(b.N3, 1500)
	b.await(t, near, onN3)
	b.await(t, far, nexthop.Way{State: nexthop.Resolved})
	b.await(t, own, nexthop.Way{Device: 1, Name: "lo", MTU: 65536, State: nexthop.Resolved}) // lo
	failed := onN3
	failed.Via, failed.MAC, failed.State = silent.Addr, nexthop.MAC{}, nexthop.Failed
	b.await(t, silent, failed)

	b.route(t, b.kernel.RouteAdd, "10.99.0.0/24", b.N6.Peer.Address.Addr(), 0)
	b.await(t, far, out(b.N6, 1500))
	b.route(t, b.kernel.RouteReplace, "10.99.0.0/24", b.N3.Peer.Address.Addr(), 1400)
	b.await(t, far, out(b.N3, 1400))

	link, err := b.kernel.LinkByIndex(b.N3.UPF.Index)
	check(t, err)
	check(t, b.kernel.LinkSetMTU(link, 1300))
	b.await(t, near, out(b.N3, 1300))
	check(t, b.kernel.NeighSet(&netlink.Neigh{
		LinkIndex: b.N3.UPF.Index, State: netlink.NUD_PERMANENT, IP: silent.Addr.AsSlice(), HardwareAddr: b.N3.Peer.MAC,
	}))
	there := out(b.N3, 1300)
	there.Via = silent.Addr
	b.await(t, silent, there)
	b.Forget(near)
	check(t, b.kernel.LinkSetDown(link))
	b.await(t, far, nexthop.Way{State: nexthop.Resolved})
	b.await(t, silent, nexthop.Way{State: nexthop.Resolved})
	if got := b.last[near]; got != out(b.N3, 1300) {
		t.Errorf("a peer that was forgotten: told %+v", got)
	}
}

// TestPeersByRule: what rules say of a source address counts, too, though the kernel does
// not tell of rules.
func TestPeersByRule(t *testing.T) {
	b := openPeers(t)
	rule := netlink.NewRule()
	rule.Src = &net.IPNet{IP: b.N3.UPF.Address.Addr().AsSlice(), Mask: net.CIDRMask(32, 32)}
	rule.Table, rule.Priority = 77, 100
	check(t, b.kernel.RouteAdd(&netlink.Route{
		Dst: &net.IPNet{IP: net.IPv4(10, 98, 0, 0), Mask: net.CIDRMask(24, 32)}, Gw: b.N6.Peer.Address.Addr().AsSlice(), Table: 77,
	}))
	ruled := nexthop.Peer{Local: b.N3.UPF.Address.Addr(), Addr: netip.MustParseAddr("10.98.0.2")}
	unruled := nexthop.Peer{Local: b.N6.UPF.Address.Addr(), Addr: ruled.Addr}
	none := nexthop.Way{State: nexthop.Resolved}
	for _, p := range []nexthop.Peer{ruled, unruled} {
		b.Want(p)
		b.await(t, p, none)
	}
	time.Sleep(time.Second) // until nothing else is a reason to look
	check(t, b.kernel.RuleAdd(rule))
	b.await(t, ruled, out(b.N6, 1500))
	b.await(t, unruled, none)
}
