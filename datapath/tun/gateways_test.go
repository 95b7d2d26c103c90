package tun

import (
	"net/netip"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/plumbline-upf/plumbline/datapath"
)

// TestGatewaysAgain: with N6's device down the kernel takes the routes to gateways away;
// when it is up again UEs get there again.
func TestGatewaysAgain(t *testing.T) {
	y := openYard(t, "tungateways", Config{N6: datapath.N6{Networks: []datapath.DataNetwork{{
		Name: "n6", Device: "n6", Gateways: []netip.Addr{netip.MustParseAddr("10.6.0.2"), netip.MustParseAddr("fd06::2")},
	}}}})
	y.install(t)
	y.here(t)
	check(t, y.UPF.Do(func() error {
		link, err := netlink.LinkByName("n6")
		if err == nil {
			err = netlink.LinkSetDown(link)
		}
		if err == nil {
			time.Sleep(2 * settleTime) // the routes are looked for, and cannot be
			err = netlink.LinkSetUp(link)
		}
		return err
	}))
	// These the kernel takes away, too, and there is no Neighbour Discovery here.
	address(t, y.UPF, "n6", "fd06::1/64")
	check(t, y.UPF.Do(func() error {
		link, err := netlink.LinkByName("n6")
		if err != nil {
			return err
		}
		return netlink.NeighSet(&netlink.Neigh{
			LinkIndex: link.Attrs().Index, IP: netip.MustParseAddr("fd06::2").AsSlice(), HardwareAddr: y.N6.Peer.MAC, State: netlink.NUD_PERMANENT,
		})
	}))
	for ue, to := range map[netip.Addr]netip.Addr{y.ue: beyond4.Addr(), y.ue6: beyond6.Addr()} {
		conn := y.at(t, y.DN, to)
		for end := time.Now().Add(3 * peerTime); ; {
			y.uplink(t, datagram(ue, to, []byte("hello")))
			check(t, conn.SetReadDeadline(time.Now().Add(100*time.Millisecond)))
			if _, err := conn.Read(make([]byte, 64)); err == nil {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%v does not get to %v again", ue, to)
			}
		}
	}
}
