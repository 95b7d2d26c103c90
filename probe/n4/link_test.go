package n4

import (
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/probe/hook"
)

// TestTag sends a frame with tags in it: the sender's device has all of them in the frame,
// the receiver's all but the first, which the kernel has taken off.
func TestTag(t *testing.T) {
	b := newBed(t, "tag")
	m := open(t, Config{UPFs: []UPF{{Name: "there"}, {Name: "here"}}})
	for i, ns := range []string{b.cp, b.up} {
		attach(t, m, Point{UPF: i, Namespace: path(ns), Device: "n4"})
	}
	const dot1q = layers.EthernetTypeDot1Q
	one := serialize(t, ether(dot1q), tag(5, layers.EthernetTypeIPv4), ip4(layers.IPProtocolUDP), udp(pfcp.Port, pfcp.Port), gopacket.Payload(heartbeat(t, 1, 1)))
	two := serialize(t, ether(layers.EthernetTypeQinQ), tag(5, dot1q), tag(6, layers.EthernetTypeIPv6), ip6(layers.IPProtocolUDP), udp(pfcp.Port, pfcp.Port), gopacket.Payload(heartbeat(t, 2, 1)))
	in(t, b.cp, func() error {
		device, err := net.InterfaceByName("n4")
		if err != nil {
			return err
		}
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		for _, frame := range [][]byte{one, two} {
			if err := unix.Sendto(fd, frame, 0, &unix.SockaddrLinklayer{Ifindex: device.Index}); err != nil {
				return err
			}
		}
		return nil
	})
	s := until(t, m, func(s *Snapshot) bool { return s.datagrams() == 4 })
	for _, p := range s.Points {
		if p.Datagrams != 2 || p.Messages != 2 || p.Malformed != 0 {
			t.Errorf("%s: got %+v, want 2 datagrams", p.Namespace, p)
		}
	}
}

// TestTUN has N4 over a device without a link header.
func TestTUN(t *testing.T) {
	b := newBed(t, "tun")
	upAddr, cpAddr := netip.MustParseAddr("10.5.0.1"), netip.MustParseAddr("10.5.0.2")
	device := &netlink.Tuntap{LinkAttrs: netlink.LinkAttrs{Name: "tun4"}, Mode: netlink.TUNTAP_MODE_TUN, Flags: netlink.TUNTAP_NO_PI, Queues: 1}
	in(t, b.up, func() error {
		if err := netlink.LinkAdd(device); err != nil {
			return err
		}
		address := &netlink.Addr{IPNet: &net.IPNet{IP: upAddr.AsSlice(), Mask: net.CIDRMask(24, 32)}}
		if err := netlink.AddrAdd(device, address); err != nil {
			return err
		}
		return up("tun4")
	})
	t.Cleanup(func() { device.Fds[0].Close() })
	m := open(t, Config{UPFs: []UPF{{Name: "a", N4: []netip.Addr{upAddr}}}})
	attach(t, m, Point{Namespace: path(b.up), Device: "tun4"})
	if found, err := (hook.Place{Namespace: path(b.up), Device: "tun4"}).Find(); err != nil || !found.Bare {
		t.Fatalf("got %+v, %v, want a device without link header", found, err)
	}
	conn := listen(t, b.up, netip.AddrPortFrom(upAddr, pfcp.Port))

	header, ports, packet := ip4(layers.IPProtocolUDP), udp(pfcp.Port, pfcp.Port), gopacket.NewSerializeBuffer()
	header.SrcIP, header.DstIP = cpAddr.AsSlice(), upAddr.AsSlice()
	err := errors.Join(ports.SetNetworkLayerForChecksum(header),
		gopacket.SerializeLayers(packet, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, header, ports, gopacket.Payload(heartbeat(t, 1, 1))))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := device.Fds[0].Write(packet.Bytes()); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 100)
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	if _, from, err := conn.ReadFromUDPAddrPort(got); err != nil || from.Addr().Unmap() != cpAddr {
		t.Fatalf("got a datagram of %v, %v", from, err)
	}
	if _, err := conn.WriteToUDPAddrPort(heartbeatResponse(t, 1), netip.AddrPortFrom(cpAddr, pfcp.Port)); err != nil {
		t.Fatal(err)
	}
	s := until(t, m, func(s *Snapshot) bool { return s.datagrams() == 2 })
	if len(s.Series) != 1 || s.Series[0].Role != CP || s.Series[0].Answered != 1 {
		t.Errorf("got %+v at %+v, want 1 heartbeat answered", s.Series, s.Points)
	}
}
