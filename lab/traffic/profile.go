package traffic

import (
	"errors"
	"fmt"
	"slices"

	"github.com/plumbline-upf/plumbline/lab/generator"
)

// Profile is what is sent. [Parse], [Builtin] and [Simple] return valid ones.
type Profile struct {
	Name  string
	About string // in a sentence or two
	Seed  uint64 // of all that is drawn by lot; the same seed draws the same

	// Rate of each direction in which there are streams, unless these have rates of
	// their own. The zero value leaves it to the method.
	Rate Rate
	// Ramp is the rate at the end of each run, which then begins with Rate and changes
	// evenly. The zero value is no ramp.
	Ramp Rate
	// Burst frames are due at one moment, and then none until the rate allows the
	// next Burst. 0 and 1: frames are evenly spaced.
	Burst int

	Streams []Stream
}

// Stream is traffic of one kind in one direction.
type Stream struct {
	Name      string // unique in its profile
	Direction generator.Direction
	IPv6      bool // the user packets are IPv6

	// Octets are the lengths of successive frames on N6, FCS included, which then
	// begin again. A replay has none.
	Octets []int
	// Replay, if there is one, is where the frames come from. It has its own lengths and
	// DSCPs, the QFI is that of the session, and it must be the only stream of its direction.
	Replay *Replay

	// First and Sessions select the sessions that frames belong to; Sessions 0: all
	// from First on.
	First, Sessions int
	Access          generator.Access
	ZipfExponent    float64 // s of Zipf; 0: 1
	Train           int     // so many successive frames of the stream are of one session; 0: 1

	QFI  []generator.Weighted // QFIs of uplink frames; empty: that of the session
	DSCP []generator.Weighted // DSCPs of the user packets; empty: 0

	// Share is the part of the direction's frames, in relation to the shares of the
	// other streams. It is 0 if the stream has a Rate.
	Share float64
	Rate  Rate // of the stream alone; the zero value: it has a Share
}

// Bounds of what a profile may say.
const (
	MaxStreams = 64      // of a direction
	MaxTrain   = 4096    // frames
	MaxBurst   = 1 << 16 // frames
)

// ErrProfile is wrapped by every error about what a profile says.
var ErrProfile = errors.New("bad traffic profile")

// Directions returns those in which there are streams.
func (p *Profile) Directions() []generator.Direction {
	var out []generator.Direction
	for _, d := range []generator.Direction{generator.Uplink, generator.Downlink} {
		if len(p.of(d)) > 0 {
			out = append(out, d)
		}
	}
	return out
}

// Sessions returns how many sessions the profile needs at least.
func (p *Profile) Sessions() int {
	n := 1
	for _, s := range p.Streams {
		n = max(n, s.First+max(1, s.Sessions))
	}
	return n
}

// IPv6 reports whether sessions need an IPv6 address.
func (p *Profile) IPv6() bool {
	return slices.ContainsFunc(p.Streams, func(s Stream) bool {
		if s.Replay != nil {
			_, ipv6 := s.Replay.families()
			return ipv6
		}
		return s.IPv6
	})
}

// Replays reports whether direction d replays a file: the meter must know.
func (p *Profile) Replays(d generator.Direction) bool {
	return slices.ContainsFunc(p.of(d), func(s Stream) bool { return s.Replay != nil })
}

// of returns the streams of a direction.
func (p *Profile) of(d generator.Direction) []Stream {
	var out []Stream
	for _, s := range p.Streams {
		if s.Direction == d {
			out = append(out, s)
		}
	}
	return out
}

func (p *Profile) validate() error {
	switch {
	case len(p.Streams) == 0:
		return errors.New("no streams")
	case p.Burst < 0 || p.Burst > MaxBurst:
		return fmt.Errorf("burst of %d frames: want %d at most", p.Burst, MaxBurst)
	case p.Ramp.isSet() && !p.Rate.isSet():
		return errors.New("a ramp without the rate that it begins with")
	}
	if err := errors.Join(p.Rate.ofAll(), p.Ramp.ofAll()); err != nil {
		return err
	}
	names := map[string]bool{}
	for i := range p.Streams {
		s := &p.Streams[i]
		if names[s.Name] {
			return fmt.Errorf("stream %q: there are two of this name", s.Name)
		}
		names[s.Name] = true
		if err := s.validate(); err != nil {
			return fmt.Errorf("stream %q: %w", s.Name, err)
		}
	}
	for _, d := range p.Directions() {
		if err := p.validateDirection(d); err != nil {
			return fmt.Errorf("%v: %w", d, err)
		}
	}
	return nil
}

