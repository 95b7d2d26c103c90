package port

import (
	"encoding/binary"
	"errors"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/inet"
	"github.com/plumbline-upf/plumbline/internal/xsk"
)

// xdpSender sends through the TX ring of a queue.
type xdpSender struct {
	port    *xdpPort
	q       *queue
	leaving []unix.XDPDesc
	octets  int // of these
	given   []uint64
	down    bool // the device was, when it was asked last
	asked   time.Time
}

func newXDPSender(x *xdpPort, q *queue) *xdpSender {
	return &xdpSender{port: x, q: q, leaving: make([]unix.XDPDesc, 0, xdpBurst), given: make([]uint64, len(q.out.Unused))}
}

// Send has a frame leave: it is copied.
func (s *xdpSender) Send(frame []byte) {
	c := &s.port.counters
	switch {
	case len(frame) < inet.LenEthernet:
		c.txErrors.Add(1)
		return
	case len(frame) > int(s.q.out.Frame), len(frame) > s.longest(frame) && len(frame) > s.longestNow(frame):
		c.txTooLong.Add(1)
		return
	}
	if len(s.leaving) == cap(s.leaving) {
		s.Flush()
	}
	base, ok := s.room()
	if !ok {
		c.txFull.Add(1)
		return
	}
	copy(s.q.out.Bytes(base), frame)
	s.leaving = append(s.leaving, unix.XDPDesc{Addr: s.q.base + base, Len: uint32(len(frame))})
	s.octets += len(frame)
}

// longest is how long a frame can be by the MTU: with a tag it may have 4 octets more.
func (s *xdpSender) longest(frame []byte) int {
	n := int(s.port.mtu.Load()) + inet.LenEthernet
	if t := binary.BigEndian.Uint16(frame[12:]); t == unix.ETH_P_8021Q || t == unix.ETH_P_8021AD {
		n += inet.LenTag
	}
	return n
}

// longestNow is longest by the MTU of now, which is looked at once in a while.
func (s *xdpSender) longestNow(frame []byte) int {
	if now := time.Now(); now.Sub(s.asked) > time.Second {
		s.asked = now
		if link, err := net.InterfaceByIndex(s.port.index); err == nil {
			s.port.mtu.Store(int32(link.MTU))
		}
	}
	return s.longest(frame)
}

// room returns a frame that is free, and waits a little for one.
func (s *xdpSender) room() (base uint64, ok bool) {
	for tries := 0; ; tries++ {
		if base, ok = s.q.out.Take(); ok || tries == patience || s.down {
			return base, ok
		}
		if s.reclaim() == 0 {
			s.push()
			if s.reclaim() == 0 {
				_, _ = unix.Poll([]unix.PollFd{{Fd: int32(s.q.FD), Events: unix.POLLOUT}}, 1)
			}
		}
	}
}

// reclaim takes back what was sent.
func (s *xdpSender) reclaim() int {
	n := s.q.Completion.Take(s.given)
	for _, at := range s.given[:n] {
		_ = s.q.out.Reclaim(at - s.q.base) // one that the kernel does not have stays as it is
	}
	return n
}

// Flush sends what there is. What the device does not take at once stays in the ring, in its order.
func (s *xdpSender) Flush() {
	if len(s.leaving) == 0 {
		return
	}
	c := &s.port.counters
	if s.down = s.down && errors.Is(s.q.Wake(), unix.ENETDOWN); s.down {
		for _, d := range s.leaving {
			s.q.out.Put(d.Addr - s.q.base)
		}
		c.txErrors.Add(uint64(len(s.leaving)))
	} else {
		for _, d := range s.leaving {
			s.q.out.Give(d.Addr-s.q.base, xsk.Sent)
		}
		s.q.TX.Put(s.leaving) // all: the ring has as many entries as there are frames
		c.txFrames.Add(uint64(len(s.leaving)))
		c.txOctets.Add(uint64(s.octets))
		s.push()
	}
	s.leaving, s.octets = s.leaving[:0], 0
	s.reclaim()
}

// push makes the kernel send the ring. In copy mode this call is the only trigger, and it sends a few frames per call.
func (s *xdpSender) push() {
	for tries := 0; tries < patience; {
		before := s.q.TX.Unread()
		if before == 0 || s.q.Zero && !s.q.TX.Asleep() {
			return
		}
		err := s.q.Wake()
		switch {
		case errors.Is(err, unix.ENETDOWN):
			s.down = true
			return
		case s.q.Zero && err == nil:
			return // the driver continues by itself
		case s.q.TX.Unread() == before:
			tries++
			s.reclaim() // the kernel may be waiting for room in the completion ring
		}
	}
}
