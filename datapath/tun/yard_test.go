package tun

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/inet"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

// yard is a network in which the UPF's host is in more networks than N6:
//
//	          ┌──────────── UPF ────────────┐
//	gNB ──────┤ n3                       n6 ├────── DN: neighbour 10.6.0.2, fd06::2
//	10.3.0.2  │ fd03::1                     │           behind it 198.51.100.1, 2001:db8::1
//	fd03::2   │                        mgmt ├────── other: 10.9.0.2, fd09::2
//	          └─────────────────────────────┘
type yard struct {
	*network
	other *topology.Namespace
	conns map[string]*net.UDPConn
}

var (
	beyond4, beyond6 = netip.MustParsePrefix("198.51.100.1/32"), netip.MustParsePrefix("2001:db8::1/128")
	corpDN, corpDN6  = netip.MustParseAddr("10.9.0.2"), netip.MustParseAddr("fd09::2")
	gnb6             = netip.MustParseAddr("fd03::2")
)

func openYard(t *testing.T, name string, cfg Config) *yard {
	t.Helper()
	top, err := topology.New(topology.Config{Name: "plt-" + name})
	check(t, err)
	t.Cleanup(func() { check(t, top.Close()) })
	n := &network{
		Topology: top, ue: netip.MustParseAddr("10.64.0.1"), ue6: netip.MustParseAddr("fd64:0:1::1"),
		n3: net.UDPAddrFromAddrPort(netip.AddrPortFrom(top.Config.N3UPF.Addr(), gtpu.Port)),
	}
	y := &yard{network: n, conns: map[string]*net.UDPConn{}}
	y.other, err = top.Add("other")
	check(t, err)
	check(t, top.Join(top.UPF, y.other, "mgmt", netip.MustParsePrefix("10.9.0.1/24"), netip.MustParsePrefix("10.9.0.2/24")))
	linkIPv6(t, top.UPF, "mgmt", "fd09::1/64", y.other, "mgmt", "fd09::2/64")
	linkIPv6(t, top.UPF, top.N3.UPF.Device, "fd03::1/64", top.GNB, top.N3.Peer.Device, "fd03::2/64")
	address(t, top.DN, "lo", beyond4.String())
	address(t, top.DN, "lo", beyond6.String())
	route(t, top.UPF, beyond4, top.Config.N6DN.Addr(), 0)
	route(t, top.UPF, beyond6, top.Config.N6DN6.Addr(), 0)
	n.gnb = listenAt(t, top.GNB, netip.AddrPortFrom(top.Config.N3GNB.Addr(), gtpu.Port))
	n.open(t, cfg)
	return y
}

func address(t *testing.T, ns *topology.Namespace, device, prefix string) {
	t.Helper()
	p := netip.MustParsePrefix(prefix)
	check(t, ns.Do(func() error {
		link, err := netlink.LinkByName(device)
		if err != nil {
			return err
		}
		a := &netlink.Addr{IPNet: ipNet(p)}
		if p.Addr().Is6() {
			a.Flags = unix.IFA_F_NODAD
		}
		return netlink.AddrAdd(link, a)
	}))
}

// linkIPv6 gives the ends of a link, on which nobody asks for neighbours, IPv6 addresses.
func linkIPv6(t *testing.T, a *topology.Namespace, deviceA, addressA string, b *topology.Namespace, deviceB, addressB string) {
	t.Helper()
	address(t, a, deviceA, addressA)
	address(t, b, deviceB, addressB)
	var mac net.HardwareAddr
	check(t, b.Do(func() error {
		link, err := netlink.LinkByName(deviceB)
		if err == nil {
			mac = link.Attrs().HardwareAddr
		}
		return err
	}))
	check(t, a.Do(func() error {
		link, err := netlink.LinkByName(deviceA)
		if err != nil {
			return err
		}
		return netlink.NeighSet(&netlink.Neigh{
			LinkIndex: link.Attrs().Index, State: netlink.NUD_PERMANENT, IP: netip.MustParsePrefix(addressB).Addr().AsSlice(), HardwareAddr: mac,
		})
	}))
}

