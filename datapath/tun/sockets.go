package tun

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"

	"plumbline/datapath"
	"plumbline/gtpu"
)

// Socket buffers in octets: what may come while a worker is busy with a batch, and what
// may wait for a device. The kernel may give less.
const (
	receiveBuffer = 8 << 20
	sendBuffer    = 4 << 20
)

// socket is the GTP-U socket of an address, for one worker.
type socket struct {
	address netip.Addr
	conn    *net.UDPConn
	raw     syscall.RawConn
}

// sockets are those of all workers, in the same order for each.
type sockets struct{ all [][]*socket }

// listen opens the GTP-U port of each address of the endpoints, once for each worker.
func listen(endpoints []datapath.Endpoint, workers int) (*sockets, error) {
	s := &sockets{all: make([][]*socket, workers)}
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

func (s *sockets) listen(a netip.Addr, workers int) error {
	if workers > 1 { // one that shares the port would not notice who has it already
		alone, err := open(a, false)
		if err != nil {
			return err
		}
		if err := alone.conn.Close(); err != nil {
			return err
		}
	}
	for w := range workers {
		one, err := open(a, workers > 1)
		if err != nil {
			return err
		}
		s.all[w] = append(s.all[w], one)
	}
	return nil
}

// open opens one socket. share lets others have the same port: the kernel picks one for
// each peer.
func open(a netip.Addr, share bool) (*socket, error) {
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var err error
		control := raw.Control(func(fd uintptr) { err = prepare(int(fd), a.Is6(), share) })
		return errors.Join(control, err)
	}}
	network := "udp4"
	if a.Is6() {
		network = "udp6"
	}
	conn, err := config.ListenPacket(context.Background(), network, netip.AddrPortFrom(a, gtpu.Port).String())
	if err != nil {
		return nil, err
	}
	s := &socket{address: a, conn: conn.(*net.UDPConn)}
	s.raw, err = s.conn.SyscallConn()
	return s, err
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

func (s *sockets) close() error {
	var errs []error
	for _, worker := range s.all {
		for _, one := range worker {
			errs = append(errs, one.conn.Close())
		}
	}
	return errors.Join(errs...)
}

// atOnce is a socket whose calls never wait: who sends holds a lock, and what a device
// does not take now is lost, as on any link. It is for one goroutine.
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
