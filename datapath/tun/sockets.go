package tun

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/rawip"
	"github.com/plumbline-upf/plumbline/gtpu"
)

// Socket buffers in octets: what may come while a worker is busy with a batch, and what
// may wait for a device. The kernel may give less.
const (
	receiveBuffer = 8 << 20
	sendBuffer    = 4 << 20
)

// socket is the GTP-U port of an address, for one worker.
//
// It is two sockets, because the kernel wakes waiters of a socket for each message that was sent,
// and the runtime always waits on the receiving one. The sending socket has no waiter; it is
// connected to an address without traffic, so the other one receives everything.
type socket struct {
	address netip.Addr
	conn    *net.UDPConn    // receives
	raw     syscall.RawConn // of conn
	out     *os.File        // sends
	rawOut  syscall.RawConn // of out
}

// sockets are those of all workers, in the same order for each.
type sockets struct {
	all     [][]*socket
	guarded []int // devices: see [rawip.Guard]
}

// listen opens the GTP-U port of each address of the endpoints, once for each worker.
func listen(endpoints []datapath.Endpoint, workers int, guarded []int) (*sockets, error) {
	s := &sockets{all: make([][]*socket, workers), guarded: guarded}
	seen := map[netip.Addr]bool{}
	for _, e := range endpoints {
		for _, a := range []netip.Addr{e.Address, e.Address6} {
			if !a.IsValid() || seen[a] {
				continue
			}
			seen[a] = true
			if err := s.listen(a, workers); err != nil {
				return nil, errors.Join(fmt.Errorf("GTP-U on %v: %w", netip.AddrPortFrom(a, gtpu.Port), err), s.close())
			}
		}
	}
	return s, nil
}

// guard has no socket take what comes by these devices of data networks: see [rawip.Guard].
func (s *sockets) guard(devices []int) error {
	if slices.Equal(devices, s.guarded) {
		return nil
	}
	var errs []error
	for _, all := range s.all {
		for _, one := range all {
			errs = append(errs, rawip.Guard(one.raw, devices))
		}
	}
	err := errors.Join(errs...)
	if err == nil {
		s.guarded = devices
	}
	return err
}

func (s *sockets) listen(a netip.Addr, workers int) error {
	first := len(s.all[0])
	for w := range workers {
		out, err := openSender(a, w > 0)
		if err != nil {
			return err
		}
		one := &socket{address: a, out: out}
		s.all[w] = append(s.all[w], one)
		if one.rawOut, err = out.SyscallConn(); err != nil {
			return err
		}
		if err := one.receive(workers > 1, s.guarded); err != nil {
			return err
		}
	}
	for w := range workers {
		if err := s.all[w][first].keep(); err != nil {
			return err
		}
	}
	return nil
}

// discard is a port that nothing is sent from (RFC 863).
const discard = 9

// openSender opens a socket that sends. share is for those behind the first one: that
// one finds out whether another process has the port.
func openSender(a netip.Addr, share bool) (*os.File, error) {
	family := unix.AF_INET
	if a.Is6() {
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	// It blocks, so the runtime does not wait for it; nothing comes, so it has the least room.
	out := os.NewFile(uintptr(fd), "GTP-U")
	err = errors.Join(prepare(fd, a.Is6(), false), unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 0))
	if err == nil && share {
		err = reuse(fd, 1)
	}
	if err == nil {
		err = os.NewSyscallError("bind", unix.Bind(fd, sockaddr(a, gtpu.Port)))
	}
	if err == nil {
		err = errors.Join(reuse(fd, 1), os.NewSyscallError("connect", unix.Connect(fd, sockaddr(a, discard))))
	}
	if err != nil {
		return nil, errors.Join(err, out.Close())
	}
	return out, nil
}

