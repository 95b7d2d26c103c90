package xdp_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/xdp"
	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

// addAddress gives a port an IPv6 address, whose neighbours have to be found.
func addAddress(t *testing.T, p topology.Port, prefix string) netip.Addr {
	t.Helper()
	check(t, p.Namespace.Do(func() error {
		link, err := netlink.LinkByIndex(p.Index)
		if err != nil {
			return err
		}
		addr, err := netlink.ParseAddr(prefix)
		if err != nil {
			return err
		}
		addr.Flags = unix.IFA_F_NODAD
		return netlink.AddrAdd(link, addr)
	}))
	return netip.MustParsePrefix(prefix).Addr()
}

// TestNetworkIPv6 sends real packets through an N3 over IPv6. The kernel of the
// gNB looks at the UDP checksum of what the programs send: without a right one
// nothing reaches the socket.
func TestNetworkIPv6(t *testing.T) {
	n := layNetwork(t, "xdp-ipv6")
	upf, gnb := addAddress(t, n.N3.UPF, "fd03::1/64"), addAddress(t, n.N3.Peer, "fd03::2/64")
	n.start(t, xdp.Native, datapath.Endpoint{Name: "n3", Device: n.N3.UPF.Device, Address6: upf})
	n.n3 = netip.AddrPortFrom(upf, gtpu.Port)
	n.gnb = listen(t, n.GNB, netip.AddrPortFrom(gnb, gtpu.Port))
	n.install(t, gnb)
	n.untilResolved(t)
	sizes := []int{0, 1, 2, 3, 100, 999, 1000, 1408}
	before, err := n.upf.Passes()
	check(t, err)
	for _, octets := range sizes {
		n.uplink(t, payload(octets))
		n.downlink(t, payload(octets))
	}
	after, err := n.upf.Passes()
	check(t, err)
	if after["rules"] != before["rules"] || after["too_big"] != before["too_big"] || after["unresolved"] != before["unresolved"] {
		t.Errorf("slow path: %v, before %v", after, before)
	}
	t.Run("outer fragments on N3", func(t *testing.T) { n.uplink(t, payload(1472)) })
	t.Run("longer than N3 takes", func(t *testing.T) { n.longer(t, 1436) })
	t.Run("echo", n.echo)
}

// untilResolved sends downlink packets, none of which is lost, until one takes the
// fast path.
func (n *network) untilResolved(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		before, err := n.upf.Passes()
		check(t, err)
		n.downlink(t, payload(100))
		after, err := n.upf.Passes()
		check(t, err)
		if after["unresolved"] == before["unresolved"] {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still unresolved: %v, peers %+v", after, n.upf.Peers())
		}
	}
}