func route(t *testing.T, ns *topology.Namespace, to netip.Prefix, via netip.Addr, table int) {
	t.Helper()
	check(t, ns.Do(func() error {
		return netlink.RouteAdd(&netlink.Route{Dst: ipNet(to), Gw: via.AsSlice(), Table: table})
	}))
}

// at returns the socket of a server.
func (y *yard) at(t *testing.T, ns *topology.Namespace, a netip.Addr) *net.UDPConn {
	t.Helper()
	key := ns.Name + " " + a.String()
	if y.conns[key] == nil {
		y.conns[key] = listenAt(t, ns, netip.AddrPortFrom(a, dnPort))
	}
	return y.conns[key]
}

// arrives sends a datagram of the UE and takes it where it is to arrive.
func (y *yard) arrives(t *testing.T, ue netip.Addr, ns *topology.Namespace, to netip.Addr) {
	t.Helper()
	conn := y.at(t, ns, to)
	check(t, conn.SetReadDeadline(time.Now().Add(10*time.Second)))
	y.uplink(t, datagram(ue, to, []byte("hello")))
	b := make([]byte, 64)
	size, from, err := conn.ReadFromUDPAddrPort(b)
	if err != nil || string(b[:size]) != "hello" || from.Addr().Unmap() != ue {
		t.Errorf("%v to %v: got %q from %v, %v; want it to arrive", ue, to, b[:size], from, err)
	}
	y.quiet(t)
}

// quiet: the gNB has got nothing.
func (y *yard) quiet(t *testing.T) {
	t.Helper()
	check(t, y.gnb.SetReadDeadline(time.Now()))
	if size, from, err := y.gnb.ReadFromUDPAddrPort(make([]byte, 2000)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the gNB got %d octets from %v, %v", size, from, err)
	}
	check(t, y.gnb.SetReadDeadline(time.Now().Add(time.Minute)))
}

// kept sends a datagram of the UE and has it counted and not arrive.
func (y *yard) kept(t *testing.T, ue netip.Addr, ns *topology.Namespace, to netip.Addr) {
	t.Helper()
	conn := y.at(t, ns, to)
	before := y.counted(t)
	y.uplink(t, datagram(ue, to, []byte("hello")))
	for begin := time.Now(); y.counted(t) == before; time.Sleep(time.Millisecond) {
		if time.Since(begin) > 5*time.Second {
			t.Errorf("%v to %v: not counted", ue, to)
			break
		}
	}
	check(t, conn.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	if _, from, err := conn.ReadFromUDPAddrPort(make([]byte, 64)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%v to %v: it has arrived, from %v, %v", ue, to, from, err)
	}
	if n := y.counted(t); n != before+1 {
		t.Errorf("%v to %v: %d packets counted, want 1", ue, to, n-before)
	}
}

// refused is kept, and has the UE told.
func (y *yard) refused(t *testing.T, ue netip.Addr, ns *topology.Namespace, to netip.Addr) {
	t.Helper()
	y.kept(t, ue, ns, to)
	check(t, y.gnb.SetReadDeadline(time.Now().Add(5*time.Second)))
	b := make([]byte, 2000)
	size, _, err := y.gnb.ReadFromUDPAddrPort(b)
	if err != nil {
		t.Errorf("%v to %v: the UE is not told: %v", ue, to, err)
		return
	}
	h, err := gtpu.Parse(b[:size])
	check(t, err)
	p := b[len(h):size]
	if told := p[0]>>4 == 4 && p[9] == inet.ProtoICMP && p[20] == 3 && p[21] == 13 || p[0]>>4 == 6 && p[6] == inet.ProtoICMPv6 && p[40] == 1 && p[41] == 1; !told {
		t.Errorf("%v to %v: the UE is told %x, want ICMP administratively prohibited", ue, to, p)
	}
}

// counted is what the datapath says of packets that a fence has refused: none of them is
// counted otherwise.
func (y *yard) counted(t *testing.T) uint64 {
	t.Helper()
	all, err := y.upf.Drops()
	check(t, err)
	if n := all[datapath.DropNextHop.String()]; n != 0 {
		t.Errorf("%d packets are counted as %v", n, datapath.DropNextHop)
	}
	return all[datapath.DropN6Route.String()]
}
