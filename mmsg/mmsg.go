// Package mmsg moves UDP datagrams in batches: recvmmsg and sendmmsg, without
// an allocation for each call or datagram. (golang.org/x/net/ipv4 allocates an
// address for each datagram that it receives.)
//
// A [Receiver] or [Sender] works on a [syscall.RawConn]. That of a
// [net.UDPConn] waits until the socket is ready; one that calls the function
// once and returns makes calls that never wait: those return EAGAIN.
//
// Source: recvmmsg(2), sendmmsg(2), udp(7).
package mmsg

// All of this package's unsafe code is in this file.

import (
	"encoding/binary"
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

// name is a socket address: that of IPv6 is the longer one.
type name = unix.RawSockaddrInet6

// Receiver takes batches of datagrams off a socket, each into a buffer of its
// own that stays the same for good. It is not safe for concurrent use.
type Receiver struct {
	conn    syscall.RawConn
	headers []mmsghdr
	names   []name
	iovecs  []unix.Iovec
	poll    func(fd uintptr) bool // r.receive, bound once
	n       int
	errno   syscall.Errno
}

// NewReceiver returns a receiver into bufs, which must stay referenced and
// must not be moved or resized.
func NewReceiver(conn syscall.RawConn, bufs [][]byte) *Receiver {
	r := &Receiver{
		conn:    conn,
		headers: make([]mmsghdr, len(bufs)),
		names:   make([]name, len(bufs)),
		iovecs:  make([]unix.Iovec, len(bufs)),
	}
	r.poll = r.receive
	for i, b := range bufs {
		r.iovecs[i].Base = &b[0]
		r.iovecs[i].SetLen(len(b))
		r.headers[i].msg.Name = (*byte)(unsafe.Pointer(&r.names[i]))
		r.headers[i].msg.Namelen = uint32(unsafe.Sizeof(name{}))
		r.headers[i].msg.Iov = &r.iovecs[i]
		r.headers[i].msg.SetIovlen(1)
	}
	return r
}

// Next takes datagrams and returns how many there are; Size and Source tell of
// each.
func (r *Receiver) Next() (int, error) {
	for i := range r.n { // the kernel has changed those that it used
		r.headers[i].msg.Namelen = uint32(unsafe.Sizeof(name{}))
	}
	r.n = 0
	if err := r.conn.Read(r.poll); err != nil {
		return 0, err
	}
	if r.errno != 0 {
		return 0, os.NewSyscallError("recvmmsg", r.errno)
	}
	return r.n, nil
}

func (r *Receiver) receive(fd uintptr) bool {
	r.n, r.errno = mmsg(unix.SYS_RECVMMSG, fd, r.headers)
	return r.errno != unix.EAGAIN
}

// Size returns how many octets of datagram i were received.
func (r *Receiver) Size(i int) int { return int(r.headers[i].n) }

// Source returns who sent datagram i. An IPv4 address in an IPv6 one is
// returned as IPv4.
func (r *Receiver) Source(i int) netip.AddrPort {
	n := &r.names[i]
	port := (*[2]byte)(unsafe.Pointer(&n.Port)) // network byte order
	p := binary.BigEndian.Uint16(port[:])
	if n.Family == unix.AF_INET {
		return netip.AddrPortFrom(netip.AddrFrom4((*unix.RawSockaddrInet4)(unsafe.Pointer(n)).Addr), p)
	}
	return netip.AddrPortFrom(netip.AddrFrom16(n.Addr).Unmap(), p)
}

// controlUDPSegment is a control message UDP_SEGMENT. Source: udp(7).
type controlUDPSegment struct {
	header unix.Cmsghdr
	size   uint16
	_      [6]byte
}

// Sender sends batches of datagrams. It is not safe for concurrent use.
type Sender struct {
	conn     syscall.RawConn
	headers  []mmsghdr
	names    []name
	controls []controlUDPSegment
	iovecs   []unix.Iovec
	poll     func(fd uintptr) bool // s.send, bound once
	first    int                   // message to send next
	count    int                   // messages
	iovCount int                   // iovecs in use
	n        int
	errno    syscall.Errno
}

// NewSender returns a sender of at most capacity datagrams at a time.
func NewSender(conn syscall.RawConn, capacity int) *Sender {
	s := &Sender{
		conn:     conn,
		headers:  make([]mmsghdr, capacity),
		names:    make([]name, capacity),
		controls: make([]controlUDPSegment, capacity),
		iovecs:   make([]unix.Iovec, capacity),
	}
	s.poll = s.send
	for i := range s.controls {
		c := &s.controls[i].header
		c.Level, c.Type = unix.SOL_UDP, unix.UDP_SEGMENT
		c.SetLen(unix.CmsgLen(int(unsafe.Sizeof(uint16(0)))))
	}
	return s
}

// Reset forgets the messages.
func (s *Sender) Reset() { s.first, s.count, s.iovCount = 0, 0, 0 }

// Room is how many more datagrams can be added.
func (s *Sender) Room() int { return len(s.iovecs) - s.iovCount }

// Add makes a message of bufs for a connected socket. If there are several, the
// kernel cuts it into as many datagrams: each but the last has the first one's
// size. bufs must stay as they are until Flush has returned.
//
// Preconditions: no more bufs than there is room, none of them empty.
func (s *Sender) Add(bufs [][]byte) {
	first := s.iovCount
	for _, b := range bufs {
		s.iovecs[s.iovCount].Base = &b[0]
		s.iovecs[s.iovCount].SetLen(len(b))
		s.iovCount++
	}
	m := &s.headers[s.count].msg
	m.Name, m.Namelen = nil, 0
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

// AddTo makes a message of one datagram to an IPv4 address, or through an IPv6
// socket to an IPv6 one. b must stay as it is until Flush has returned.
//
// Preconditions: there is room, b is not empty.
func (s *Sender) AddTo(to netip.AddrPort, b []byte) {
	s.iovecs[s.iovCount].Base = &b[0]
	s.iovecs[s.iovCount].SetLen(len(b))
	m := &s.headers[s.count].msg
	n := &s.names[s.count]
	binary.BigEndian.PutUint16((*[2]byte)(unsafe.Pointer(&n.Port))[:], to.Port())
	m.Name = (*byte)(unsafe.Pointer(n))
	if a := to.Addr(); a.Is4() {
		n.Family = unix.AF_INET
		(*unix.RawSockaddrInet4)(unsafe.Pointer(n)).Addr = a.As4()
		m.Namelen = unix.SizeofSockaddrInet4
	} else {
		n.Family, n.Flowinfo, n.Addr, n.Scope_id = unix.AF_INET6, 0, a.As16(), 0
		m.Namelen = unix.SizeofSockaddrInet6
	}
	m.Iov = &s.iovecs[s.iovCount]
	m.SetIovlen(1)
	m.Control = nil
	m.SetControllen(0)
	s.iovCount++
	s.count++
}

// Flush sends the messages in order and returns how many datagrams are sent. An
// error is about the message of the first that is not; Skip passes over it.
func (s *Sender) Flush() (sent int, err error) {
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

// Skip gives up the message that Flush could not send.
func (s *Sender) Skip() { s.first++ }

func (s *Sender) send(fd uintptr) bool {
	s.n, s.errno = mmsg(unix.SYS_SENDMMSG, fd, s.headers[s.first:s.count])
	return s.errno != unix.EAGAIN
}

// mmsg is recvmmsg or sendmmsg of headers, which are not empty, without
// waiting. It returns how many messages were moved.
//
// The runtime is not told of the system call: it never sleeps, and 64 datagrams
// take long enough, some 100 us, for sysmon to give the processor away and for
// this thread to have to get it back.
func mmsg(trap, fd uintptr, headers []mmsghdr) (int, syscall.Errno) {
	for {
		n, _, errno := unix.RawSyscall6(trap, fd,
			uintptr(unsafe.Pointer(&headers[0])), uintptr(len(headers)), unix.MSG_DONTWAIT, 0, 0)
		if errno != unix.EINTR {
			return int(n), errno
		}
	}
}

// memInfo is SO_MEMINFO, all zero if the kernel does not say; it came with Linux
// 4.12. Source: linux/sock_diag.h.
func memInfo(conn syscall.RawConn) (info [9]uint32) {
	size := uint32(unsafe.Sizeof(info))
	_ = conn.Control(func(fd uintptr) {
		_, _, _ = unix.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.SOL_SOCKET, unix.SO_MEMINFO,
			uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
	})
	return info
}

// Drops returns how many datagrams the kernel threw away because the socket's
// buffer was full: SK_MEMINFO_DROPS.
func Drops(conn syscall.RawConn) uint64 { return uint64(memInfo(conn)[8]) }

// Backlog returns how much memory the datagrams take that wait to be read, and
// how much they may take, in octets: SK_MEMINFO_RMEM_ALLOC, SK_MEMINFO_RCVBUF.
func Backlog(conn syscall.RawConn) (used, size uint32) {
	info := memInfo(conn)
	return info[0], info[1]
}
