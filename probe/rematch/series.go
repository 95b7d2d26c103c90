package rematch

// restartAfter is how far back time has to go for another recording to begin, in ns.
const restartAfter = 1e9

// series judges the events of one slice.
type series struct {
	judge   *judge
	slice   Slice
	nearest nearest
	order   order
	parts   map[uint32]*part
	bounds  bounds
}

func newSeries(j *judge, name string) *series {
	window := j.report.WindowNS
	return &series{
		judge: j, slice: Slice{Name: name},
		nearest: nearest{window: window}, order: order{window: window},
		parts: map[uint32]*part{}, bounds: newBounds(j.thresholds),
	}
}

// add takes an event of a text, in the order of the file.
func (s *series) add(e event) {
	s.pairNearest(e)
	s.restart(e.ns)
	s.sort(e)
}

// addRow takes a pair of a CSV, in the order of the file.
func (s *series) addRow(entry, exit event) {
	s.slice.Written.pair(entry, exit)
	if exit.ns-entry.ns > s.judge.report.WindowNS {
		s.slice.TooLong++
		return
	}
	s.restart(exit.ns)
	s.sort(entry)
	s.sort(exit)
}

// restart ends what is under way if time goes back: another recording begins.
func (s *series) restart(ns uint64) {
	if ns+restartAfter >= s.order.latest {
		return
	}
	s.drain(true)
	for _, p := range s.parts {
		p.clear()
	}
	s.order.restart(ns)
}

// sort processes the events that are due with this one.
func (s *series) sort(e event) {
	if !s.order.add(e) {
		s.slice.Late++
		return
	}
	s.drain(false)
}

func (s *series) drain(all bool) {
	for {
		e, ok := s.order.due(all)
		if !ok {
			return
		}
		s.inOrder(e)
	}
}

// inOrder takes an event in order of time.
func (s *series) inOrder(e event) {
	if s.judge.report.Format == CSV {
		s.pairNearest(e)
	}
	switch {
	case e.signalling:
		s.slice.Signalling++
	case e.exit:
		s.slice.Exits++
		s.leave(e)
	default:
		s.slice.Entries++
		if p := s.part(e); !p.enter(e) {
			s.slice.Forgotten++
		}
	}
}

// leave judges a packet that leaves.
func (s *series) leave(e event) {
	p := s.part(e)
	p.expire(e.ns)
	if oldest, ok := p.takeOldest(); ok {
		s.slice.OldestFirst.pair(oldest, e)
	}
	s.bounds.leave(p, e.ns)
	n, only := p.candidates()
	switch n {
	case 0:
		s.slice.Strangers++
		return
	case 1:
		s.slice.Only.pair(only, e)
	}
	s.slice.Candidates.count(n)
}

// pairNearest pairs as the study does.
func (s *series) pairNearest(e event) {
	if !e.exit {
		s.nearest.enter(e)
		return
	}
	entry, among := s.nearest.leave(e)
	if among == 0 {
		return
	}
	s.slice.Nearest.pair(entry, e)
	if among > 1 {
		s.slice.Nearest.Chosen++
	}
	if o := s.judge.report.Overhead; o > 0 && int(entry.length)-int(e.length) != o {
		s.slice.Nearest.WrongLength++
	}
}

// part returns the part that an event belongs to, by the length of its user packet. When
// there are too many parts, the lengths that come last share one.
func (s *series) part(e event) *part {
	key := uint32(0)
	switch o := s.judge.report.Overhead; {
	case o == 0:
	case e.exit:
		key = e.length
	case int(e.length) > o:
		key = e.length - uint32(o)
	}
	p := s.parts[key]
	if p == nil && s.judge.parts >= maxParts {
		key = ^uint32(0)
		p = s.parts[key]
	}
	if p == nil {
		p = &part{window: s.judge.report.WindowNS, bounds: newCursors(len(s.judge.thresholds))}
		s.parts[key] = p
		s.judge.parts++
	}
	return p
}

// finish judges what is left and returns the result.
func (s *series) finish() Slice {
	s.drain(true)
	for _, p := range []*Pairing{&s.slice.Written, &s.slice.Nearest, &s.slice.OldestFirst, &s.slice.Only} {
		p.finish()
	}
	b := &s.bounds
	s.slice.Bounds = Bounds{
		Pairs: b.pairs(), P50: b.quantile(0.5), P90: b.quantile(0.9), P99: b.quantile(0.99), P999: b.quantile(0.999),
	}
	return s.slice
}
