// Package rawip sends whole IP packets through the kernel, which resolves the next
// hop and, for tunnels, fragments: what datapaths that bypass the kernel do with
// the packets that they cannot finish themselves.
package rawip

import (
	"errors"
	"fmt"
	"net/netip"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath"
)

// Sockets are those of a device, one for each IP version. The zero value sends
// nothing.
type Sockets struct{ v4, v6 *socket }

// socket is one that takes whole packets of one IP version.
type socket struct {
	fd int
	// stuck: a packet has waited in vain, and none has been taken since. No other
	// waits then: who sends holds the driver's lock, and may have many.
	stuck atomic.Bool
}

// Open makes the sockets of a device.
func Open(device string) (Sockets, error) {
	v4, err := open(unix.AF_INET, device)
	if err != nil {
		return Sockets{}, err
	}
	v6, err := open(unix.AF_INET6, device)
	if err != nil {
		return Sockets{}, errors.Join(err, unix.Close(v4))
	}
	return Sockets{&socket{fd: v4}, &socket{fd: v6}}, nil
}

// Close ends the sockets.
func (s Sockets) Close() error {
	if s == (Sockets{}) {
		return nil
	}
	return errors.Join(unix.Close(s.v4.fd), unix.Close(s.v6.fd))
}

// sendBuffer is how many octets may be on their way to a device's driver: packets
// of sessions that are released come all at once. The kernel may give less.
const sendBuffer = 8 << 20

// sendWait is how long a packet waits for room there, in milliseconds.
const sendWait = 20

func open(family int, device string) (int, error) {
	fd, err := openRaw(family)
	if err != nil {
		return -1, fmt.Errorf("raw socket for %s (needs CAP_NET_RAW): %w", device, err)
	}
	if err := unix.SetsockoptString(fd, unix.SOL_SOCKET, unix.SO_BINDTODEVICE, device); err != nil {
		return -1, errors.Join(fmt.Errorf("bind raw socket to %s: %w", device, err), unix.Close(fd))
	}
	return fd, nil
}

// openFrom makes a socket for packets from an address of ours, which leave where the
// kernel's routes from there lead.
func openFrom(local netip.Addr) (int, error) {
	family := unix.AF_INET
	if local.Is6() {
		family = unix.AF_INET6
	}
	fd, err := openRaw(family)
	if err != nil {
		return -1, fmt.Errorf("raw socket for %v (needs CAP_NET_RAW): %w", local, err)
	}
	if err := unix.Bind(fd, sockaddr(local)); err != nil {
		return -1, errors.Join(fmt.Errorf("bind raw socket to %v: %w", local, err), unix.Close(fd))
	}
	return fd, nil
}

func openRaw(family int) (int, error) {
	fd, err := unix.Socket(family, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.IPPROTO_RAW)
	if err != nil {
		return -1, err
	}
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, sendBuffer) != nil {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, sendBuffer)
	}
	return fd, nil
}

func sockaddr(a netip.Addr) unix.Sockaddr {
	if a.Is6() {
		return &unix.SockaddrInet6{Addr: a.As16()}
	}
	return &unix.SockaddrInet4{Addr: a.As4()}
}

// Send sends a packet to a neighbour, or to where the kernel's routes lead from
// here to an address: for a socket that takes whole packets it is not the header
// that says where they go.
func (s Sockets) Send(packet []byte, to netip.Addr) error {
	switch {
	case s == (Sockets{}):
		return unix.EHOSTUNREACH
	case to.Is6():
		return s.v6.send(packet, sockaddr(to))
	default:
		return s.v4.send(packet, sockaddr(to))
	}
}

// send sends a packet. If the device does not take any for now it waits a little:
// what has been buffered is not to be lost where it leaves.
func (s *socket) send(packet []byte, to unix.Sockaddr) error {
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

// TunnelReason is [Reason] for an outer packet, which the kernel routes.
func TunnelReason(err error) datapath.Reason {
	if NoRoute(err) {
		return datapath.DropNoRoute
	}
	return Reason(err)
}

// NoRoute reports whether the kernel has no route for a packet, or one that refuses it:
// unreachable, prohibit, blackhole.
func NoRoute(err error) bool {
	for _, e := range []error{unix.ENETUNREACH, unix.EHOSTUNREACH, unix.EACCES, unix.EINVAL} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// Reason says what an error of the kernel means for a packet that was to be sent.
func Reason(err error) datapath.Reason {
	switch {
	case err == nil:
		return datapath.ReasonNone
	case errors.Is(err, unix.EMSGSIZE):
		return datapath.DropMTU
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ENOBUFS):
		return datapath.DropSlowFull
	}
	return datapath.DropNextHop
}

// Destination returns that of an IP packet.
func Destination(packet []byte) netip.Addr {
	if packet[0]>>4 == 6 {
		return netip.AddrFrom16([16]byte(packet[24:40]))
	}
	return netip.AddrFrom4([4]byte(packet[16:20]))
}
