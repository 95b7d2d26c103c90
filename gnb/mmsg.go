package gnb

// All of this package's unsafe code: recvmmsg and sendmmsg on a UDP socket,
// without an allocation per call. (golang.org/x/net/ipv4 allocates an address
// for each datagram that it receives.)

import (
	"net"
	"net/netip"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mmsghdr is struct mmsghdr of recvmmsg(2): a message and, afterwards, how
// many octets of it were moved.
type mmsghdr struct {
	msg unix.Msghdr
	n   uint32
}

// receiver takes batches of datagrams off a socket, each into a buffer of its
// own that stays the same for good. It is not safe for concurrent use.
type receiver struct {
	conn    syscall.RawConn
	headers []mmsghdr
	names   []unix.RawSockaddrInet4
	iovecs  []unix.Iovec
	poll    func(fd uintptr) bool // r.receive, bound once
	n       int
	errno   syscall.Errno
}

// newReceiver returns a receiver into bufs, which must stay referenced and
// must not be moved or resized.
func newReceiver(conn *net.UDPConn, bufs [][]byte) (*receiver, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	r := &receiver{
		conn:    raw,
		headers: make([]mmsghdr, len(bufs)),
		names:   make([]unix.RawSockaddrInet4, len(bufs)),
		iovecs:  make([]unix.Iovec, len(bufs)),
	}
	r.poll = r.receive
	for i, b := range bufs {
		r.iovecs[i].Base = &b[0]
		r.iovecs[i].SetLen(len(b))
		r.headers[i].msg.Name = (*byte)(unsafe.Pointer(&r.names[i]))
		r.headers[i].msg.Iov = &r.iovecs[i]
		r.headers[i].msg.SetIovlen(1)
	}
	return r, nil
}

// next waits for datagrams and returns how many there are; size and source
// tell of each.
func (r *receiver) next() (int, error) {
	for i := range r.headers {
		r.headers[i].msg.Namelen = unix.SizeofSockaddrInet4
	}
	if err := r.conn.Read(r.poll); err != nil {
		return 0, err
	}
	if r.errno != 0 {
		return 0, os.NewSyscallError("recvmmsg", r.errno)
	}
	return r.n, nil
}

func (r *receiver) receive(fd uintptr) bool {
	r.n, r.errno = mmsg(unix.SYS_RECVMMSG, fd, r.headers)
	return r.errno != unix.EAGAIN
}

// size returns how many octets of datagram i were received.
func (r *receiver) size(i int) int { return int(r.headers[i].n) }

// source returns who sent datagram i.
func (r *receiver) source(i int) netip.AddrPort {
	name := &r.names[i]
	port := (*[2]byte)(unsafe.Pointer(&name.Port)) // network byte order
	return netip.AddrPortFrom(netip.AddrFrom4(name.Addr), uint16(port[0])<<8|uint16(port[1]))
}

// controlUDPSegment is a control message UDP_SEGMENT. Source: udp(7).
type controlUDPSegment struct {
	header unix.Cmsghdr
	size   uint16
	_      [6]byte
}

// sender sends batches of datagrams through a connected socket. It is not safe
// for concurrent use.
type sender struct {
	conn     syscall.RawConn
	headers  []mmsghdr
	controls []controlUDPSegment
	iovecs   []unix.Iovec
	poll     func(fd uintptr) bool // s.send, bound once
	first    int                   // message to send next
	count    int                   // messages
	iovCount int                   // iovecs in use
	n        int
	errno    syscall.Errno
}

// newSender returns a sender of at most capacity datagrams at a time.
func newSender(conn *net.UDPConn, capacity int) (*sender, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	s := &sender{
		conn:     raw,
		headers:  make([]mmsghdr, capacity),
		controls: make([]controlUDPSegment, capacity),
		iovecs:   make([]unix.Iovec, capacity),
	}
	s.poll = s.send
	for i := range s.controls {
		c := &s.controls[i].header
		c.Level, c.Type = unix.SOL_UDP, unix.UDP_SEGMENT
		c.SetLen(unix.CmsgLen(int(unsafe.Sizeof(uint16(0)))))
	}
	return s, nil
}

// reset forgets the messages.
func (s *sender) reset() { s.first, s.count, s.iovCount = 0, 0, 0 }

// add makes a message of bufs. If there are several, the kernel cuts it into
// as many datagrams: each but the last has the first one's size. bufs must
// stay as they are until flush has returned.
//
// Preconditions: no more bufs than capacity since reset, none of them empty.
func (s *sender) add(bufs [][]byte) {
	first := s.iovCount
	for _, b := range bufs {
		s.iovecs[s.iovCount].Base = &b[0]
		s.iovecs[s.iovCount].SetLen(len(b))
		s.iovCount++
	}
	m := &s.headers[s.count].msg
	m.Iov = &s.iovecs[first]
	m.SetIovlen(len(bufs))
	m.Control = nil
	m.SetControllen(0)
	if len(bufs) > 1 {
		c := &s.controls[s.count]
		c.size = uint16(len(bufs[0]))
		m.Control = (*byte)(unsafe.Pointer(c))
		m.SetControllen(int(unsafe.Sizeof(*c)))
	}
	s.count++
}

// flush sends the messages in order and returns how many of the bufs that
// were added are sent. An error is about the message of the first that is not.
func (s *sender) flush() (sent int, err error) {
	for s.first < s.count {
		if err := s.conn.Write(s.poll); err != nil {
			return sent, err
		}
		if s.errno != 0 {
			return sent, os.NewSyscallError("sendmmsg", s.errno)
		}
		for range s.n {
			sent += int(s.headers[s.first].msg.Iovlen)
			s.first++
		}
	}
	return sent, nil
}

func (s *sender) send(fd uintptr) bool {
	s.n, s.errno = mmsg(unix.SYS_SENDMMSG, fd, s.headers[s.first:s.count])
	return s.errno != unix.EAGAIN
}

// mmsg is recvmmsg or sendmmsg of headers, which are not empty, without
// waiting. It returns how many messages were moved.
func mmsg(trap, fd uintptr, headers []mmsghdr) (int, syscall.Errno) {
	for {
		n, _, errno := unix.Syscall6(trap, fd,
			uintptr(unsafe.Pointer(&headers[0])), uintptr(len(headers)), unix.MSG_DONTWAIT, 0, 0)
		if errno != unix.EINTR {
			return int(n), errno
		}
	}
}

// memInfoDrops returns SK_MEMINFO_DROPS of a socket. Source: linux/sock_diag.h;
// SO_MEMINFO came with Linux 4.12.
func memInfoDrops(fd int) uint64 {
	const indexDrops, count = 8, 9
	var info [count]uint32
	size := uint32(unsafe.Sizeof(info))
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_MEMINFO,
		uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 {
		return 0
	}
	return uint64(info[indexDrops])
}
