package traffic

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"

	"github.com/plumbline-upf/plumbline/internal/yamltext"
	"github.com/plumbline-upf/plumbline/lab/generator"
)

// file is a profile as it is written.
type file struct {
	Name    string       `yaml:"name"`
	About   string       `yaml:"about"`
	Seed    uint64       `yaml:"seed"`
	Rate    Rate         `yaml:"rate"`
	Ramp    Rate         `yaml:"ramp"`
	Burst   int          `yaml:"burst"`
	Streams []fileStream `yaml:"streams"`
}

type fileStream struct {
	Name      string `yaml:"name"`
	Direction string `yaml:"direction"`
	IP        int    `yaml:"ip"`
	Frames    any    `yaml:"frames"`
	Sessions  struct {
		First int `yaml:"first"`
		Count int `yaml:"count"`
	} `yaml:"sessions"`
	Access string            `yaml:"access"`
	Zipf   float64           `yaml:"zipf"`
	Train  int               `yaml:"train"`
	QFI    map[uint8]float64 `yaml:"qfi"`
	DSCP   map[uint8]float64 `yaml:"dscp"`
	Share  float64           `yaml:"share"`
	Rate   Rate              `yaml:"rate"`
	Replay *fileReplay       `yaml:"replay"`
}

type fileReplay struct {
	File  string         `yaml:"file"`
	UE    []netip.Prefix `yaml:"ue"`
	Speed float64        `yaml:"speed"`
}

// Load reads a profile in YAML, as docs/howto-lab-traffic.md describes it, from a file.
//
// Errors: [ErrProfile], and those of the file and of capture files.
func Load(name string) (*Profile, error) {
	text, err := yamltext.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("traffic: %w", err)
	}
	return parse(name, text)
}

// parse reads a profile from the text of a file, to whose directory names of capture files
// are relative.
func parse(name string, text []byte) (*Profile, error) {
	var in file
	var p *Profile
	err := yamltext.Reader{Of: ErrProfile}.Parse(name, text, &in, func(m *yamltext.Checks) {
		p = &Profile{Name: in.Name, About: in.About, Seed: in.Seed, Rate: in.Rate, Ramp: in.Ramp, Burst: in.Burst}
		for i := range in.Streams {
			s, err := in.Streams[i].stream(filepath.Dir(name))
			m.Under(fmt.Sprintf("streams[%d]", i), err)
			p.Streams = append(p.Streams, s)
		}
		if len(*m) == 0 {
			m.Under("", p.validate())
		}
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// check is validate with the error that callers know.
func (p *Profile) check() error {
	if err := p.validate(); err != nil {
		return fmt.Errorf("traffic: %w: %w", ErrProfile, err)
	}
	return nil
}

func (in *fileStream) stream(directory string) (s Stream, err error) {
	s = Stream{
		Name: in.Name, First: in.Sessions.First, Sessions: in.Sessions.Count, ZipfExponent: in.Zipf, Train: in.Train,
		QFI: weights(in.QFI), DSCP: weights(in.DSCP), Share: in.Share, Rate: in.Rate,
	}
	if s.Direction, err = parseDirection(in.Direction); err != nil {
		return s, err
	}
	switch in.IP {
	case 0, 4:
	case 6:
		s.IPv6 = true
	default:
		return s, fmt.Errorf("ip %d: want 4 or 6", in.IP)
	}
	if in.Access != "" {
		if s.Access, err = generator.ParseAccess(in.Access); err != nil {
			return s, err
		}
	}
	if in.Frames != nil || in.Replay == nil {
		if s.Octets, err = parseOctets(in.Frames); err != nil {
			return s, err
		}
	}
	if in.Replay == nil {
		return s, nil
	}
	s.Replay = &Replay{File: in.Replay.File, UE: in.Replay.UE, Speed: in.Replay.Speed}
	return s, s.Replay.load(directory, s.Direction)
}

func parseDirection(name string) (generator.Direction, error) {
	for _, d := range []generator.Direction{generator.Uplink, generator.Downlink} {
		if d.String() == name {
			return d, nil
		}
	}
	return 0, fmt.Errorf("direction %q: want %v or %v", name, generator.Uplink, generator.Downlink)
}

// parseOctets takes what the YAML reader makes of 64, imix or [64, 594, 64].
func parseOctets(frames any) ([]int, error) {
	list, several := frames.([]any)
	if !several {
		return ParseFrames(fmt.Sprint(frames))
	}
	var octets []int
	for _, one := range list {
		n, err := ParseFrames(fmt.Sprint(one))
		if err != nil {
			return nil, err
		}
		octets = append(octets, n...)
		if len(octets) > generator.MaxTurns {
			break // refused later
		}
	}
	return octets, nil
}

// weights are the entries of m in the order of their values.
func weights(m map[uint8]float64) []generator.Weighted {
	var out []generator.Weighted
	for value, weight := range m {
		out = append(out, generator.Weighted{Value: value, Weight: weight})
	}
	slices.SortFunc(out, func(a, b generator.Weighted) int { return int(a.Value) - int(b.Value) })
	return out
}
