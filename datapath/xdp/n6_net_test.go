package xdp_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/xdp"
	"github.com/plumbline-upf/plumbline/gtpu"
)

// flows sends a G-PDU of each of some flows and returns those that reach the data
// network, by the port of the UE.
func (n *network) flows(t *testing.T, count int) map[uint16]bool {
	t.Helper()
	for i := range count {
		user := n.datagram(payload(10))
		binary.BigEndian.PutUint16(user[20:], uint16(uePort+i))
		message := append(gtpu.AppendGPDU(nil, ulTEID, gtpu.PDUTypeUplink, 9, len(user)), user...)
		_, err := n.gnb.WriteToUDPAddrPort(message, netip.AddrPortFrom(n.N3.UPF.Address.Addr(), gtpu.Port))
		check(t, err)
	}
	got := map[uint16]bool{}
	buf := make([]byte, 4096)
	for {
		check(t, n.dn.SetReadDeadline(time.Now().Add(300*time.Millisecond)))
		_, from, err := n.dn.ReadFromUDPAddrPort(buf)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return got
		}
		check(t, err)
		got[from.Port()] = true
	}
}

// inUPF does something with the kernel of the UPF's namespace.
func (n *network) inUPF(t *testing.T, do func(link netlink.Link) error) {
	t.Helper()
	check(t, n.UPF.Do(func() error {
		link, err := netlink.LinkByName(n.N6.UPF.Device)
		if err != nil {
			return err
		}
		return do(link)
	}))
}

// await waits for the driver to take in what netlink tells.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not after 10 s", what)
		}
	}
}

// TestRoutesAtRunTime: the kernel's routes on N6 are followed: gateways that come,
// go and fail, by flow; and so is the MTU of the device.
func TestRoutesAtRunTime(t *testing.T) {
	const count = 64
	n := layNetwork(t, "xdp-routes")
	second := netip.MustParseAddr("10.6.0.3")
	n.inUPF(t, func(link netlink.Link) error {
		return netlink.NeighSet(nobody(link, second))
	})
	n.startOn(t, xdp.Native, n6On(n.N6.UPF.Device), datapath.Endpoint{Name: "n3", Device: n.N3.UPF.Device, Address: n.N3.UPF.Address.Addr()})
	n.gnb = listen(t, n.GNB, netip.AddrPortFrom(n.N3.Peer.Address.Addr(), gtpu.Port))
	n.install(t, n.N3.Peer.Address.Addr())
	target := &net.IPNet{IP: n.N6.Peer.Address.Addr().AsSlice(), Mask: net.CIDRMask(32, 32)}
	first := n.N6.Peer.Address.Addr()
	gateways := func(mtu int, all ...netip.Addr) {
		n.inUPF(t, func(link netlink.Link) error {
			r := &netlink.Route{Dst: target, MTU: mtu}
			for _, a := range all {
				r.MultiPath = append(r.MultiPath, &netlink.NexthopInfo{LinkIndex: link.Attrs().Index, Gw: a.AsSlice()})
			}
			return netlink.RouteReplace(r)
		})
	}
	peer := func(a netip.Addr) datapath.Peer {
		for _, p := range n.upf.Peers() {
			if p.Interface == "N6" && p.Address == a {
				return p
			}
		}
		return datapath.Peer{}
	}
	if got := n.flows(t, count); len(got) != count {
		t.Errorf("to a neighbour %d of %d flows", len(got), count)
	}

	gateways(0, first, second) // of which the second has the address of nobody
	await(t, "the second gateway", func() bool { return peer(second).Sessions > 1 })
	shared := n.flows(t, count)
	if len(shared) < count/4 || len(shared) > 3*count/4 {
		t.Errorf("over the first of two gateways %d of %d flows", len(shared), count)
	}
	if again := n.flows(t, count); !maps.Equal(shared, again) {
		t.Errorf("flows over the first gateway were %v, are %v", ports(shared), ports(again))
	}

	n.inUPF(t, func(link netlink.Link) error {
		e := nobody(link, second)
		e.State, e.HardwareAddr = netlink.NUD_FAILED, nil
		return netlink.NeighSet(e)
	})
	await(t, "the second gateway's end", func() bool { return peer(second).MAC == "" })
	if got := n.flows(t, count); len(got) != count {
		t.Errorf("while the second gateway fails %d of %d flows", len(got), count)
	}
	n.inUPF(t, func(link netlink.Link) error { return netlink.NeighSet(nobody(link, second)) })
	await(t, "the second gateway again", func() bool { return peer(second).MAC != "" })
	if again := n.flows(t, count); !maps.Equal(shared, again) {
		t.Errorf("with the second gateway again flows over the first were %v, are %v", ports(shared), ports(again))
	}

	n.inUPF(t, func(link netlink.Link) error { return netlink.LinkSetMTU(link, 1400) })
	await(t, "the MTU", func() bool { return peer(first).MTU == 1400 })
}

