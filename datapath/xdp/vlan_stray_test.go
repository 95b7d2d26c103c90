package xdp_test

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/xdp"
	"github.com/plumbline-upf/plumbline/gtpu"
)

// TestVLANStray: N3 and N6 are tags of one device. GTP-U in the VLAN of N6 is refused as on
// a device of a data network, whole or in fragments, and what else comes to the UPF's
// address there is the host's.
func TestVLANStray(t *testing.T) {
	for name, on := range map[string]func(xdp.Config) xdp.Config{"native": nil, "tcx": onTC} {
		t.Run(name, func(t *testing.T) {
			n := layNetwork(t, "xdp-stray-"+name)
			n.on = on
			upf6, gnb6 := addAddress(t, n.N3.UPF, "fd03::1/64"), addAddress(t, n.N3.Peer, "fd03::2/64")
			trunk(t, n.N3.Peer, vlanN6)
			check(t, n.GNB.Do(func() error { // what the UPF says of that address has the tag of N3
				return netlink.NeighSet(&netlink.Neigh{
					LinkIndex: n.N3.Peer.Index, IP: upf6.AsSlice(), HardwareAddr: n.N3.UPF.MAC[:], State: netlink.NUD_PERMANENT,
				})
			}))
			n6 := n6On(n.N3.UPF.Device, n.N3.Peer.Address.Addr())
			n6.Networks[0].VLAN = vlanN6
			n.startOn(t, xdp.Native, n6, datapath.Endpoint{
				Name: "n3", Device: n.N3.UPF.Device, Address: n.N3.UPF.Address.Addr(), Address6: upf6, VLAN: vlanN3,
			})
			gnb := n.N3.Peer.Address.Addr()
			sent := uint64(0)
			for upf, from := range map[netip.Addr]netip.Addr{n.N3.UPF.Address.Addr(): gnb, upf6: gnb6} {
				n.n3 = netip.AddrPortFrom(upf, gtpu.Port)
				n.gnb = listen(t, n.GNB, netip.AddrPortFrom(from, gtpu.Port))
				n.install(t, from)
				for _, hide := range []bool{false, true} {
					if hide {
						hideUDP(t, n.gnb, from.Is6())
					}
					for _, octets := range []int{0, 1300, 3000} {
						user := n.datagram(payload(octets))
						_, err := n.gnb.WriteToUDPAddrPort(append(gtpu.AppendGPDU(nil, ulTEID, gtpu.PDUTypeUplink, 9, len(user)), user...), n.n3)
						check(t, err)
						sent++
						if hide && from.Is6() && octets == 3000 {
							sent += 2 // each fragment begins with what may hide UDP
						}
					}
				}
				_, err := n.gnb.WriteToUDPAddrPort(gtpu.AppendEchoRequest(nil, 77), n.n3)
				check(t, err)
				sent++
				n.waitDrops(t, "device", sent)

				// Any other port of the address is the host's.
				heard := listen(t, n.UPF, netip.AddrPortFrom(upf, 7))
				other := listen(t, n.GNB, netip.AddrPortFrom(from, 7))
				_, err = other.WriteToUDPAddrPort(payload(3000), netip.AddrPortFrom(upf, 7))
				check(t, err)
				check(t, heard.SetReadDeadline(time.Now().Add(patience)))
				if size, err := heard.Read(make([]byte, 4000)); err != nil || size != 3000 {
					t.Errorf("the host heard %d octets: %v", size, err)
				}
			}
			usage, err := n.upf.Passes()
			check(t, err)
			if drops, err := n.upf.Drops(); err != nil || drops["device"] != sent || usage["signalling"] != 0 {
				t.Errorf("drops %v (%v), passes %v, want %d of device and no signalling", drops, err, usage, sent)
			}
		})
	}
}

// hideUDP puts something between the IP and the UDP header of what is sent.
func hideUDP(t *testing.T, conn *net.UDPConn, v6 bool) {
	t.Helper()
	raw, err := conn.SyscallConn()
	check(t, err)
	level, option, value := unix.IPPROTO_IP, unix.IP_OPTIONS, "\x01\x01\x01\x00"
	if v6 {
		level, option, value = unix.IPPROTO_IPV6, unix.IPV6_DSTOPTS, "\x00\x00\x01\x04\x00\x00\x00\x00"
	}
	check(t, raw.Control(func(fd uintptr) { check(t, unix.SetsockoptString(int(fd), level, option, value)) }))
}
