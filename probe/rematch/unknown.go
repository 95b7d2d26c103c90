package rematch

import "fmt"

// unknown says in sentences what the file leaves open.
func (r *Report) unknown() []string {
	list := []string{fmt.Sprintf("No line says which packet it is about. Delays of more than %v cannot be seen.", r.Window())}
	if r.Format == CSV {
		list = append(list, "Only what was paired is in the file: packets that were lost, and entries and exits that found no partner, are not. So the candidates are the least that there were.")
	} else {
		list = append(list, r.unknownOfText()...)
	}
	for i := range r.Slices {
		list = append(list, r.Slices[i].unknown(r.Format)...)
	}
	return list
}

func (r *Report) unknownOfText() []string {
	var list []string
	if r.LostEvents > 0 {
		list = append(list, fmt.Sprintf("The kernel had no room for %d events: an exit may belong to an entry that is not in the file, so even single candidates are not certain.", r.LostEvents))
	} else {
		list = append(list, "The file does not mention lost events, but neither does one that was filtered by 'grep upf_m'.")
	}
	if r.Overhead == 0 {
		list = append(list, "Lengths were not looked at, or no difference of lengths fits nine of ten exits.")
	}
	return list
}

// unknown says what is open in a slice.
func (s *Slice) unknown(format Format) []string {
	var list []string
	say := func(text string, values ...any) { list = append(list, s.Name+": "+fmt.Sprintf(text, values...)) }
	if s.Candidates.Several > 0 {
		say("%.1f %% of the exits could belong to %.1f entries on average; its percentiles are a choice of the pairing, P50 anything from %s to %s µs.",
			100*s.Candidates.Share(), s.meanOfSeveral(), micro(s.Bounds.P50.From), micro(s.Bounds.P50.To))
	}
	if s.Nearest.WrongLength > 0 {
		say("%d of %d pairs of the nearest entry, %.1f %%, are wrong for certain: their lengths are not those of one packet.",
			s.Nearest.WrongLength, s.Nearest.Pairs, 100*share(s.Nearest.WrongLength, s.Nearest.Pairs))
	}
	if s.Strangers > 0 {
		say("%d exits have no entry: lost events, delays beyond the window, or packets that did not come by N3.", s.Strangers)
	}
	if format == CSV && s.Only.Differing > 0 {
		say("%d pairs of the file are wrong if every exit's entry is in it: the exit had another single candidate.", s.Only.Differing)
	}
	if s.Late+s.Forgotten+s.TooLong > 0 {
		say("%d events came too late to be put in order, %d entries had no room, %d rows are longer than the window: they were left out.", s.Late, s.Forgotten, s.TooLong)
	}
	if s.Disagree > 0 {
		say("%d rows have a delay that is not the difference of their times, which was taken.", s.Disagree)
	}
	return list
}

// meanOfSeveral is how many candidates an exit has that has more than one.
func (s *Slice) meanOfSeveral() float64 {
	return share(s.Candidates.Sum-s.Candidates.One, s.Candidates.Several)
}

// micro shows nanoseconds as microseconds.
func micro(ns uint64) string { return fmt.Sprintf("%.1f", float64(ns)/1000) }
