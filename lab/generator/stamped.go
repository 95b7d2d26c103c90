package generator

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/plumbline-upf/plumbline/lab/timestamp"
)

// stamp has the sender ask for time stamps, until stop is called: it waits for those
// that are on their way.
func (g *Generator) stamp(c *timestamp.Collector) (stop func() error, err error) {
	if c == nil {
		return func() error { return nil }, nil
	}
	s, ok := g.sender.(*userspace)
	if !ok || g.config.Sender != Packet {
		return nil, fmt.Errorf("time stamps of frames that %v sends: only those of %v have any: %w", g.config.Sender, Packet, errors.ErrUnsupported)
	}
	conn, err := s.output.(*packetOutput).file.SyscallConn()
	if err != nil {
		return nil, err
	}
	at := g.layout.stampsAt()
	var end func() error
	control := conn.Control(func(fd uintptr) { // the socket stays open as long as the generator
		end, err = c.Sending(int(fd), func(frame []byte) uint32 { return g.config.mark(c, at, frame) })
	})
	if err := errors.Join(control, err); err != nil {
		return nil, err
	}
	s.stamps, s.asks = c, c.Source().Request()
	return func() error {
		s.stamps = nil
		return end()
	}, nil
}

// request is what goes with the frame that was made last.
func (s *userspace) request() []byte {
	if s.stamps == nil || s.stamps.Mark(s.made.stream, s.made.sequence) == 0 {
		return nil
	}
	s.stamps.Asked()
	return s.asks
}

// stampsAt are the octets before the stamp, in any of the frames.
func (l *layout) stampsAt() []int {
	var at []int
	for i := range l.frames {
		at = append(at, l.frames[i].headers)
	}
	slices.Sort(at)
	return slices.Compact(at)
}

// mark is that of a frame of the run that came back with its time stamp, 0 of others. Not
// the number of the time stamp tells which frame it is: a frame that the device had no
// room for may have been given one as well.
func (c *Config) mark(stamps *timestamp.Collector, at []int, frame []byte) uint32 {
	for _, n := range at {
		if len(frame) < n+ShortStampOctets {
			break
		}
		if s, err := DecodeStamp(frame[n:]); err == nil && s.Run == c.Run {
			return stamps.Mark(s.Stream, s.Sequence)
		}
		if head := binary.LittleEndian.Uint32(frame[n:]); head&^0xff == ShortHead(c.Run)&^0xff {
			return stamps.Mark(uint16(head&0xff), uint64(binary.LittleEndian.Uint32(frame[n+4:])))
		}
	}
	return 0
}
