package traffic

import (
	"fmt"
	"net/netip"

	"github.com/plumbline-upf/plumbline/lab/generator"
)

// Configure writes the profile's streams of c.Direction into c: c.Streams and c.Seed. The
// servers are the addresses that UEs talk to; server6 may be invalid if no stream is
// IPv6. c.Sessions is what there is.
//
// Errors: [ErrProfile] where c does not have what the profile needs.
func (p *Profile) Configure(c *generator.Config, server4, server6 netip.Addr) error {
	streams := p.of(c.Direction)
	if len(streams) == 0 {
		return fmt.Errorf("traffic: no stream in direction %v: %w", c.Direction, ErrProfile)
	}
	c.Seed, c.Streams, c.Server = p.Seed, nil, server4
	for i := range streams {
		s := &streams[i]
		if s.First+max(1, s.Sessions) > len(c.Sessions) {
			return fmt.Errorf("traffic: stream %q: sessions %d to %d of %d: %w", s.Name, s.First, s.First+max(1, s.Sessions)-1, len(c.Sessions), ErrProfile)
		}
		g := generator.Stream{
			Server: server4, First: s.First, Sessions: s.Sessions, Access: s.Access, ZipfExponent: s.ZipfExponent,
			Train: s.Train, QFI: s.QFI, DSCP: s.DSCP, Share: s.share(),
		}
		if s.IPv6 {
			g.Server = server6
		}
		if s.Replay != nil {
			g.Replay, g.Server6 = s.Replay.Packets, server6
			if ipv4, _ := s.Replay.families(); !ipv4 {
				g.Server = server6
			}
		}
		if !g.Server.IsValid() {
			return fmt.Errorf("traffic: stream %q: there is no server of its family: %w", s.Name, ErrProfile)
		}
		for _, octets := range s.Octets {
			g.Payloads = append(g.Payloads, payloadOctets(octets, s.IPv6))
		}
		c.Streams = append(c.Streams, g)
	}
	return nil
}

// StreamNames returns the names of the streams of a direction, by their numbers.
func (p *Profile) StreamNames(d generator.Direction) []string {
	var names []string
	for _, s := range p.of(d) {
		names = append(names, s.Name)
	}
	return names
}