// validateDirection looks at what the streams of a direction must have in common.
func (p *Profile) validateDirection(d generator.Direction) error {
	streams := p.of(d)
	if len(streams) > MaxStreams {
		return fmt.Errorf("%d streams: want %d at most", len(streams), MaxStreams)
	}
	for _, s := range streams {
		if s.Replay != nil && len(streams) > 1 {
			return fmt.Errorf("stream %q replays a file: want no others", s.Name)
		}
		if s.Replay != nil && s.Replay.Speed > 0 && (s.Rate.isSet() || p.Rate.isSet()) {
			return fmt.Errorf("stream %q: a rate, and a speed of the file: want one of them", s.Name)
		}
		if s.Rate.isSet() != streams[0].Rate.isSet() {
			return fmt.Errorf("stream %q has a rate and stream %q has none, or the other way round", s.Name, streams[0].Name)
		}
		if s.Rate.isSet() && p.Rate.isSet() {
			return fmt.Errorf("stream %q has a rate, and so has the profile", s.Name)
		}
	}
	return nil
}

func (s *Stream) validate() error {
	switch {
	case s.Name == "":
		return errors.New("no name")
	case s.Direction != generator.Uplink && s.Direction != generator.Downlink:
		return errors.New("no direction: want uplink or downlink")
	case s.First < 0 || s.Sessions < 0 || s.First > maxSessions || s.Sessions > maxSessions:
		return fmt.Errorf("sessions %d and %d more: want 0 to %d", s.First, s.Sessions, maxSessions)
	case s.Train < 0 || s.Train > MaxTrain:
		return fmt.Errorf("train of %d frames: want %d at most", s.Train, MaxTrain)
	case !(s.ZipfExponent >= 0 && s.ZipfExponent <= 100):
		return fmt.Errorf("zipf exponent %v: want 0 to 100", s.ZipfExponent)
	case !(s.Share >= 0 && s.Share <= 1e9):
		return fmt.Errorf("share %v: want 0 to 1e9", s.Share)
	case s.Share > 0 && s.Rate.isSet():
		return errors.New("a share and a rate: want one of them")
	case len(s.QFI) > 0 && s.Direction == generator.Downlink:
		return errors.New("qfi of downlink frames: the rules of the UPF decide")
	case s.Rate.Percent > 0:
		return fmt.Errorf("rate %v: want one that does not depend on the throughput", s.Rate)
	case s.Rate.PerSession && s.Sessions == 0:
		return fmt.Errorf("rate %v: want the number of sessions", s.Rate)
	}
	if err := validateWeights("qfi", s.QFI); err != nil {
		return err
	}
	if err := validateWeights("dscp", s.DSCP); err != nil {
		return err
	}
	if s.Replay == nil {
		return validateOctets(s.Octets, s.IPv6)
	}
	if len(s.Octets)+len(s.QFI)+len(s.DSCP) > 0 || s.Train > 1 || s.IPv6 {
		return errors.New("replay: want no frames, ip, qfi, dscp or train besides")
	}
	return s.Replay.validate()
}

// maxSessions is more than a UE pool has addresses.
const maxSessions = 1 << 24

// validateWeights looks at a mix of QFIs or DSCPs, numbers of six bits.
func validateWeights(what string, mix []generator.Weighted) error {
	for _, w := range mix {
		if w.Value > 63 || !(w.Weight > 0 && w.Weight <= 1e9) {
			return fmt.Errorf("%s %d with weight %v: want 0 to 63, and a weight above 0", what, w.Value, w.Weight)
		}
	}
	return nil
}
