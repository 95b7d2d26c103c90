package gnb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/checksum"
	"github.com/plumbline-upf/plumbline/internal/inet"
	"github.com/plumbline-upf/plumbline/internal/vnet"
)

//go:generate go tool bpf2go -cc clang-19 -target bpfel -go-package gnb super ../../bpf/gnb/superpacket.bpf.c -- -O2 -g -Wall -Wextra -Werror -Wshadow -mcpu=v3 -I../../bpf/include -I/usr/include/x86_64-linux-gnu

// superMark is the mark of frames for the program: MARK in superpacket.bpf.c.
const superMark = 0x67746d70

// Octets before the GTP-U header in a frame of the packet socket.
const superRoom = vnet.HeaderLen + inet.LenEthernet + inet.LenIPv4 + inet.LenUDP

// maxSuper is the most octets that a UE's device gives at once where they are to
// go out as one G-PDU: slot and outer IP packet have room for the headers, too.
const maxSuper = 65000

// superN3 sends G-PDUs longer than N3's MTU unsegmented through a packet socket on the N3 device:
// TCP of up to 64 KiB after one GTP-U header, for a receiver at the other end of a veth that
// decapsulates it before segmentation. A virtio header describes the inner TCP header to the
// kernel; a program at the device's egress (superpacket.bpf.c) describes the tunnel, and also finds
// route and neighbour. It is safe for concurrent use.
type superN3 struct {
	device  netlink.Link
	socket  int
	objects superObjects
	egress  link.Link
}

// openSuper attaches the program and opens the socket, in the caller's namespace.
//
// Errors: [ErrConfig] if the UEs' UPFs are not at the other end of device, a veth:
// then G-PDUs could reach a wire, before which the kernel would segment them into
// invalid packets; [errors.ErrUnsupported] before Linux 6.6.
func openSuper(device netlink.Link, ues []UE) (*superN3, error) {
	if !isVeth(device) {
		return nil, fmt.Errorf("%w: n3.super_packets: device %s is a %s, not a veth", ErrConfig, device.Attrs().Name, device.Type())
	}
	if err := checkFarEnd(device, ues); err != nil {
		return nil, err
	}
	s := &superN3{device: device, socket: -1}
	if err := s.open(device.Attrs().Index); err != nil {
		s.close()
		return nil, fmt.Errorf("gnb: super-packets on %s: %w", device.Attrs().Name, err)
	}
	return s, nil
}

func (s *superN3) open(ifindex int) error {
	err := loadSuperObjects(&s.objects, nil)
	if err != nil {
		return err
	}
	s.egress, err = link.AttachTCX(link.TCXOptions{
		Interface: ifindex, Program: s.objects.SuperN3, Attach: ebpf.AttachTCXEgress, Anchor: link.Head(),
	})
	if err != nil {
		return err
	}
	// Of protocol 0, it receives nothing.
	if s.socket, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
		return err
	}
	return errors.Join(
		unix.Bind(s.socket, &unix.SockaddrLinklayer{Ifindex: ifindex}),
		unix.SetsockoptInt(s.socket, unix.SOL_PACKET, unix.PACKET_VNET_HDR, 1),
		unix.SetsockoptInt(s.socket, unix.SOL_SOCKET, unix.SO_MARK, superMark),
		setBuffer(s.socket, unix.SO_SNDBUFFORCE, unix.SO_SNDBUF, sendBuffer))
}

func (s *superN3) close() {
	if s.egress != nil {
		s.egress.Close()
	}
	s.objects.Close()
	if s.socket >= 0 {
		unix.Close(s.socket)
	}
}

// checkFarEnd returns an error unless every UE's UPF is at the other end of a veth.
func checkFarEnd(veth netlink.Link, ues []UE) error {
	seen := make(map[netip.Addr]bool)
	for _, u := range ues {
		if seen[u.UPF] {
			continue
		}
		seen[u.UPF] = true
		there, err := farEndHas(veth, u.UPF)
		if err != nil {
			return fmt.Errorf("gnb: n3.super_packets: %w", err)
		}
		if !there {
			return fmt.Errorf("%w: n3.super_packets: UPF %v of ue %s is not at the other end of %s", ErrConfig, u.UPF, u.Name, veth.Attrs().Name)
		}
	}
	return nil
}

func isVeth(device netlink.Link) bool { return device.Type() == "veth" }

// frame is what one UE's super-packets begin with, up to the GTP-U header.
type frame [inet.LenEthernet + inet.LenIPv4 + inet.LenUDP]byte

// newFrame returns the headers from a UE's socket to its UPF. Ethernet addresses
// are those of the kernel's route.
func newFrame(conn *net.UDPConn) frame {
	from, to := conn.LocalAddr().(*net.UDPAddr).AddrPort(), conn.RemoteAddr().(*net.UDPAddr).AddrPort()
	return frameBetween(from, netip.AddrPortFrom(to.Addr(), gtpu.Port))
}

func frameBetween(from, to netip.AddrPort) (f frame) {
	binary.BigEndian.PutUint16(f[12:], unix.ETH_P_IP)
	ip := f[inet.LenEthernet:]
	ip[0], ip[8], ip[9] = 0x45, 64, unix.IPPROTO_UDP
	binary.BigEndian.PutUint16(ip[6:], 0x4000) // do not fragment
	source, destination := from.Addr().Unmap().As4(), to.Addr().Unmap().As4()
	copy(ip[12:], source[:])
	copy(ip[16:], destination[:])
	udp := ip[inet.LenIPv4:]
	binary.BigEndian.PutUint16(udp, from.Port())
	binary.BigEndian.PutUint16(udp[2:], to.Port())
	return f
}

// send sends the G-PDU b[superRoom:], in which the user packet begins at octet
// tpdu of b. What is before the G-PDU in b is overwritten.
func (s *superN3) send(f *frame, b []byte, super vnet.Super, tpdu int) error {
	super.Put(b, tpdu-vnet.HeaderLen)
	copy(b[vnet.HeaderLen:], f[:])
	ip := b[vnet.HeaderLen+inet.LenEthernet:]
	binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
	binary.BigEndian.PutUint16(ip[10:], checksum.Of(ip[:inet.LenIPv4]))
	binary.BigEndian.PutUint16(ip[inet.LenIPv4+4:], uint16(len(ip)-inet.LenIPv4))
	_, err := unix.Write(s.socket, b)
	return err
}
