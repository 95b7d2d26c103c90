package xdp

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"plumbline/datapath"
	"plumbline/gtpu"
)

// gtpuSockets are the sockets of the endpoints, by address.
type gtpuSockets map[netip.Addr]*net.UDPConn

func listenGTPU(endpoints []datapath.Endpoint) (gtpuSockets, error) {
	conns := gtpuSockets{}
	for _, e := range endpoints {
		for _, a := range []netip.Addr{e.Address, e.Address6} {
			if !a.IsValid() || conns[a] != nil {
				continue
			}
			at := netip.AddrPortFrom(a, gtpu.Port)
			conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
			if err != nil {
				return nil, errors.Join(fmt.Errorf("xdp: GTP-U on %v: %w", at, err), conns.close())
			}
			conns[a] = conn
		}
	}
	return conns, nil
}

func (c gtpuSockets) close() error {
	var errs []error
	for _, conn := range c {
		errs = append(errs, conn.Close())
	}
	return errors.Join(errs...)
}

// rawSender sends through sockets that take whole IP packets, each bound to a
// device; what is too long for a tunnel's device goes through the endpoint's
// GTP-U socket, where the kernel fragments it.
type rawSender struct {
	gtpu   gtpuSockets
	device map[netip.Addr]rawSockets // by address of the endpoint
	out    []rawSockets              // by way
	all    []rawSockets
	ether  []*etherPort // by way; nil: of a network for packets
}

// rawSockets are those of a device.
type rawSockets struct{ v4, v6 *rawSocket }

// rawSocket is one that takes whole packets of one IP version.
type rawSocket struct {
	fd int
	// stuck: a packet has waited in vain, and none has been taken since. No other
	// waits then: who sends holds the driver's lock, and may have many.
	stuck atomic.Bool
}

func newRawSender(conns gtpuSockets, p *ports, n6 *datapath.N6) (*rawSender, error) {
	r := &rawSender{gtpu: conns, device: map[netip.Addr]rawSockets{}}
	byName := map[string]rawSockets{}
	for _, port := range slices.Concat(p.gtpu, p.n6) {
		s, ok := byName[port.name]
		if !ok {
			var err error
			if s, err = openRaw(port.name); err != nil {
				return nil, errors.Join(err, r.close())
			}
			byName[port.name] = s
			r.all = append(r.all, s)
		}
		r.device[port.Address], r.device[port.Address6] = s, s
	}
	r.ether = make([]*etherPort, n6.Ways())
	for way := range n6.Ways() {
		r.out = append(r.out, byName[p.n6[n6.Of(way)].name])
	}
	for _, conn := range conns {
		if err := allowFragments(conn); err != nil {
			return nil, errors.Join(err, r.close())
		}
	}
	return r, nil
}

func openRaw(device string) (rawSockets, error) {
	v4, err := openRawSocket(unix.AF_INET, device)
	if err != nil {
		return rawSockets{}, err
	}
	v6, err := openRawSocket(unix.AF_INET6, device)
	if err != nil {
		return rawSockets{}, errors.Join(err, unix.Close(v4))
	}
	return rawSockets{&rawSocket{fd: v4}, &rawSocket{fd: v6}}, nil
}

// sendBuffer is how many octets may be on their way to a device's driver: packets
// of sessions that are released come all at once. The kernel may give less.
const sendBuffer = 8 << 20

// sendWait is how long a packet waits for room there, in milliseconds.
const sendWait = 20

func openRawSocket(family int, device string) (int, error) {
	fd, err := unix.Socket(family, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.IPPROTO_RAW)
	if err != nil {
		return -1, fmt.Errorf("xdp: raw socket for %s (needs CAP_NET_RAW): %w", device, err)
	}
	if err := unix.SetsockoptString(fd, unix.SOL_SOCKET, unix.SO_BINDTODEVICE, device); err != nil {
		return -1, errors.Join(fmt.Errorf("xdp: bind raw socket to %s: %w", device, err), unix.Close(fd))
	}
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, sendBuffer) != nil {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, sendBuffer)
	}
	return fd, nil
}

// allowFragments lets the kernel fragment what conn sends.
func allowFragments(conn *net.UDPConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return fmt.Errorf("xdp: GTP-U socket: %w", err)
	}
	level, option := unix.IPPROTO_IP, unix.IP_MTU_DISCOVER
	if conn.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap().Is6() {
		level, option = unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER
	}
	var opt error
	err = raw.Control(func(fd uintptr) {
		opt = unix.SetsockoptInt(int(fd), level, option, unix.IP_PMTUDISC_DONT)
	})
	return errors.Join(err, opt)
}

const lenUDP = 8

func (r *rawSender) tunnel(packet []byte, local netip.Addr) error {
	err := r.device[local].send(packet, destination(packet))
	if !errors.Is(err, unix.EMSGSIZE) {
		return err
	}
	conn := r.gtpu[local]
	if conn == nil {
		return err
	}
	header := 20 + lenUDP
	if local.Is6() {
		header = 40 + lenUDP
	}
	_, err = conn.WriteToUDPAddrPort(packet[header:], netip.AddrPortFrom(destination(packet), gtpu.Port))
	return err
}

func (r *rawSender) n6(packet []byte, way int, via netip.Addr) error {
	return r.out[way].send(packet, via)
}

// send sends a packet to a neighbour, or to where the kernel's routes lead from
// here to an address: for a socket that takes whole packets it is not the header
// that says where they go.
func (s rawSockets) send(packet []byte, to netip.Addr) error {
	switch {
	case s == rawSockets{}:
		return unix.EHOSTUNREACH
	case to.Is6():
		return s.v6.send(packet, &unix.SockaddrInet6{Addr: to.As16()})
	default:
		return s.v4.send(packet, &unix.SockaddrInet4{Addr: to.As4()})
	}
}

// send sends a packet. If the device does not take any for now it waits a little:
// what has been buffered is not to be lost where it leaves.
func (s *rawSocket) send(packet []byte, to unix.Sockaddr) error {
	err := unix.Sendto(s.fd, packet, 0, to)
	if errors.Is(err, unix.EAGAIN) && !s.stuck.Load() {
		wait := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLOUT}}
		n, interrupted := unix.Poll(wait, sendWait)
		for errors.Is(interrupted, unix.EINTR) { // a signal to this thread says nothing of the device
			n, interrupted = unix.Poll(wait, sendWait)
		}
		if n == 1 {
			err = unix.Sendto(s.fd, packet, 0, to)
		}
	}
	s.stuck.Store(errors.Is(err, unix.EAGAIN))
	return err
}

func (r *rawSender) close() error {
	var errs []error
	for _, s := range r.all {
		errs = append(errs, unix.Close(s.v4.fd), unix.Close(s.v6.fd))
	}
	return errors.Join(errs...)
}