// receive opens the socket that receives. share lets others have the same port: the
// kernel picks one for each peer.
func (s *socket) receive(share bool, guarded []int) error {
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var err error
		control := raw.Control(func(fd uintptr) {
			err = errors.Join(prepare(int(fd), s.address.Is6(), share), reuse(int(fd), 1))
		})
		return errors.Join(control, err, rawip.Guard(raw, guarded))
	}}
	network := "udp4"
	if s.address.Is6() {
		network = "udp6"
	}
	conn, err := config.ListenPacket(context.Background(), network, netip.AddrPortFrom(s.address, gtpu.Port).String())
	if err != nil {
		return err
	}
	s.conn = conn.(*net.UDPConn)
	s.raw, err = s.conn.SyscallConn()
	return err
}

// keep lets no other process have the port, too, from now on.
func (s *socket) keep() error {
	var in, out error
	err := errors.Join(
		s.raw.Control(func(fd uintptr) { in = reuse(int(fd), 0) }),
		s.rawOut.Control(func(fd uintptr) { out = reuse(int(fd), 0) }))
	return errors.Join(err, in, out)
}

func (s *socket) close() error {
	err := s.out.Close()
	if s.conn != nil {
		err = errors.Join(err, s.conn.Close())
	}
	return err
}

// reuse sets whether the port may be another's, too, if that one agrees.
func reuse(fd, may int) error {
	return os.NewSyscallError("SO_REUSEADDR", unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, may))
}

func sockaddr(a netip.Addr, port int) unix.Sockaddr {
	if a.Is6() {
		return &unix.SockaddrInet6{Port: port, Addr: a.As16()}
	}
	return &unix.SockaddrInet4{Port: port, Addr: a.As4()}
}

// prepare sets the options of a socket.
//
// With PMTUDISC_WANT a packet that fits has DF and one that does not is fragmented: the
// least that a tunnel leaves a user packet is not to be lost.
func prepare(fd int, v6, share bool) error {
	level, option := unix.IPPROTO_IP, unix.IP_MTU_DISCOVER
	if v6 {
		level, option = unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER
		// A peer may leave the checksum out: RFC 6935. The user packet has its own.
		if err := unix.SetsockoptInt(fd, unix.SOL_UDP, unix.UDP_NO_CHECK6_RX, 1); err != nil {
			return fmt.Errorf("UDP_NO_CHECK6_RX: %w", err)
		}
	}
	if err := unix.SetsockoptInt(fd, level, option, unix.IP_PMTUDISC_WANT); err != nil {
		return fmt.Errorf("IP_MTU_DISCOVER: %w", err)
	}
	if share {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
			return fmt.Errorf("SO_REUSEPORT: %w", err)
		}
	}
	return errors.Join(
		setBuffer(fd, unix.SO_RCVBUFFORCE, unix.SO_RCVBUF, receiveBuffer),
		setBuffer(fd, unix.SO_SNDBUFFORCE, unix.SO_SNDBUF, sendBuffer))
}

func setBuffer(fd, force, limited, octets int) error {
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, force, octets) == nil {
		return nil
	}
	return unix.SetsockoptInt(fd, unix.SOL_SOCKET, limited, octets)
}

// stop stops receiving. Sending continues until close.
func (s *sockets) stop() error {
	var errs []error
	for _, worker := range s.all {
		for _, one := range worker {
			if one.conn != nil {
				errs = append(errs, one.conn.SetReadDeadline(time.Unix(0, 1)))
			}
		}
	}
	return errors.Join(errs...)
}

func (s *sockets) close() error {
	var errs []error
	for _, worker := range s.all {
		for _, one := range worker {
			errs = append(errs, one.close())
		}
	}
	return errors.Join(errs...)
}

// atOnce is a socket whose calls never block: the sender holds a lock, and packets that a device
// does not accept immediately are lost, as on any link. It is for one goroutine.
type atOnce struct {
	syscall.RawConn
	write func(fd uintptr) bool
	once  func(fd uintptr) // calls write; bound once
}

func newAtOnce(raw syscall.RawConn) *atOnce {
	a := &atOnce{RawConn: raw}
	a.once = func(fd uintptr) { a.write(fd) }
	return a
}

// Write implements [syscall.RawConn].
func (a *atOnce) Write(f func(fd uintptr) bool) error {
	a.write = f
	return a.Control(a.once)
}
