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

import (
	"encoding/binary"
	"net/netip"
	"os"
	"syscall"
	"time"
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
	// BusyPoll is how long after the last datagram Next asks for more again and
	// again before it sleeps, for who would rather use a CPU than wait for one to
	// wake. 0: not at all.
	BusyPoll time.Duration

	// Most is how many messages one Next takes at most; 0: as many as there are
	// buffers.
	Most int

	conn     syscall.RawConn
	headers  []mmsghdr
	names    []name
	iovecs   []unix.Iovec
	controls []control             // nil: none are asked for
	poll     func(fd uintptr) bool // r.receive, bound once
	n        int
	errno    syscall.Errno
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
		if r.controls != nil {
			r.headers[i].msg.SetControllen(int(unsafe.Sizeof(control{})))
		}
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

// receive is called when Next begins, and whenever the socket is ready.
func (r *Receiver) receive(fd uintptr) bool {
	headers := r.headers
	if r.Most > 0 && r.Most < len(headers) {
		headers = headers[:r.Most]
	}
	r.n, r.errno = mmsg(unix.SYS_RECVMMSG, fd, headers)
	if r.errno != unix.EAGAIN || r.BusyPoll <= 0 {
		return r.errno != unix.EAGAIN
	}
	for begin := time.Now(); time.Since(begin) < r.BusyPoll; {
		r.n, r.errno = mmsg(unix.SYS_RECVMMSG, fd, headers)
		if r.errno != unix.EAGAIN {
			return true
		}
	}
	return false
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
