package n4load

import (
	"fmt"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"
)

// socket is a UDP socket that the Go runtime does not watch: the loop's own
// ppoll(2) does, and nothing wakes another thread for it. As a
// [syscall.RawConn] it never waits.
type socket struct {
	fd    int
	local netip.AddrPort
}

// listen makes a socket in the network namespace of the calling thread.
func listen(local netip.AddrPort) (*socket, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("n4load: %w", os.NewSyscallError("socket", err))
	}
	s := &socket{fd: fd}
	if err := s.bind(local); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("n4load: %s: %w", local, err)
	}
	return s, nil
}

func (s *socket) bind(local netip.AddrPort) error {
	// Beyond the system's limit with CAP_NET_ADMIN, else up to it.
	if unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, readBuffer) != nil {
		_ = unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_RCVBUF, readBuffer)
	}
	at := &unix.SockaddrInet4{Port: int(local.Port()), Addr: local.Addr().As4()}
	if err := unix.Bind(s.fd, at); err != nil {
		return os.NewSyscallError("bind", err)
	}
	name, err := unix.Getsockname(s.fd)
	if err != nil {
		return os.NewSyscallError("getsockname", err)
	}
	if in, ok := name.(*unix.SockaddrInet4); ok {
		s.local = netip.AddrPortFrom(netip.AddrFrom4(in.Addr), uint16(in.Port))
	}
	return nil
}

// Control implements [syscall.RawConn].
func (s *socket) Control(f func(fd uintptr)) error {
	f(uintptr(s.fd))
	return nil
}

// Read implements [syscall.RawConn].
func (s *socket) Read(f func(fd uintptr) bool) error {
	f(uintptr(s.fd))
	return nil
}

// Write implements [syscall.RawConn].
func (s *socket) Write(f func(fd uintptr) bool) error {
	f(uintptr(s.fd))
	return nil
}

func (s *socket) close() error { return unix.Close(s.fd) }
