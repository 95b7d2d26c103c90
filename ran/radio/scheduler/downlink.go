package scheduler

import (
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/ran/radio/dci"
	"github.com/plumbline-upf/plumbline/ran/radio/grid"
)

// want is what a UE would like of a slot.
type want struct {
	ue      *ue
	process int
	prbs    int
	again   bool
}

// The indices of Scheduler.turn.
const (
	turnDownlink = iota
	turnUplink
	turnStanding // of the uplink: for UEs without a request
	turns
)

// order calls f for each known UE, starting with the next one in turn.
func (s *Scheduler) order(direction int, f func(u *ue)) {
	for i := range s.ues {
		if u := &s.ues[(s.turn[direction]+i)%len(s.ues)]; u.known {
			f(u)
		}
	}
}

// assign decides what is sent in r's slot: at most one PDSCH for each UE, what is due
// first.
func (s *Scheduler) assign(r *fapi.Requests) {
	at := s.rrc.Slot(r.At)
	if at.PDSCH.Length == 0 {
		return
	}
	z := s.downlinkSizes(at.PDSCH)
	left := s.again(turnDownlink, r.At, at.PDSCH.Length, s.config.PRBs, s.maxDCIs)
	again := len(s.wants)
	s.order(turnDownlink, func(u *ue) {
		octets := u.bearer.Buffered()
		if octets == 0 || wanted(s.wants[:again], u) {
			return
		}
		i := freeProcess(&u.downlink)
		switch {
		case i < 0:
		case len(s.wants) == s.maxDCIs || (len(s.wants)-again+1)*z.least > left:
			s.refuse(u)
		default:
			s.wants = append(s.wants, want{u, i, z.prbs(octets), false})
		}
	})
	share(s.wants[again:], left)
	s.place(r, at, z)
	s.next(turnDownlink)
}

// again begins what is wanted of slot n with what is due, for at most limit UEs on prbs. It
// returns how many PRBs are left.
func (s *Scheduler) again(direction int, n slot.Number, symbols, prbs, limit int) (left int) {
	s.wants, s.refused = s.wants[:0], -1
	left = prbs
	s.order(direction, func(u *ue) {
		list := u.processes(direction)
		i := s.dueProcess(list, n, left, symbols)
		switch {
		case i >= 0 && len(s.wants) < limit:
			s.wants = append(s.wants, want{u, i, list[i].prbs, true})
			left -= list[i].prbs
		case i >= 0 || s.dueProcess(list, n, prbs, symbols) >= 0:
			s.refuse(u)
		}
	})
	return left
}

// refuse notes that there was no room for a UE. The first one has the next turn.
func (s *Scheduler) refuse(u *ue) {
	if s.refused < 0 {
		s.refused = u.index
	}
}

func wanted(list []want, u *ue) bool {
	for i := range list {
		if list[i].ue == u {
			return true
		}
	}
	return false
}

func (s *Scheduler) downlinkSizes(symbols grid.Symbols) *sizes {
	for i := range s.downlinks {
		if s.downlinks[i].symbols == symbols {
			return &s.downlinks[i]
		}
	}
	return nil // New has made those of each slot
}

// next gives the turn to the first UE that found no room, so that all are served in turn. After a
// whole round, or if there was room for all, it advances by one: otherwise the same UEs would
// always meet the same slot of the pattern, or be the last.
func (s *Scheduler) next(direction int) {
	first := s.refused
	if first < 0 {
		first = s.turn[direction]
	}
	if s.served[direction] += len(s.wants); s.refused < 0 || s.served[direction] >= len(s.ues) {
		s.served[direction] = 0
		first++
	}
	s.turn[direction] = first % len(s.ues)
}

// share reduces the wanted PRBs to prbs: a UE that wants less than an equal part gets all of it,
// and the remainder goes to the others.
func share(list []want, prbs int) {
	for open := len(list); open > 0; {
		part, settled := prbs/open, 0
		for i := range list {
			if w := &list[i]; w.prbs > 0 && w.prbs <= part {
				prbs -= w.prbs
				w.prbs = -w.prbs // settled
				settled++
			}
		}
		if settled == 0 {
			cut(list, prbs, open)
			break
		}
		open -= settled
	}
	for i := range list {
		list[i].prbs = max(list[i].prbs, -list[i].prbs)
	}
}

// cut gives equal parts of prbs to the open ones that are not settled.
func cut(list []want, prbs, open int) {
	for i := range list {
		if w := &list[i]; w.prbs > 0 {
			w.prbs = prbs / open
			prbs -= w.prbs
			open--
		}
	}
}

// place puts what is wanted side by side, and into the messages.
func (s *Scheduler) place(r *fapi.Requests, at *grid.Slot, z *sizes) {
	start := 0
	for i := range s.wants {
		w := &s.wants[i]
		p := &w.ue.downlink[w.process]
		if w.again {
			s.count.Downlink.Again.Add(1)
		} else if !s.fill(w, p, r.At, at, z) {
			continue
		}
		rv := p.rv()
		p.send(r.At, s.mu.Add(r.At, at.K1))
		s.pdsch(r, w.ue, p, rv, at, start)
		s.downlinkDCI(r, w.ue, &dci.Downlink{
			HARQ: uint8(w.process), NDI: p.ndi, RV: rv, MCS: s.config.MCS, PRBStart: start, PRBs: w.prbs,
			Symbols: at.PDSCH, K1: at.K1, TPC: tpc0dB,
		})
		start += w.prbs
	}
}

// fill creates a new transport block. The bearer may be empty because its data was discarded meanwhile.
func (s *Scheduler) fill(w *want, p *process, n slot.Number, at *grid.Slot, z *sizes) bool {
	size := z.octets[w.prbs]
	if w.ue.bearer.Fill(p.room[:size]) == 0 {
		return false
	}
	p.begin(n, w.prbs, size)
	p.symbols, p.tb = at.PDSCH.Length, p.room[:size]
	s.count.Downlink.Blocks.Add(1)
	s.count.Downlink.Octets.Add(uint64(size))
	return true
}
