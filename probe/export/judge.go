package export

import (
	"fmt"

	"plumbline/probe"
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

// name is the series in words.
func (s *Series) name() string {
	return fmt.Sprintf("%s, slice %s, %s", s.UPF, SliceName(s.Slice), s.Direction)
}

// Usable is nil if every packet is accounted for and no series is withheld.
func (r *Result) Usable() error {
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
