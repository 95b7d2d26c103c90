package vnet

import (
	"errors"
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sleeper lets a goroutine sleep until there is something at a socket. The kernel calls all
// who wait at a socket with each packet, and the runtime's own poller would always wait
// there. So the runtime waits for an epoll instance, which waits at the socket during a
// sleep only.
//
// Source: epoll(7).
type sleeper struct {
	socket int
	epoll  *os.File
	conn   syscall.RawConn
	event  unix.EpollEvent
	add    func(epoll uintptr) // s.addTo, bound once
	remove func(epoll uintptr) // s.removeFrom, bound once
	errno  syscall.Errno       // of add
	closed atomic.Bool
}

func newSleeper(socket int) (*sleeper, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil { // or the runtime does not wait for it
		return nil, errors.Join(os.NewSyscallError("fcntl", err), unix.Close(fd))
	}
	s := &sleeper{socket: socket, epoll: os.NewFile(uintptr(fd), "packet socket"), event: unix.EpollEvent{Events: unix.EPOLLIN}}
	s.add, s.remove = s.addTo, s.removeFrom
	s.conn, err = s.epoll.SyscallConn()
	return s, err
}

// sleep calls look until it returns true: now, and whenever there is something.
//
// Errors: that of epoll_ctl(2); others say that the sleeper is closed.
func (s *sleeper) sleep(look func(epoll uintptr) bool) (syscall.Errno, error) {
	if err := s.conn.Control(s.add); err != nil || s.errno != 0 {
		return s.errno, err
	}
	return 0, errors.Join(s.conn.Read(look), s.conn.Control(s.remove))
}

func (s *sleeper) addTo(epoll uintptr) {
	_, _, s.errno = unix.RawSyscall6(unix.SYS_EPOLL_CTL, epoll, unix.EPOLL_CTL_ADD, uintptr(s.socket), uintptr(unsafe.Pointer(&s.event)), 0, 0)
}

func (s *sleeper) removeFrom(epoll uintptr) {
	_, _, _ = unix.RawSyscall6(unix.SYS_EPOLL_CTL, epoll, unix.EPOLL_CTL_DEL, uintptr(s.socket), 0, 0, 0) // it is there
}

// close ends a sleep, and is for any goroutine, any number of times.
func (s *sleeper) close() error {
	s.closed.Store(true)
	if err := s.epoll.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}
