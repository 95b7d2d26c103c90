package export

import (
	"errors"
	"fmt"
	"strings"

	"github.com/plumbline-upf/plumbline/probe"
)

// AmbiguousRatio is the part of the timed packets that came in which could not be told from
// others; 0 if none came.
func AmbiguousRatio(a probe.Account) float64 {
	if a.Timed() == 0 {
		return 0
	}
	return float64(a.Ambiguous) / float64(a.Timed())
}

// withheld says why the delays of a series must not be used; empty: they may.
func withheld(a probe.Account, maxAmbiguous float64) string {
	if ratio := AmbiguousRatio(a); ratio > maxAmbiguous {
		return fmt.Sprintf("%.2f %% of the packets could not be told apart, more than %.4g %%", 100*ratio, 100*maxAmbiguous)
	}
	return ""
}

// judge adds what the figures must not be read without.
func (r *Result) judge() {
	for i := range r.Series {
		s := &r.Series[i]
		if s.Withheld != "" {
			r.Warnings = append(r.Warnings, s.name()+": "+s.Withheld+": its delays are withheld")
		}
		if a := s.Account(); !a.Balanced() {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s: %d packets came in, %d are accounted for",
				s.name(), a.In, a.Matched+a.Lost+a.InFlight+a.Ambiguous+a.Evicted+a.Untimed))
		}
		if s.Evicted > 0 {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s: %d packets were forgotten for want of room: their delays are missing", s.name(), s.Evicted))
		}
	}
}

// fewPackets are so few that a UPF may have dropped them all.
const fewPackets = 10

// past says of a direction through a UPF that packets came in and none was seen to leave by
// any device of that side; empty: that is not so.
func (r *Result) past(upf, direction string) string {
	in, out := uint64(0), uint64(0)
	for i := range r.Series {
		if s := &r.Series[i]; s.UPF == upf && s.Direction == direction {
			in, out = in+s.In, out+s.Matched
		}
	}
	side := probe.N6.String()
	if direction == probe.Downlink.String() {
		side = probe.N3.String()
	}
	var devices []string
	for i := range r.Points {
		if p := &r.Points[i]; p.UPF == upf && p.Way == probe.Out.String() && (p.Side == side || p.Side == probe.Both.String()) {
			devices, out = append(devices, p.Device), out+p.Packets
		}
	}
	if in < fewPackets || out > 0 {
		return ""
	}
	return fmt.Sprintf("%s: of %d packets that came in %s none was seen to leave by %s: the UPF dropped them all (a gate, a quota, no session), "+
		"or sent them past the points, as a UPF on packet sockets does: then measure at the other end of the link", upf, in, direction, orNoDevice(devices))
}

func orNoDevice(devices []string) string {
	if len(devices) == 0 {
		return "any device"
	}
	return strings.Join(devices, ", ")
}

// JudgePlaces adds what is missing for the places of the points: to the warnings what leaves
// past them, and to the UPFs of which no PFCP message was seen, that it was not. UPFs,
// Points and N4 are there.
func (r *Result) JudgePlaces() {
	for i := range r.UPFs {
		u := &r.UPFs[i]
		for _, direction := range []probe.Direction{probe.Uplink, probe.Downlink} {
			if why := r.past(u.Name, direction.String()); why != "" {
				r.Warnings = append(r.Warnings, why)
			}
		}
		if why := r.N4.unseen(u.Name); why != "" {
			if u.Missing != "" {
				why = u.Missing + "; " + why
			}
			u.Missing = why
		}
	}
	for i := range r.Points {
		if p := &r.Points[i]; p.Way == probe.In.String() && p.Packets == 0 && p.Unparsed >= fewPackets {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s: %d packets came in by %s, and none was a user packet: if they are of UEs, "+
				"the point is at a place where they are in another form", p.UPF, p.Unparsed, p.Device))
		}
	}
}

// unseen says that no PFCP message of a UPF was seen; empty: some were, or N4 is not probed.
func (n *N4) unseen(upf string) string {
	if n == nil {
		return ""
	}
	var devices []string
	for i := range n.Points {
		p := &n.Points[i]
		if p.UPF != upf {
			continue
		}
		if p.Messages > 0 {
			return ""
		}
		devices = append(devices, p.Device)
	}
	return fmt.Sprintf("no PFCP message was seen at %s: slices are not learnt from N4 (one whose N4 is in a stack of its own is never seen)", orNoDevice(devices))
}

// name is the series in words.
func (s *Series) name() string {
	return fmt.Sprintf("%s, slice %s, %s", s.UPF, SliceName(s.Slice), s.Direction)
}

// Usable is nil if every packet is accounted for, no series is withheld, and no direction
// leaves past the points.
func (r *Result) Usable() error {
	for i := range r.UPFs {
		for _, direction := range []probe.Direction{probe.Uplink, probe.Downlink} {
			if why := r.past(r.UPFs[i].Name, direction.String()); why != "" {
				return errors.New(why)
			}
		}
	}
	for i := range r.Series {
		s := &r.Series[i]
		if s.Withheld != "" {
			return fmt.Errorf("%s: %s", s.name(), s.Withheld)
		}
		if a := s.Account(); !a.Balanced() {
			return fmt.Errorf("%s: the account does not balance: %+v", s.name(), a)
		}
	}
	return nil
}
