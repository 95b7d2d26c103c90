package system

import (
	"errors"
	"math/rand/v2"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/meter"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/timestamp"
	"github.com/plumbline-upf/plumbline/lab/topology"
	"github.com/plumbline-upf/plumbline/lab/traffic"
)

// lane is one direction: a generator at one end, and what the meter at the other has
// to be.
type lane struct {
	direction report.Direction
	profile   *traffic.Profile
	names     []string // of its streams
	generator *generator.Generator
	meter     meter.Config
	at        *meter.Meter // nil: not attached yet
}

// Open makes ready to send the frames of a profile in all its directions, in place of
// what was open. run tells them from any others: it is to be the same for systems that
// are compared, so that they get the same frames.
func (s *System) Open(p *traffic.Profile, run uint32) error {
	if err := s.Shut(); err != nil {
		return err
	}
	for _, d := range p.Directions() {
		l, err := s.newLane(p, d, run)
		if err != nil {
			return err
		}
		s.lanes = append(s.lanes, l)
	}
	return nil
}

// NewRun returns a number for [System.Open] that no other run is likely to have.
func NewRun() uint32 { return rand.Uint32() }

func (s *System) newLane(p *traffic.Profile, d generator.Direction, run uint32) (*lane, error) {
	t, way := s.topology, report.Uplink
	run += uint32(d) // both may arrive at one device
	g := generator.Config{Link: t.N3, Direction: d, Run: run, OuterChecksum: s.config.OuterChecksum, Sender: s.config.Sender}
	m := meter.Config{
		Port: t.N6.Peer, N3: t.N3, N6: t.N6, Direction: d, Run: run, Streams: len(p.StreamNames(d)), Replay: p.Replays(d),
		Packets: s.config.Skbs || s.oneDevice(), TimeStamps: s.config.TimeStamps != timestamp.None,
		Unenforced: s.config.Kind.Unenforced,
	}
	if d == generator.Downlink {
		way, g.Link, m.Port = report.Downlink, t.N6, t.N3.Peer
	}
	g.Sessions = towards(way, s.sessions, s.rules)
	if err := p.Configure(&g, t.N6.Peer.Address.Addr(), t.N6.Peer.Address6.Addr()); err != nil {
		return nil, err
	}
	gen, err := generator.New(g)
	if err != nil {
		return nil, err
	}
	return &lane{direction: way, profile: p, names: p.StreamNames(d), generator: gen, meter: m}, nil
}

// oneDevice reports whether both meters are on one device, where there is room for one
// XDP program only.
func (s *System) oneDevice() bool {
	t := s.topology
	return t.GNB == t.DN && t.N3.Peer.Index == t.N6.Peer.Index
}

// attach puts the meter of a lane on its device, where it stays until the lane is closed
// or frames come in another form: the kernel takes longer to check its program than a
// short trial lasts. A real device without native XDP gets it at tcx.
func (s *System) attach(l *lane) error {
	bed := s.bed != nil
	if l.at != nil && l.meter.Bed == bed {
		return nil
	}
	if err := l.detach(); err != nil {
		return err
	}
	l.meter.Bed = bed
	m, err := meter.Attach(l.meter)
	if s.config.External != nil && !l.meter.Packets && errors.Is(err, unix.EOPNOTSUPP) {
		l.meter.Packets = true
		m, err = meter.Attach(l.meter)
	}
	if err != nil {
		return err
	}
	l.at = m
	return l.meter.Port.AwaitCarrier()
}

func (l *lane) detach() error {
	if l.at == nil {
		return nil
	}
	err := l.at.Close()
	l.at = nil
	return err
}

// sendsBy is the port by which frames of a pass leave.
func (s *System) sendsBy(p *pass) topology.Port {
	if p.direction == report.Downlink {
		return s.topology.N6.Peer
	}
	return s.topology.N3.Peer
}

// access is which session each frame belongs to, in a word.
func (l *lane) access() string {
	words := ""
	for _, s := range l.profile.Streams {
		switch {
		case s.Direction != l.meter.Direction || s.Access.String() == words:
		case words == "":
			words = s.Access.String()
		default:
			return "mixed"
		}
	}
	return words
}

// Shut ends what Open has made ready, and takes the meters off.
func (s *System) Shut() error {
	var errs []error
	for _, l := range s.lanes {
		errs = append(errs, l.generator.Close(), l.detach())
	}
	s.lanes = nil
	return errors.Join(errs...)
}
