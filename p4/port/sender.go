package port

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/mmsg"
)

// sender sends by a packet socket, past the queueing discipline.
type sender struct {
	counters *counters
	fd       int
	mmsg     *mmsg.Sender
	frames   [sendBatch][1][]byte
	n        int
}

const (
	sendBatch  = 64
	sendBuffer = 4 << 20
	patience   = 20 // times a millisecond, for a device that has no room
)

// NewSender returns one of as many senders as there are receivers, and one more. It is not for several goroutines at once.
func (p *packetPort) NewSender() (Sender, error) {
	if p.given == len(p.senders) {
		return nil, fmt.Errorf("port %s: all %d senders are taken", p.name, p.given)
	}
	p.given++
	return p.senders[p.given-1], nil
}

// newSender makes a sender to the device with an interface index.
func newSender(index int, c *counters) (*sender, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	err = errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_QDISC_BYPASS, 1),
		unix.Bind(fd, &unix.SockaddrLinklayer{Ifindex: index})) // protocol 0: receives nothing
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, sendBuffer) != nil {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, sendBuffer) // never refused: socket(7)
	}
	return &sender{counters: c, fd: fd, mmsg: mmsg.NewSender(once(fd), sendBatch)}, nil
}

// Send has a frame leave.
func (s *sender) Send(frame []byte) {
	if s.n == sendBatch {
		s.Flush()
	}
	s.frames[s.n][0] = frame
	s.mmsg.Add(s.frames[s.n][:])
	s.n++
}

// Flush sends what there is.
func (s *sender) Flush() {
	if s.n == 0 {
		return
	}
	first, c := 0, s.counters
	for tries := 0; first < s.n; {
		sent, err := s.mmsg.Flush()
		if sent > 0 {
			octets := 0
			for i := range sent {
				octets += len(s.frames[first+i][0])
			}
			c.txFrames.Add(uint64(sent))
			c.txOctets.Add(uint64(octets))
			first += sent
		}
		switch {
		case err == nil:
			continue
		case errors.Is(err, syscall.EAGAIN) && tries < patience:
			tries++
			_, _ = unix.Poll([]unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLOUT}}, 1)
			continue
		case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOBUFS):
			c.txFull.Add(1)
		case errors.Is(err, syscall.EMSGSIZE):
			c.txTooLong.Add(1)
		default:
			c.txErrors.Add(1)
		}
		first += s.mmsg.Skip()
	}
	s.mmsg.Reset()
	s.n = 0
}

// once is a RawConn that never waits.
type once int

// Control calls f.
func (o once) Control(f func(fd uintptr)) error { f(uintptr(o)); return nil }

// Read calls f once.
func (o once) Read(f func(fd uintptr) bool) error { f(uintptr(o)); return nil }

// Write calls f once.
func (o once) Write(f func(fd uintptr) bool) error { f(uintptr(o)); return nil }
