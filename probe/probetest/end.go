package probetest

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// socket is N3 as a UDP socket.
type socket struct {
	file int
	wire Wire
	to   unix.Sockaddr
}

func openSocket(at, gnb netip.Addr) (end, error) {
	s := &socket{wire: Wire{Downlink: true}, to: address(gnb)}
	family := unix.AF_INET
	if at.Is6() {
		family = unix.AF_INET6
	}
	var err error
	if s.file, err = unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0); err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	err = errors.Join(
		unix.SetsockoptInt(s.file, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, room),
		unix.Bind(s.file, address(at)))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("GTP-U socket at %v: %w", at, err), unix.Close(s.file))
	}
	return s, nil
}

// address is an address with the port of GTP-U.
func address(a netip.Addr) unix.Sockaddr {
	if a.Is6() {
		return &unix.SockaddrInet6{Port: gtpu.Port, Addr: a.As16()}
	}
	return &unix.SockaddrInet4{Port: gtpu.Port, Addr: a.As4()}
}

func (s *socket) fd() int { return s.file }

func (s *socket) read(b []byte) ([]byte, uint32, bool, error) {
	n, err := unix.Read(s.file, b)
	if err != nil {
		return nil, 0, false, err
	}
	teid, packet, ok := parse(b[:n])
	return packet, teid, ok, nil
}

func (s *socket) write(packet []byte, teid uint32) error {
	return unix.Sendto(s.file, s.wire.gpdu(teid, 1, packet), 0, s.to)
}

// tun is N6 as a TUN device.
type tun struct{ file int }

// queue is how many packets may wait in the device.
const queue = 50_000

func openTUN(name string, pools []netip.Prefix) (end, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: "/dev/net/tun", Err: err}
	}
	request, err := unix.NewIfreq(name)
	if err == nil {
		request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
	}
	if err == nil {
		err = raise(name, pools)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("device %s: %w", name, err), unix.Close(fd))
	}
	return &tun{fd}, nil
}

// raise brings the device up and routes the UEs to it.
func raise(name string, pools []netip.Prefix) error {
	device, err := netlink.LinkByName(name)
	if err == nil {
		err = netlink.LinkSetTxQLen(device, queue)
	}
	if err == nil {
		err = netlink.LinkSetUp(device)
	}
	if err != nil {
		return err
	}
	for _, pool := range pools {
		to := &net.IPNet{IP: pool.Addr().AsSlice(), Mask: net.CIDRMask(pool.Bits(), pool.Addr().BitLen())}
		if err := netlink.RouteAdd(&netlink.Route{LinkIndex: device.Attrs().Index, Dst: to}); err != nil {
			return fmt.Errorf("route %v: %w", pool, err)
		}
	}
	return nil
}

func (t *tun) fd() int { return t.file }

func (t *tun) read(b []byte) ([]byte, uint32, bool, error) {
	n, err := unix.Read(t.file, b)
	if err != nil {
		return nil, 0, false, err
	}
	packet := b[min(lenVirtio, n):n]
	return packet, 0, unicast(packet), nil
}

func (t *tun) write(packet []byte, _ uint32) error { return t.writeWith(virtio{}, packet) }

func (t *tun) writeWith(v virtio, packet []byte) error {
	_, err := unix.Write(t.file, append(v.append(make([]byte, 0, lenVirtio+len(packet))), packet...))
	return err
}

// unicast reports whether the packet is for one host: the kernel speaks to groups by
// itself.
func unicast(packet []byte) bool {
	switch {
	case len(packet) >= inet.LenIPv4 && packet[0]>>4 == 4:
		return packet[16] < 224
	case len(packet) >= inet.LenIPv6 && packet[0]>>4 == 6:
		return packet[24] != 0xff
	}
	return false
}

// frames is N3 or N6 as a packet socket.
type frames struct {
	file int
	wire Wire
}

func openFrames(w Wire) (end, error) {
	const all = uint16(unix.ETH_P_ALL)<<8 | unix.ETH_P_ALL>>8
	fd, err := w.open(all)
	if err != nil {
		return nil, err
	}
	return &frames{fd, w}, nil
}

func (f *frames) fd() int { return f.file }

func (f *frames) read(b []byte) ([]byte, uint32, bool, error) {
	n, from, err := unix.Recvfrom(f.file, b, 0)
	if err != nil {
		return nil, 0, false, err
	}
	l, ok := from.(*unix.SockaddrLinklayer)
	if !ok || l.Pkttype != unix.PACKET_HOST || n < inet.LenEthernet {
		return nil, 0, false, nil
	}
	packet := b[inet.LenEthernet:n] // the kernel has taken a tag off
	if !f.wire.From.IsValid() {
		return packet, 0, unicast(packet), nil
	}
	before := f.wire.outer()
	if len(packet) < before || !slices.Equal(packet[before-6:before-4], []byte{gtpu.Port >> 8, gtpu.Port & 0xff}) {
		return nil, 0, false, nil
	}
	teid, packet, ok := parse(packet[before:])
	return packet, teid, ok, nil
}

func (f *frames) write(packet []byte, teid uint32) error {
	if f.wire.From.IsValid() {
		packet = f.wire.datagram(teid, 1, packet)
	}
	_, err := unix.Write(f.file, f.wire.frame(packet))
	return err
}
