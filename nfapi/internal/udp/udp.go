// Package udp is the socket of P7: large buffers, and waiting in poll(2) on the waiter's own thread.
package udp

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Socket buffers: what a few slots of the largest cell take, as the kernel counts it.
const (
	receiveBuffer = 16 << 20
	sendBuffer    = 8 << 20
)

// Socket is a UDP socket whose users wait for it in poll(2) on their own thread, not in the
// runtime's: a thread with real-time priority that sleeps there is woken with that priority,
// without another thread in between.
//
// It is a [syscall.RawConn], as required by package mmsg.
type Socket struct {
	fd, wake int
	closing  atomic.Bool
	reading  [2]unix.PollFd
	writing  [2]unix.PollFd
}

// Open binds a socket to an address; one that is not valid is 0.0.0.0.
//
// Errors: those of the system calls.
func Open(local netip.AddrPort) (*Socket, error) {
	family, address := unix.AF_INET, unix.Sockaddr(&unix.SockaddrInet4{Port: int(local.Port())})
	switch a := local.Addr(); {
	case a.Is4():
		address = &unix.SockaddrInet4{Port: int(local.Port()), Addr: a.As4()}
	case a.Is6():
		family, address = unix.AF_INET6, &unix.SockaddrInet6{Port: int(local.Port()), Addr: a.As16()}
	}
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	setBuffer(fd, unix.SO_RCVBUFFORCE, unix.SO_RCVBUF, receiveBuffer)
	setBuffer(fd, unix.SO_SNDBUFFORCE, unix.SO_SNDBUF, sendBuffer)
	if err := unix.Bind(fd, address); err != nil {
		return nil, errors.Join(os.NewSyscallError("bind", err), unix.Close(fd))
	}
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, errors.Join(os.NewSyscallError("eventfd", err), unix.Close(fd))
	}
	s := &Socket{fd: fd, wake: wake}
	s.reading = [2]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}, {Fd: int32(wake), Events: unix.POLLIN}}
	s.writing = [2]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}, {Fd: int32(wake), Events: unix.POLLIN}}
	return s, nil
}

// setBuffer goes beyond the system's limit with CAP_NET_ADMIN, else up to it.
func setBuffer(fd, force, option, octets int) {
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, force, octets) != nil {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, option, octets)
	}
}

// Local is the address that the socket is bound to.
func (s *Socket) Local() (netip.AddrPort, error) {
	address, err := unix.Getsockname(s.fd)
	if err != nil {
		return netip.AddrPort{}, os.NewSyscallError("getsockname", err)
	}
	switch a := address.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port)), nil
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(a.Addr), uint16(a.Port)), nil
	}
	return netip.AddrPort{}, fmt.Errorf("getsockname: address of type %T", address)
}

// Control calls f once.
func (s *Socket) Control(f func(fd uintptr)) error {
	f(uintptr(s.fd))
	return nil
}

// Read calls f whenever there is something to read until it returns true, or Stop is
// called: then it returns [net.ErrClosed].
func (s *Socket) Read(f func(fd uintptr) bool) error { return s.wait(&s.reading, f) }

// Write is the same for sending.
func (s *Socket) Write(f func(fd uintptr) bool) error { return s.wait(&s.writing, f) }

func (s *Socket) wait(fds *[2]unix.PollFd, f func(fd uintptr) bool) error {
	for {
		if s.closing.Load() {
			return net.ErrClosed
		}
		if f(uintptr(s.fd)) {
			return nil
		}
		if _, err := unix.Poll(fds[:], -1); err != nil && err != unix.EINTR {
			return os.NewSyscallError("poll", err)
		}
	}
}

// Stop makes Read and Write return, and reports whether it is the first to do so.
func (s *Socket) Stop() bool {
	if s.closing.Swap(true) {
		return false
	}
	_, _ = unix.Write(s.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	return true
}

// Stopped reports whether Stop has been called.
func (s *Socket) Stopped() bool { return s.closing.Load() }

// Close closes the descriptors, when there are no more waiters.
func (s *Socket) Close() error {
	return errors.Join(os.NewSyscallError("close", unix.Close(s.fd)), os.NewSyscallError("close", unix.Close(s.wake)))
}

// NoWait is the socket for callers that wait with [Wait]: a call that would block is made once, and
// returns EAGAIN.
func (s *Socket) NoWait() syscall.RawConn { return noWait{s} }

type noWait struct{ *Socket }

func (n noWait) Read(f func(fd uintptr) bool) error {
	if n.Stopped() {
		return net.ErrClosed
	}
	f(uintptr(n.fd))
	return nil
}

// Wait sleeps until one of the sockets has something to read, is stopped, or the time is
// over; negative: there is no end to it.
func Wait(timeout time.Duration, sockets ...*Socket) error {
	fds := make([]unix.PollFd, 0, 4)
	for _, s := range sockets {
		fds = append(fds, s.reading[:]...)
	}
	var limit *unix.Timespec
	if timeout >= 0 {
		t := unix.NsecToTimespec(int64(timeout))
		limit = &t
	}
	if _, err := unix.Ppoll(fds, limit, nil); err != nil && err != unix.EINTR {
		return os.NewSyscallError("ppoll", err)
	}
	return nil
}
