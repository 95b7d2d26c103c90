package traffic

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/plumbline-upf/plumbline/lab/generator"
)

// builtin are the profiles that need no file.
//
// The two _simple ones are what the traffic generator TRex sends by its profiles of
// these names: one UE, one flow, frames with a UDP payload of 1400 octets.
var builtin = []Profile{
	{
		Name: "gtp_1pkt_simple", About: "One UE's uplink, UDP payload of 1400 octets.",
		Streams: []Stream{simplePackets(generator.Uplink)},
	},
	{
		Name: "udp_1pkt_simple", About: "One UE's downlink, UDP payload of 1400 octets.",
		Streams: []Stream{simplePackets(generator.Downlink)},
	},
}

func simplePackets(d generator.Direction) Stream {
	return Stream{Name: d.String(), Direction: d, Octets: []int{FrameOctets(1400, false)}, Sessions: 1, Access: generator.Same}
}

// Builtin returns the built-in profile of this name.
func Builtin(name string) (*Profile, bool) {
	for _, p := range builtin {
		if p.Name == name {
			p.Streams = slices.Clone(p.Streams)
			return &p, true
		}
	}
	return nil, false
}

// Simple returns a profile of one stream in each of the directions, of all sessions.
// Frames is a number of octets on N6 with FCS, or "imix".
//
// Errors: [ErrProfile].
func Simple(frames string, access generator.Access, directions ...generator.Direction) (*Profile, error) {
	octets, err := ParseFrames(frames)
	if err != nil {
		return nil, fmt.Errorf("traffic: %w: %w", ErrProfile, err)
	}
	p := &Profile{Name: frames, Seed: 1}
	for _, d := range directions {
		p.Streams = append(p.Streams, Stream{Name: d.String(), Direction: d, Octets: octets, Access: access})
	}
	return p, p.check()
}

// Named returns what a name of frames or of a profile stands for, in the given
// directions: a number of octets, "imix", a built-in profile, or a file. What a
// profile sends in other directions is left out.
//
// Errors: [ErrProfile], those of the YAML reader and of the file.
func Named(name string, access generator.Access, directions ...generator.Direction) (*Profile, error) {
	if _, err := strconv.Atoi(name); err == nil || name == NameIMIX {
		return Simple(name, access, directions...)
	}
	p, ok := Builtin(name)
	if !ok {
		var err error
		if p, err = Load(name); err != nil {
			return nil, err
		}
	}
	p.Streams = slices.DeleteFunc(p.Streams, func(s Stream) bool { return !slices.Contains(directions, s.Direction) })
	if len(p.Streams) == 0 {
		return nil, fmt.Errorf("traffic: profile %s has no stream in direction %v: %w", name, directions, ErrProfile)
	}
	return p, nil
}
