package system

import (
	"errors"
	"math/rand/v2"

	"plumbline/lab/generator"
	"plumbline/lab/meter"
	"plumbline/lab/report"
)

// Frames says what frames are like.
type Frames struct {
	PayloadOctets int              // UDP payload of the user packets
	Mix           []int            // in its place, as [generator.Config.Mix]
	OuterChecksum bool             // uplink frames have an outer UDP checksum
	IPv6          bool             // the user packets are IPv6, if the sessions have [Rules.IPv6]
	Access        generator.Access // which session each frame belongs to
}

// lane is one direction: a generator at one end, and what the meter at the other has
// to be.
type lane struct {
	direction report.Direction
	generator *generator.Generator
	meter     meter.Config
	access    string // of the frames
}

// Open makes ready to send such frames of the sessions in these directions, in place
// of what was open. run tells them from any others: it is to be the same for systems
// that are compared, so that they get the same frames.
func (s *System) Open(f Frames, directions []report.Direction, run uint32) error {
	if err := s.closeLanes(); err != nil {
		return err
	}
	for _, d := range directions {
		l, err := s.newLane(f, d, run)
		if err != nil {
			return err
		}
		s.lanes = append(s.lanes, l)
	}
	return nil
}

// NewRun returns a number for [System.Open] that no other run is likely to have.
func NewRun() uint32 { return rand.Uint32() }

func (s *System) newLane(f Frames, d report.Direction, run uint32) (*lane, error) {
	t := s.topology
	g := generator.Config{
		Link: t.N3, Direction: generator.Uplink, Run: run, Server: t.N6.Peer.Address.Addr(),
		PayloadOctets: f.PayloadOctets, Mix: f.Mix, OuterChecksum: f.OuterChecksum, Access: f.Access, Seed: 1,
		Sessions: towards(d, s.sessions, f.IPv6),
	}
	if f.IPv6 {
		g.Server = t.N6.Peer.Address6.Addr()
	}
	m := meter.Config{Port: t.N6.Peer, N3: t.N3, Direction: generator.Uplink, Run: run, Streams: 1, Packets: s.config.Skbs}
	if d == report.Downlink {
		g.Link, g.Direction = t.N6, generator.Downlink
		m.Port, m.Direction = t.N3.Peer, generator.Downlink
	}
	gen, err := generator.New(g)
	if err != nil {
		return nil, err
	}
	return &lane{direction: d, generator: gen, meter: m, access: f.Access.String()}, nil
}

func (s *System) closeLanes() error {
	var errs []error
	for _, l := range s.lanes {
		errs = append(errs, l.generator.Close())
	}
	s.lanes = nil
	return errors.Join(errs...)
}
