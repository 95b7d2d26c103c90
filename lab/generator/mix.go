package generator

import (
	"encoding/binary"
	"slices"
)

// IMIX is the simple Internet mix, 7 short to 4 middle to 1 long frame: UDP payloads
// of 64, 548 and 1400 octets, which are IPv4 packets of 92, 576 and 1428. The
// usual sizes are 40, 576 and 1500; but the short one must hold a [Stamp], and the
// long one must go into a tunnel over links with an MTU of 1500. Long and middle
// frames stand as far apart as they can.
//
// Source: RFC 6985, 1, for what a mix must say of itself.
var IMIX = []int{64, 548, 64, 64, 548, 64, 1400, 64, 548, 64, 64, 548}

// layout is how the frames of a generator look.
type layout struct {
	streams []Stream
	frames  []frame // by shape: of each stream, the longest first
	turns   [MaxStreams]generatorTurnRange
	shapes  [maxTurns]uint8 // by turn
	longest int             // octets of the longest frame
}

// newLayout builds the frames of c, which is valid.
func newLayout(c *Config) *layout {
	l := &layout{streams: c.streams()}
	if replay := l.streams[0].Replay; len(replay) > 0 {
		for i := range replay {
			l.frames = append(l.frames, newReplayFrame(c, &l.streams[0], &replay[i]))
			l.longest = max(l.longest, len(l.frames[i].octets))
		}
		return l
	}
	next := 0
	for i := range l.streams {
		s, first := &l.streams[i], len(l.frames)
		for _, payload := range s.shapes() {
			f := newFrame(c, s.Server, c.Stream+uint16(i), payload)
			l.frames, l.longest = append(l.frames, f), max(l.longest, len(f.octets))
		}
		l.turns[i] = generatorTurnRange{First: uint16(next), Count: uint16(len(s.Payloads))}
		for _, payload := range s.Payloads {
			l.shapes[next] = uint8(first + slices.Index(s.shapes(), payload))
			next++
		}
	}
	return l
}

// replays reports whether the frames are those of a replay.
func (l *layout) replays() bool { return len(l.streams[0].Replay) > 0 }

// frame returns the frame of a stream that has this sequence number.
func (l *layout) frame(stream int, sequence uint64) *frame {
	if l.replays() {
		return &l.frames[sequence%uint64(len(l.frames))]
	}
	t := l.turns[stream]
	return &l.frames[l.shapes[uint64(t.First)+sequence%uint64(t.Count)]]
}

// octets returns how many octets the n frames of a stream from sequence on have.
func (l *layout) octets(stream int, sequence, n uint64) uint64 {
	turns, round := uint64(l.turns[stream].Count), uint64(0)
	if l.replays() {
		turns = uint64(len(l.frames))
	}
	for turn := range turns {
		round += uint64(len(l.frame(stream, turn).octets))
	}
	sum := n / turns * round
	for i := range n % turns {
		sum += uint64(len(l.frame(stream, sequence+i).octets))
	}
	return sum
}

// family returns whether there are IPv4 and IPv6 streams.
func (l *layout) family() (ipv4, ipv6 bool) {
	for i := range l.streams {
		ipv6 = ipv6 || l.streams[i].Server.Is6()
		ipv4 = ipv4 || l.streams[i].Server.Is4()
	}
	return ipv4, ipv6
}

// marked reports whether frames have a DSCP.
func (l *layout) marked() bool {
	return slices.ContainsFunc(l.streams, func(s Stream) bool { return s.marked() })
}

// unlike reports whether what is padding in some frames is a stamp in others.
func (l *layout) unlike() bool {
	stampsEnd := 0
	for i := range l.frames {
		stampsEnd = max(stampsEnd, l.frames[i].stampEnd())
	}
	for i := range l.frames {
		if end := l.frames[i].stampEnd(); end < min(stampsEnd, len(l.frames[i].octets)) {
			return true
		}
	}
	return false
}

// template is a frame of the greatest length, whose end every shorter one has too: the
// padding goes on evenly.
func (l *layout) template() []byte {
	for i := range l.frames {
		if len(l.frames[i].octets) == l.longest {
			return l.frames[i].octets
		}
	}
	return nil
}

// shapesInProgram are the frames as the program wants them.
func (l *layout) shapesInProgram() (out [maxShapes]generatorShape) {
	for i := range l.frames {
		f := &l.frames[i]
		out[i] = generatorShape{
			L4Sum: f.l4Sum, IpSum: f.ipSum, PseudoSum: f.pseudoSum, OuterSum: f.outerSum,
			Cut: uint16(l.longest - len(f.octets)), ShortStamp: flag(f.short), Ipv6: flag(f.ipv6),
			StampHead: binary.NativeEndian.Uint64(f.octets[f.headers:]),
		}
		var headers [len(out[i].Headers) * 8]byte
		copy(headers[:], f.octets[:f.headers])
		for word := range out[i].Headers {
			out[i].Headers[word] = binary.NativeEndian.Uint64(headers[8*word:])
		}
	}
	return out
}

func flag(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}
