package generator

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
)

// Stream is a part of what a generator sends. Its frames have sequence numbers of
// their own, and the meter counts them apart.
type Stream struct {
	Server   netip.Addr // IPv4 or IPv6, as the stream is; default Config.Server
	Payloads []int      // of successive frames, which then begin again; ShortStampOctets at least

	// First and Sessions select of Config.Sessions; Sessions 0: all from First on.
	First, Sessions int
	Access          Access
	ZipfExponent    float64 // s of Zipf; default 1
	Train           int     // so many successive frames of the stream are of one session; default 1

	QFI  []Weighted // of the frames; none: that of the session
	DSCP []Weighted // of the user packets, and uplink of the outer headers; none: 0

	Share float64 // of the frames, in relation to the other streams; default 1

	// Replay, if there is one, takes the place of Payloads, QFI, DSCP and Train, and must be
	// the only stream. Each UE of the file stands for the next session of the access
	// pattern, and after the last packet for another one.
	Replay  []ReplayPacket
	Server6 netip.Addr // of a replay with IPv6 packets
}

// Weighted is a number of six bits (QFI, DSCP) and how often it is to be had, in
// relation to others.
type Weighted struct {
	Value  uint8
	Weight float64
}

// Bounds of a generator's streams: bpf/generator.bpf.c.
const (
	MaxTurns   = 64   // frames of a stream until their lengths repeat
	MaxStreams = 64   // STREAMS_MAX
	maxShapes  = 128  // SHAPES_MAX: different lengths, stream by stream
	maxTurns   = 4096 // TURNS_MAX: of all streams
)

// streams are those of the configuration, defaults filled in.
func (c *Config) streams() []Stream {
	list := slices.Clone(c.Streams)
	if len(list) == 0 {
		list = []Stream{{Payloads: c.Mix, Access: c.Access, ZipfExponent: c.ZipfExponent}}
		if len(c.Mix) == 0 {
			list[0].Payloads = []int{c.PayloadOctets}
		}
	}
	for i := range list {
		s := &list[i]
		if !s.Server.IsValid() {
			s.Server = c.Server
		}
		if s.Sessions == 0 {
			s.Sessions = max(0, len(c.Sessions)-s.First)
		}
		if s.ZipfExponent == 0 {
			s.ZipfExponent = 1
		}
		if s.Share == 0 {
			s.Share = 1
		}
		s.Train = max(s.Train, 1)
	}
	return list
}

// shapes are the payloads that there are, the largest first.
func (s *Stream) shapes() []int {
	sizes := slices.Sorted(slices.Values(s.Payloads))
	slices.Reverse(sizes)
	return slices.Compact(sizes)
}

// shortest is the least payload; of a replay, the least that is allowed.
func (s *Stream) shortest() int {
	if len(s.Replay) > 0 {
		return ShortStampOctets
	}
	return slices.Min(s.Payloads)
}

// marked reports whether frames have a DSCP.
func (s *Stream) marked() bool {
	return slices.ContainsFunc(s.DSCP, func(w Weighted) bool { return w.Value != 0 })
}

func (c *Config) validateStreams() error {
	streams, shapes := c.streams(), 0
	if len(streams) > MaxStreams || int(c.Stream)+len(streams) > 1<<16 {
		return fmt.Errorf("%d streams from number %d: want %d at most, with numbers up to 65535", len(streams), c.Stream, MaxStreams)
	}
	for i := range streams {
		s := &streams[i]
		if err := c.validateStream(s); err != nil {
			return fmt.Errorf("stream %d: %w", i, err)
		}
		if len(s.Replay) > 0 && len(streams) > 1 {
			return fmt.Errorf("stream %d is a replay: want no others", i)
		}
		if s.shortest() < StampOctets && int(c.Stream)+i > maxShortStream {
			return fmt.Errorf("stream %d: number %d does not go into a short stamp: want %d at most", i, int(c.Stream)+i, maxShortStream)
		}
		shapes += len(s.shapes())
	}
	if shapes > maxShapes {
		return fmt.Errorf("%d different frames: want %d at most", shapes, maxShapes)
	}
	return nil
}

func (c *Config) validateStream(s *Stream) error {
	switch {
	case !s.Server.IsValid():
		return errors.New("server: no address")
	case len(s.Replay) == 0 && (len(s.Payloads) == 0 || len(s.Payloads) > MaxTurns):
		return fmt.Errorf("mix of %d frames: want 1 to %d", len(s.Payloads), MaxTurns)
	case s.First < 0 || s.Sessions < 1 || s.First+s.Sessions > len(c.Sessions):
		return fmt.Errorf("sessions %d and %d more of %d", s.First, s.Sessions, len(c.Sessions))
	case s.Access > Each:
		return fmt.Errorf("access pattern %d: unknown", s.Access)
	case !(s.ZipfExponent > 0):
		return fmt.Errorf("zipf exponent %v: want one above 0", s.ZipfExponent)
	case !(s.Share > 0):
		return fmt.Errorf("share %v: want one above 0", s.Share)
	}
	if len(s.Replay) > 0 {
		return s.validateReplay(c)
	}
	for _, payload := range s.Payloads {
		if payload < ShortStampOctets {
			return fmt.Errorf("payload of %d octets: want %d at least", payload, ShortStampOctets)
		}
	}
	for _, w := range slices.Concat(s.QFI, s.DSCP) {
		if w.Value > 63 || !(w.Weight > 0) {
			return fmt.Errorf("QFI or DSCP %d with weight %v: want 0 to 63, and a weight above 0", w.Value, w.Weight)
		}
	}
	return c.validateSessions(s, s.Server)
}

// validateSessions looks at those of a stream that talk to the server.
func (c *Config) validateSessions(s *Stream, server netip.Addr) error {
	for i, session := range c.Sessions[s.First : s.First+s.Sessions] {
		if session.QFI > 63 {
			return fmt.Errorf("session %d: QFI %d: want 0 to 63", s.First+i, session.QFI)
		}
		if !session.address(server.Is6()).IsValid() {
			return fmt.Errorf("session %d: UE %v and server %v: not of one family", s.First+i, session.UE, server)
		}
	}
	return nil
}

// address returns the UE's address of a family; the zero value: it has none.
func (s *Session) address(ipv6 bool) netip.Addr {
	for _, a := range []netip.Addr{s.UE, s.UE6} {
		if a.IsValid() && a.Is6() == ipv6 {
			return a
		}
	}
	return netip.Addr{}
}