// nobody is the neighbour entry of an address whose packets nobody takes.
func nobody(link netlink.Link, a netip.Addr) *netlink.Neigh {
	return &netlink.Neigh{
		LinkIndex: link.Attrs().Index, State: netlink.NUD_PERMANENT, IP: a.AsSlice(), HardwareAddr: net.HardwareAddr{2, 0, 0, 0, 0, 0xee},
	}
}

func ports(flows map[uint16]bool) []uint16 { return slices.Sorted(maps.Keys(flows)) }

// TestNATNetwork: datagrams of a UE reach a host from an address and a port of the
// NAT, and answers to there the UE: the first by the slow path, the others by the
// programs.
func TestNATNetwork(t *testing.T) {
	for name, on := range map[string]func(xdp.Config) xdp.Config{"xdp": nil, "tc": onTC} {
		t.Run(name+", by route", func(t *testing.T) {
			n := layNetwork(t, "xdp-nat")
			n.on = on
			pool := netip.MustParsePrefix("198.51.100.0/30")
			check(t, n.DN.Do(func() error { // the data network routes the pool to the UPF
				return netlink.RouteAdd(&netlink.Route{
					Dst: &net.IPNet{IP: pool.Addr().AsSlice(), Mask: net.CIDRMask(pool.Bits(), 32)}, Gw: n.N6.UPF.Address.Addr().AsSlice(),
				})
			}))
			n.translates(t, pool)
			passes, err := n.upf.Passes()
			check(t, err)
			if passes["n6"] != 1 {
				t.Errorf("%d packets took the slow path, want the first one", passes["n6"])
			}
		})
		// What docs/howto-n6.md says of addresses of N6's own subnet.
		t.Run(name+", by proxy ARP", func(t *testing.T) {
			n := layNetwork(t, "xdp-nat")
			n.on = on
			pool := netip.MustParsePrefix("10.6.0.64/32")
			for _, command := range []string{
				"sysctl -w net.ipv4.ip_forward=1",
				"ip route add 10.6.0.64/32 dev lo metric 1000",
				"ip neigh add proxy 10.6.0.64 dev " + n.N6.UPF.Device,
			} {
				check(t, n.UPF.Do(func() error {
					words := strings.Fields(command)
					out, err := exec.CommandContext(t.Context(), words[0], words[1:]...).CombinedOutput()
					if err != nil {
						return fmt.Errorf("%s: %w: %s", command, err, out)
					}
					return nil
				}))
			}
			n.translates(t, pool)
		})
	}
}

// translates starts the UPF with a NAT to pool, and sends datagrams of the UE to the data
// network and back.
func (n *network) translates(t *testing.T, pool netip.Prefix) {
	t.Helper()
	n6 := n6On(n.N6.UPF.Device, n.N6.Peer.Address.Addr())
	n6.Networks[0].NAT = datapath.DefaultNAT(pool)
	n.startOn(t, xdp.Native, n6, datapath.Endpoint{Name: "n3", Device: n.N3.UPF.Device, Address: n.N3.UPF.Address.Addr()})
	n.gnb = listen(t, n.GNB, netip.AddrPortFrom(n.N3.Peer.Address.Addr(), gtpu.Port))
	n.install(t, n.N3.Peer.Address.Addr())
	const count = 20
	var outside netip.AddrPort
	buf := make([]byte, 4096)
	for i := range count {
		user := n.datagram(payload(100 + i))
		message := append(gtpu.AppendGPDU(nil, ulTEID, gtpu.PDUTypeUplink, 9, len(user)), user...)
		_, err := n.gnb.WriteToUDPAddrPort(message, netip.AddrPortFrom(n.N3.UPF.Address.Addr(), gtpu.Port))
		check(t, err)
		size, from, err := n.dn.ReadFromUDPAddrPort(buf)
		check(t, err)
		if !pool.Contains(from.Addr()) || i > 0 && from != outside || !bytes.Equal(buf[:size], payload(100+i)) {
			t.Fatalf("data network got %d octets from %v; want %d from the mapping of before, %v", size, from, 100+i, outside)
		}
		outside = from
		_, err = n.dn.WriteToUDPAddrPort(payload(50), outside)
		check(t, err)
		size, err = n.gnb.Read(buf)
		check(t, err)
		h, err := gtpu.Parse(buf[:size])
		check(t, err)
		back := buf[len(h):size]
		to := netip.AddrPortFrom(netip.AddrFrom4([4]byte(back[16:20])), binary.BigEndian.Uint16(back[22:]))
		if to != netip.AddrPortFrom(n.ue, uePort) || !bytes.Equal(back[28:], payload(50)) {
			t.Fatalf("gNB got a packet to %v; want %v:%d", to, n.ue, uePort)
		}
	}
}
