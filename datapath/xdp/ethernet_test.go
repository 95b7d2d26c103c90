package xdp_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/gtpu"
)

// TestEthernet: an Ethernet PDU session reaches a host of an Ethernet data
// network, whose kernel answers its ARP and its datagrams, and frames with a tag
// keep it.
func TestEthernet(t *testing.T) {
	n := layNetwork(t, "xdp-ether")
	lan := n.layLAN(t)
	n.startLAN(t)
	n.gnb = listen(t, n.GNB, netip.AddrPortFrom(n.N3.Peer.Address.Addr(), gtpu.Port))
	n.installFrames(t, 1, ulTEID, dlTEID)

	ue, server := net.HardwareAddr{2, 0, 0, 0, 0x77, 1}, lan.MAC
	// ARP. Source: RFC 826.
	request := append(bytes.Repeat([]byte{0xff}, 6), ue...)
	request = append(request, 8, 6, 0, 1, 8, 0, 6, 4, 0, 1)
	request = append(append(append(request, ue...), 192, 168, 77, 1), 0, 0, 0, 0, 0, 0, 192, 168, 77, 2)
	n.etherUp(t, request)
	reply := n.etherAtGNB(t)
	if !bytes.Equal(reply[:6], ue) || !bytes.Equal(reply[6:12], server) || binary.BigEndian.Uint16(reply[20:]) != 2 {
		t.Fatalf("ARP reply: got %x", reply)
	}
	// UDP: what the host answers has its checksum, though its kernel leaves that to
	// the device.
	conn := listen(t, n.DN, netip.MustParseAddrPort("192.168.77.2:7000"))
	n.ue = netip.MustParseAddr("192.168.77.1")
	packet := n.datagram([]byte("over the bridge"))
	copy(packet[16:], []byte{192, 168, 77, 2})
	binary.BigEndian.PutUint16(packet[10:], 0)
	binary.BigEndian.PutUint16(packet[10:], sum(packet[:20]))
	binary.BigEndian.PutUint16(packet[22:], 7000)
	n.etherUp(t, append(append(append(append([]byte{}, server...), ue...), 8, 0), packet...))
	buf := make([]byte, 100)
	size, from, err := conn.ReadFromUDPAddrPort(buf)
	if err != nil || string(buf[:size]) != "over the bridge" {
		t.Fatalf("the host got %q, %v", buf[:size], err)
	}
	_, err = conn.WriteToUDPAddrPort([]byte("and back"), from)
	check(t, err)
	back := n.etherAtGNB(t)
	if !bytes.Equal(back[42:], []byte("and back")) || udpSum(back[14:]) != 0xffff {
		t.Errorf("answer: got %x, sum with its pseudo header %#x", back, udpSum(back[14:]))
	}
	// A tag, which the kernel takes off before a packet socket sees the frame.
	tagged := append(append(append([]byte{}, ue...), server...), 0x81, 0, 0xa0, 7, 0x88, 0xb5)
	tagged = append(tagged, make([]byte, 46)...)
	known := n.stations(t)
	n.etherUp(t, slices.Concat(server, ue, tagged[12:])) // the UE is in that VLAN, too
	for deadline := time.Now().Add(patience); n.stations(t) == known; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the UE is not known in the VLAN: %d addresses", known)
		}
	}
	lan.send(t, tagged)
	if got := n.etherAtGNB(t); !bytes.Equal(got, tagged) {
		t.Errorf("frame with a tag: got %x, want %x", got, tagged)
	}
	usage, err := n.upf.Usage(1)
	check(t, err)
	if u := usage.GetRules(); u[0].GetPackets() != 3 || u[1].GetPackets() < 3 {
		t.Errorf("usage: got %v", u)
	}
}

// host is the far end of the Ethernet data network.
type host struct {
	MAC   net.HardwareAddr
	index int
	n     *network
}

// layLAN lays a link between UPF and data network, with an address at the far end.
func (n *network) layLAN(t *testing.T) *host {
	t.Helper()
	h := &host{n: n}
	check(t, n.UPF.Do(func() error {
		pair := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "lan0"}, PeerName: "lan1"}
		if err := netlink.LinkAdd(pair); err != nil {
			return err
		}
		// As of the bed's other links: XDP redirects to an end with GRO only, and
		// frames have their checksums.
		return errors.Join(setFeatures("lan0", map[string]bool{"rx-gro": true}),
			setFeatures("lan1", map[string]bool{"rx-gro": true, "tx-checksum-ip-generic": false}))
	}))
	check(t, n.UPF.Do(func() error {
		near, err := netlink.LinkByName("lan0")
		if err != nil {
			return err
		}
		if err := netlink.LinkSetUp(near); err != nil {
			return err
		}
		far, err := netlink.LinkByName("lan1")
		if err != nil {
			return err
		}
		ns, err := unix.Open(n.DN.Path(), unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(ns)
		return netlink.LinkSetNsFd(far, ns)
	}))
	check(t, n.DN.Do(func() error {
		far, err := netlink.LinkByName("lan1")
		if err != nil {
			return err
		}
		h.MAC, h.index = far.Attrs().HardwareAddr, far.Attrs().Index
		addr, err := netlink.ParseAddr("192.168.77.2/24")
		if err != nil {
			return err
		}
		if err := netlink.AddrAdd(far, addr); err != nil {
			return err
		}
		return netlink.LinkSetUp(far)
	}))
	return h
}

func setFeatures(device string, features map[string]bool) error {
	tool, err := ethtool.NewEthtool()
	if err != nil {
		return err
	}
	defer tool.Close()
	return tool.Change(device, features)
}

// send puts a frame on the link at the far end.
func (h *host) send(t *testing.T, frame []byte) {
	t.Helper()
	check(t, h.n.DN.Do(func() error {
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Sendto(fd, frame, 0, &unix.SockaddrLinklayer{Ifindex: h.index})
	}))
}

func (n *network) etherUp(t *testing.T, frame []byte) {
	t.Helper()
	_, err := n.gnb.WriteToUDPAddrPort(append(gtpu.AppendGPDU(nil, ulTEID, gtpu.PDUTypeUplink, 9, len(frame)), frame...), n.n3)
	check(t, err)
}

// stations is how many addresses the bridge knows.
func (n *network) stations(t *testing.T) uint64 {
	t.Helper()
	for _, u := range n.upf.TableUse() {
		if u.Name == "mac_addresses" {
			return uint64(u.Used)
		}
	}
	t.Fatal("no table mac_addresses")
	return 0
}

// etherAtGNB reads the next frame for the UE; others are the kernel's own, to
// groups.
func (n *network) etherAtGNB(t *testing.T) []byte {
	t.Helper()
	check(t, n.gnb.SetReadDeadline(time.Now().Add(10*time.Second)))
	for {
		if f := n.atGNB(t); f[0]&1 == 0 {
			return f
		}
	}
}

// udpSum is the sum over a UDP datagram over IPv4 and its pseudo header: 0xffff if
// its checksum is right.
func udpSum(ip []byte) uint16 {
	b := append(append([]byte{}, ip[12:20]...), 0, 17)
	b = binary.BigEndian.AppendUint16(b, uint16(len(ip)-20))
	b = append(b, ip[20:]...)
	if len(b)%2 == 1 {
		b = append(b, 0)
	}
	var s uint32
	for i := 0; i < len(b); i += 2 {
		s += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	return uint16(s + s>>16)
}
