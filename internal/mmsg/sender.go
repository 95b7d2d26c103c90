package mmsg

import (
	"cmp"
	"encoding/binary"
	"net/netip"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Limits of datagrams that go out as one message for the kernel to cut:
// UDP_MAX_SEGMENTS (128 since Linux 6.9), what fits any path's MTU together with
// its headers, and what fits one IP packet.
const (
	maxSegments      = 64
	maxSegmentOctets = 1200
	maxMessageOctets = 65000
)

// controls are the control messages of a message: UDP_SEGMENT and, behind it,
// IP_TOS or IPV6_TCLASS. Source: udp(7), ip(7), ipv6(7).
type controls struct {
	segment struct {
		header unix.Cmsghdr
		size   uint16
		_      [6]byte
	}
	class struct {
		header unix.Cmsghdr
		tos    int32
		_      [4]byte
	}
}

// attach gives m those of its control messages that it needs.
func (c *controls) attach(m *unix.Msghdr, size int, segments bool, tos byte) {
	both, one := int(unsafe.Sizeof(*c)), int(unsafe.Sizeof(c.class))
	switch {
	case segments && tos != 0:
		m.Control = (*byte)(unsafe.Pointer(&c.segment))
		m.SetControllen(both)
	case segments:
		m.Control = (*byte)(unsafe.Pointer(&c.segment))
		m.SetControllen(both - one)
	case tos != 0:
		m.Control = (*byte)(unsafe.Pointer(&c.class))
		m.SetControllen(one)
	default:
		m.Control = nil
		m.SetControllen(0)
	}
	c.segment.size, c.class.tos = uint16(size), int32(tos)
}

// Sender sends batches of datagrams. It is not safe for concurrent use.
type Sender struct {
	// SegmentOctets is how long a datagram may be that AddTo sends together with
	// others: it has to fit into the path's MTU with its headers. 0: 1200.
	SegmentOctets int

	conn     syscall.RawConn
	headers  []mmsghdr
	names    []name
	controls []controls
	iovecs   []unix.Iovec
	poll     func(fd uintptr) bool // s.send, bound once
	first    int                   // message to send next
	count    int                   // messages
	iovCount int                   // iovecs in use
	n        int
	errno    syscall.Errno

	to     netip.AddrPort // of the last message that AddTo made; not valid: none can be added to it
	tos    byte           // of the same
	size   int            // of its first datagram
	octets int            // of all of them
	single bool           // the socket's device cannot cut messages
}

// NewSender returns a sender of at most capacity datagrams at a time.
func NewSender(conn syscall.RawConn, capacity int) *Sender {
	s := &Sender{
		conn:     conn,
		headers:  make([]mmsghdr, capacity),
		names:    make([]name, capacity),
		controls: make([]controls, capacity),
		iovecs:   make([]unix.Iovec, capacity),
	}
	s.poll = s.send
	for i := range s.controls {
		segment, class := &s.controls[i].segment.header, &s.controls[i].class.header
		segment.Level, segment.Type = unix.SOL_UDP, unix.UDP_SEGMENT
		segment.SetLen(unix.CmsgLen(int(unsafe.Sizeof(uint16(0)))))
		class.Level, class.Type = unix.SOL_IP, unix.IP_TOS
		class.SetLen(unix.CmsgLen(int(unsafe.Sizeof(int32(0)))))
	}
	return s
}

// Reset forgets the messages.
func (s *Sender) Reset() { s.first, s.count, s.iovCount, s.to = 0, 0, 0, netip.AddrPort{} }

// Room is how many more datagrams can be added.
func (s *Sender) Room() int { return len(s.iovecs) - s.iovCount }

// Add makes a message of bufs for a connected socket. If there are several, the
// kernel cuts it into as many datagrams: each but the last has the first one's
// size. bufs must stay as they are until Flush has returned.
//
// Preconditions: no more bufs than there is room, none of them empty.
func (s *Sender) Add(bufs [][]byte) {
	s.begin()
	s.to, s.tos = netip.AddrPort{}, 0
	s.headers[s.count-1].msg.Name, s.headers[s.count-1].msg.Namelen = nil, 0
	for _, b := range bufs {
		s.append(b, len(bufs[0]))
	}
}

// Control gives the message that Add has made last control messages in place of its
// own, as they stand in cmsg(3). b must stay as it is until Flush has returned.
//
// Preconditions: the message is of one buffer.
func (s *Sender) Control(b []byte) {
	m := &s.headers[s.count-1].msg
	m.Control = &b[0]
	m.SetControllen(len(b))
}

// AddTo adds a datagram to an IPv4 address, or through an IPv6 socket to an
// IPv6 one. Datagrams of one size that follow each other to one address go
// through the kernel together, as far as the device can cut them. b must stay
// as it is until Flush has returned.
//
// Preconditions: there is room, b is not empty.
func (s *Sender) AddTo(to netip.AddrPort, b []byte) { s.AddMarked(to, 0, b) }

// AddMarked is AddTo with a Type of Service octet or Traffic Class: DSCP and ECN.
// 0 is that of the socket.
func (s *Sender) AddMarked(to netip.AddrPort, tos byte, b []byte) {
	if s.tos != tos || !s.joins(to, b) {
		s.begin()
		s.to, s.tos, s.size, s.octets = to, tos, len(b), 0
		setName(&s.headers[s.count-1].msg, &s.names[s.count-1], to)
		s.setClass(to.Addr(), tos)
	}
	s.append(b, s.size)
	s.octets += len(b)
	if len(b) < s.size { // only the last datagram may be shorter
		s.to = netip.AddrPort{}
	}
}

// setClass gives the message that has begun its Type of Service or Traffic Class.
func (s *Sender) setClass(to netip.Addr, tos byte) {
	c := &s.controls[s.count-1]
	c.class.header.Level, c.class.header.Type = unix.SOL_IP, unix.IP_TOS
	if to.Is6() {
		c.class.header.Level, c.class.header.Type = unix.SOL_IPV6, unix.IPV6_TCLASS
	}
	c.attach(&s.headers[s.count-1].msg, 0, false, tos)
}

// joins reports whether a datagram can be part of the last message.
func (s *Sender) joins(to netip.AddrPort, b []byte) bool {
	return s.to == to && s.to.IsValid() && !s.single && len(b) <= s.size && s.size <= cmp.Or(s.SegmentOctets, maxSegmentOctets) &&
		s.octets+len(b) <= maxMessageOctets && int(s.headers[s.count-1].msg.Iovlen) < maxSegments
}

// begin begins a message.
func (s *Sender) begin() {
	m := &s.headers[s.count].msg
	m.Iov = &s.iovecs[s.iovCount]
	m.SetIovlen(0)
	m.Control = nil
	m.SetControllen(0)
	s.count++
}

// append adds a datagram to the last message, which is to be cut at size.
func (s *Sender) append(b []byte, size int) {
	s.iovecs[s.iovCount].Base = &b[0]
	s.iovecs[s.iovCount].SetLen(len(b))
	s.iovCount++
	m := &s.headers[s.count-1].msg
	m.SetIovlen(int(m.Iovlen) + 1)
	if m.Iovlen == 2 {
		s.controls[s.count-1].attach(m, size, true, s.tos)
	}
}

// setName makes n the address, and m go there.
func setName(m *unix.Msghdr, n *name, to netip.AddrPort) {
	binary.BigEndian.PutUint16((*[2]byte)(unsafe.Pointer(&n.Port))[:], to.Port())
	m.Name = (*byte)(unsafe.Pointer(n))
	if a := to.Addr(); a.Is4() {
		n.Family = unix.AF_INET
		(*unix.RawSockaddrInet4)(unsafe.Pointer(n)).Addr = a.As4()
		m.Namelen = unix.SizeofSockaddrInet4
		return
	}
	n.Family, n.Flowinfo, n.Addr, n.Scope_id = unix.AF_INET6, 0, to.Addr().As16(), 0
	m.Namelen = unix.SizeofSockaddrInet6
}

// Flush sends the messages in order and returns how many datagrams are sent. An
// error is about the first datagram that is not; Skip passes over it, and all
// that Add made one message with it.
func (s *Sender) Flush() (sent int, err error) {
	for s.first < s.count {
		if err := s.conn.Write(s.poll); err != nil {
			return sent, err
		}
		if s.errno != 0 && s.split() {
			continue
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

// split makes a message of each datagram that AddTo has put together and that
// is not sent yet, so that what is wrong with one is not with all. EIO is a
// device that cannot cut.
func (s *Sender) split() bool {
	m := &s.headers[s.first].msg
	if m.Name == nil || m.Iovlen < 2 || s.errno == syscall.EAGAIN {
		return false
	}
	s.single = s.single || s.errno == syscall.EIO
	at := s.iovCount
	for j := s.count - 1; j >= s.first; j-- { // from the end: a datagram's number is never below its message's
		n, class := s.names[j], s.controls[j].class
		for range int(s.headers[j].msg.Iovlen) {
			at--
			s.names[at] = n
			s.headers[at].msg = unix.Msghdr{
				Name: (*byte)(unsafe.Pointer(&s.names[at])), Namelen: s.headers[j].msg.Namelen, Iov: &s.iovecs[at],
			}
			s.headers[at].msg.SetIovlen(1)
			s.controls[at].class = class
			s.controls[at].attach(&s.headers[at].msg, 0, false, byte(class.tos))
		}
	}
	s.first, s.count = at, s.iovCount
	s.to = netip.AddrPort{}
	return true
}

// Skip gives up the message that Flush could not send, and returns how many
// datagrams it had.
func (s *Sender) Skip() (datagrams int) {
	n := int(s.headers[s.first].msg.Iovlen)
	s.first++
	return n
}

func (s *Sender) send(fd uintptr) bool {
	s.n, s.errno = mmsg(unix.SYS_SENDMMSG, fd, s.headers[s.first:s.count])
	return s.errno != unix.EAGAIN
}
