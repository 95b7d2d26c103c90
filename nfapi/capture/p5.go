package capture

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/plumbline-upf/plumbline/nfapi"
)

// begins reports whether octets may begin a message: that many headers have to be there. Zeros
// are in the middle of many; they begin one only if it ends with the octets.
func (s *stream) begins(b []byte, least int) bool {
	zeros := len(b) >= 8 && bytes.Equal(b[:8], make([]byte, 8))
	for _, p := range s.candidates() {
		if fits, headers := s.fits(p, b); fits && headers >= least && (!zeros || ends(p, b)) {
			return true
		}
	}
	return false
}

func (s *stream) candidates() []nfapi.Profile {
	if s.known {
		return []nfapi.Profile{s.p}
	}
	return s.d.p5Candidates()
}

// fits reports whether octets are messages of a profile as far as they go, and how many
// headers they have.
func (s *stream) fits(p nfapi.Profile, b []byte) (fits bool, headers int) {
	for len(b) >= 4 {
		id := nfapi.MessageID(order(p).Uint16(b[2:]))
		if !isP5Message(id) {
			return false, headers
		}
		n, ok := p.FrameP5(b)
		if !ok {
			return true, headers
		}
		if spare := p.HeaderLen(nfapi.P5) - 2; n > nfapi.MaxMessage || p != nfapi.Aerial && (b[spare] != 0 || b[spare+1] != 0) {
			return false, headers
		}
		headers++
		b = b[min(n, len(b)):]
	}
	return true, headers
}

func order(p nfapi.Profile) binary.ByteOrder {
	if p == nfapi.Aerial {
		return binary.LittleEndian
	}
	return binary.BigEndian
}

// isP5Message reports whether a message may be of P5.
func isP5Message(id nfapi.MessageID) bool {
	return id.Known() && (id < nfapi.MsgDLTTIRequest || id >= nfapi.MsgPNFParamRequest && id < nfapi.MsgULNodeSync) || id >= nfapi.MsgVendorFirst && id <= nfapi.MsgVendorLast
}

// recognise finds the profile by the headers that there are. Eight zeros and more may be of
// both generations: then more has to come, of this direction or of the other one.
func (s *stream) recognise(last bool) bool {
	const enough = 64
	if back := s.d.streams[s.f.back()]; !s.known && back != nil && back.known {
		s.p, s.known = back.p, true
	}
	if s.known {
		return true
	}
	var fitting []nfapi.Profile
	list := s.d.p5Candidates()
	for _, p := range list {
		fits, headers := s.fits(p, s.buffer)
		if fits && headers == 0 && !last {
			return false // not yet a header
		}
		if fits || len(list) == 1 {
			fitting = append(fitting, p)
		}
	}
	switch {
	case len(fitting) == 0:
		s.skip()
		return false
	case len(fitting) > 1 && len(s.buffer) < enough && !last:
		return false
	case len(fitting) > 1 && last:
		if i := slices.IndexFunc(fitting, func(p nfapi.Profile) bool { return ends(p, s.buffer) }); i > 0 {
			fitting = fitting[i:]
		}
	}
	s.p, s.known = fitting[0], true
	return true
}

// ends reports whether the last message of octets ends with them.
func ends(p nfapi.Profile, b []byte) bool {
	for len(b) > 0 {
		n, ok := p.FrameP5(b)
		if !ok || n > len(b) {
			return false
		}
		b = b[n:]
	}
	return true
}

// p5Message decodes a P5 message of known length, which must match its header.
func (d *decoder) p5Message(f flow, b []byte) error {
	e := &Event{At: d.now, From: f.from, To: f.to, Plane: nfapi.P5, Profile: nfapi.OAI2025, Segments: 1}
	for _, p := range d.p5Candidates() {
		if n, ok := p.FrameP5(b); ok && n == len(b) {
			e.Profile = p
			break
		}
	}
	h, body, err := e.Profile.ParseP5(b)
	e.Header = h
	if err == nil {
		return d.decode(e, body)
	}
	e.Octets, e.Err = len(b), fmt.Errorf("message in SCTP: %w", err)
	d.stats.Failed++
	return d.f(e)
}

// p5Candidates are the profiles that a connection of P5 may be of.
func (d *decoder) p5Candidates() []nfapi.Profile {
	if d.Profile != nil {
		return []nfapi.Profile{*d.Profile}
	}
	return []nfapi.Profile{nfapi.OAI2025, nfapi.OAI2024}
}
