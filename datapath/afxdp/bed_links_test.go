package afxdp

import (
	"errors"
	"maps"
	"net"
	"net/netip"
	"slices"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath/conformance"
)

// ends are the indices of a pair.
type ends struct{ upf, other int }

// link is a device of the bed.
type bedLink struct {
	name   string
	mac    [6]byte
	addrs  []string
	metric int
	neighs map[netip.Addr][6]byte
}

// bedLinks returns the devices of the bed; stick: N6 is on that of N3.
func bedLinks(stick bool) []bedLink {
	c := conformance.CorpGatewayMAC
	links := []bedLink{
		{name: "n3", mac: conformance.N3MAC, addrs: []string{"10.3.0.1/24", "2001:db8:3::1/64"}, neighs: map[netip.Addr][6]byte{
			conformance.GNBAddress: conformance.GNBMAC, conformance.GNBAddress2: conformance.GNBMAC2, conformance.GNBAddress6: conformance.GNBMAC,
		}},
		{name: "n9", mac: conformance.N9MAC, addrs: []string{"10.9.0.1/24"}, neighs: map[netip.Addr][6]byte{
			conformance.PeerAddress: conformance.PeerMAC,
		}},
		{name: "n6", mac: conformance.N6MAC, addrs: []string{"10.6.0.1/24", "2001:db8:6::1/64"}, neighs: map[netip.Addr][6]byte{
			conformance.Gateway: conformance.GatewayMAC, conformance.Gateway6: conformance.GatewayMAC,
			conformance.Neighbour: conformance.NeighbourMAC, conformance.Neighbour6: conformance.NeighbourMAC6,
			conformance.Steered: conformance.SteeredMAC,
		}},
		{name: "corp", mac: conformance.CorpMAC, metric: 1000, neighs: map[netip.Addr][6]byte{conformance.Gateway: c, conformance.Gateway6: c}},
		{name: "nat", mac: conformance.CorpMAC, metric: 2000, neighs: map[netip.Addr][6]byte{conformance.Gateway: c, conformance.Gateway6: c}},
		{name: "lan", mac: conformance.CorpMAC},
	}
	if stick {
		// The kernel tells IPv4 addresses in their order and IPv6 ones from the last to
		// the first: that of the router is the first that it tells.
		links[0].addrs = []string{"10.6.0.1/24", "10.3.0.1/24", "2001:db8:3::1/64", "2001:db8:6::1/64"}
		maps.Copy(links[0].neighs, links[2].neighs)
		links = slices.Delete(links, 2, 3)
	}
	return links
}

// link makes a pair, with addresses, neighbours and routes as the bed has them.
func (b *bed) link(t testing.TB, far *netlink.Handle, other netns.NsHandle, l bedLink) {
	t.Helper()
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU, attrs.HardwareAddr = l.name, conformance.MTU, l.mac[:]
	check(t, b.kernel.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: l.name, PeerNamespace: netlink.NsFd(other), PeerMTU: conformance.MTU + 100}))
	near, err := b.kernel.LinkByName(l.name)
	check(t, err)
	peer, err := far.LinkByName(l.name)
	check(t, err)
	check(t, errors.Join(b.kernel.LinkSetUp(near), far.LinkSetUp(peer), far.SetPromiscOn(peer)))
	b.devices[l.name] = ends{near.Attrs().Index, peer.Attrs().Index}
	for _, a := range l.addrs {
		addr, err := netlink.ParseAddr(a)
		check(t, err)
		if addr.IP.To4() == nil {
			addr.Flags = unix.IFA_F_NODAD
		}
		check(t, b.kernel.AddrAdd(near, addr))
	}
	for a, mac := range l.neighs {
		check(t, b.kernel.NeighSet(&netlink.Neigh{
			LinkIndex: near.Attrs().Index, State: netlink.NUD_PERMANENT, IP: a.AsSlice(), HardwareAddr: mac[:],
		}))
	}
	if l.metric > 0 { // as VRFs would have it: the same prefixes once more
		for _, p := range []netip.Prefix{conformance.OnlinkPrefix, conformance.Onlink6} {
			check(t, b.kernel.RouteAdd(&netlink.Route{
				LinkIndex: near.Attrs().Index, Priority: l.metric, Scope: netlink.SCOPE_LINK,
				Dst: &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())},
			}))
		}
	}
}
