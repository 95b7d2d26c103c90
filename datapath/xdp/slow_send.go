package xdp

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"

	"plumbline/gtpu"
)

const lenOuter = 28 // octets of IPv4 and UDP header

// rawSender sends through sockets that take whole IP packets, each bound to a
// device; what is too long for N3 goes through the GTP-U socket, where the
// kernel fragments it.
type rawSender struct {
	n3v4, n6v4, n6v6 int
	gtpu             *net.UDPConn
}

func newRawSender(conn *net.UDPConn, p ports) (*rawSender, error) {
	r := &rawSender{n3v4: -1, n6v4: -1, n6v6: -1, gtpu: conn}
	for _, s := range []struct {
		fd     *int
		family int
		device string
	}{
		{&r.n3v4, unix.AF_INET, p.n3.name},
		{&r.n6v4, unix.AF_INET, p.n6.name},
		{&r.n6v6, unix.AF_INET6, p.n6.name},
	} {
		var err error
		*s.fd, err = rawSocket(s.family, s.device)
		if err != nil {
			return nil, errors.Join(err, r.close())
		}
	}
	return r, allowFragments(conn)
}

func rawSocket(family int, device string) (int, error) {
	fd, err := unix.Socket(family, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.IPPROTO_RAW)
	if err != nil {
		return -1, fmt.Errorf("xdp: raw socket for %s (needs CAP_NET_RAW): %w", device, err)
	}
	if err := unix.SetsockoptString(fd, unix.SOL_SOCKET, unix.SO_BINDTODEVICE, device); err != nil {
		return -1, errors.Join(fmt.Errorf("xdp: bind raw socket to %s: %w", device, err), unix.Close(fd))
	}
	return fd, nil
}

// allowFragments lets the kernel fragment what conn sends.
func allowFragments(conn *net.UDPConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return fmt.Errorf("xdp: GTP-U socket: %w", err)
	}
	var opt error
	err = raw.Control(func(fd uintptr) {
		opt = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_DONT)
	})
	return errors.Join(err, opt)
}

func (r *rawSender) n3(packet []byte) error {
	peer := [4]byte(packet[16:20])
	err := unix.Sendto(r.n3v4, packet, 0, &unix.SockaddrInet4{Addr: peer})
	if !errors.Is(err, unix.EMSGSIZE) {
		return err
	}
	_, err = r.gtpu.WriteToUDPAddrPort(packet[lenOuter:], netip.AddrPortFrom(netip.AddrFrom4(peer), gtpu.Port))
	return err
}

func (r *rawSender) n6(packet []byte) error {
	if packet[0]>>4 == 6 {
		return unix.Sendto(r.n6v6, packet, 0, &unix.SockaddrInet6{Addr: [16]byte(packet[24:40])})
	}
	return unix.Sendto(r.n6v4, packet, 0, &unix.SockaddrInet4{Addr: [4]byte(packet[16:20])})
}

func (r *rawSender) close() error {
	var errs []error
	for _, fd := range []int{r.n3v4, r.n6v4, r.n6v6} {
		if fd >= 0 {
			errs = append(errs, unix.Close(fd))
		}
	}
	return errors.Join(errs...)
}
