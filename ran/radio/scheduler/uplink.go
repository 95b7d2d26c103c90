package scheduler

import (
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/ran/radio/dci"
)

const (
	// planned is for how many slots PUSCHs may be planned: more than the furthest k2.
	planned = 64
	// unknownBacklog is the grant for a UE with unknown backlog, in octets: two packets of an
	// Ethernet MTU with their headers.
	unknownBacklog = 2 * 1540
	// reportOctets is room for a buffer status report, and 1/headerShare for the MAC subheaders of
	// the reported data: packets at least as long as a TCP ACK.
	reportOctets = 32
	headerShare  = 16
)

// plan is the granted PUSCHs of a slot.
type plan struct {
	at    slot.Number
	valid bool
	list  []planEntry
}

type planEntry struct {
	ue      *ue
	process int
	start   int // PRB
	rv      uint8
}

// grant schedules the uplink slots that are granted in the slot of r, which share its DCIs.
func (s *Scheduler) grant(r *fapi.Requests) {
	_, index := s.mu.Split(r.At)
	list := s.grants[index]
	for i, k2 := range list {
		slots := len(list) - i
		limit := (s.maxDCIs - s.uplinkDCIs(r) + slots - 1) / slots
		s.grantSlot(r, s.mu.Add(r.At, k2), k2, limit)
	}
}

// grantSlot grants slot n to at most limit UEs: first due retransmissions, then requests, then
// standing grants.
func (s *Scheduler) grantSlot(r *fapi.Requests, n slot.Number, k2, limit int) {
	left := s.again(turnUplink, n, 0, s.rrc.PUSCHPRBs(n), limit)
	again := len(s.wants)
	keep := s.keep(again, limit, left)
	left -= s.grantAsked(again, limit-keep.ues, left-keep.ues*keep.prbs)
	s.next(turnUplink)
	if s.config.StandingGrant {
		s.grantStanding(again, limit, left, keep.prbs)
	}
	s.plan(r, n, k2)
}

// grantAsked is for the UEs that have something to send, as far as is known. It returns how
// many of the PRBs they have.
func (s *Scheduler) grantAsked(again, limit, prbs int) (taken int) {
	s.order(turnUplink, func(u *ue) {
		octets := u.asked()
		if octets == 0 || wanted(s.wants[:again], u) {
			return
		}
		i := freeProcess(&u.uplink)
		switch {
		case i < 0:
		case len(s.wants) >= limit || (len(s.wants)-again+1)*s.uplinks.least > prbs:
			s.refuse(u)
		default:
			s.wants = append(s.wants, want{u, i, s.uplinks.prbs(octets), false})
		}
	})
	share(s.wants[again:], prbs)
	for _, w := range s.wants[again:] {
		taken += w.prbs
	}
	return taken
}

// asked is how many octets a UE has asked for room for; 0: for none.
func (u *ue) asked() int {
	switch {
	case u.backlog > 0:
		return u.backlog + u.backlog/headerShare + reportOctets
	case u.request:
		return unknownBacklog
	}
	return 0
}

// plan sends the grants, and keeps what slot n is to receive.
func (s *Scheduler) plan(r *fapi.Requests, n slot.Number, k2 int) {
	p := &s.plans[int(n)%planned]
	p.at, p.valid, p.list = n, true, p.list[:0]
	start := 0
	for _, w := range s.wants {
		h := &w.ue.uplink[w.process]
		if w.again {
			s.count.Uplink.Again.Add(1)
		} else {
			s.take(w, h, n)
		}
		rv := h.rv()
		h.send(n, n)
		p.list = append(p.list, planEntry{w.ue, w.process, start, rv})
		s.uplinkDCI(r, w.ue, &dci.Uplink{
			HARQ: uint8(w.process), NDI: h.ndi, RV: rv, MCS: s.config.MCS, PRBStart: start, PRBs: w.prbs, K2: k2, TPC: tpc0dB,
		})
		start += w.prbs
	}
}

// take is a grant for a new transport block.
func (s *Scheduler) take(w want, h *process, n slot.Number) {
	size := s.uplinks.octets[w.prbs]
	h.begin(n, w.prbs, size)
	w.ue.request = false
	w.ue.backlog = max(0, w.ue.backlog-max(0, size-reportOctets))
	s.count.Uplink.Blocks.Add(1)
}

// receive says what an uplink slot is to receive: what was granted, feedback, scheduling
// requests, preambles.
func (s *Scheduler) receive(r *fapi.Requests) {
	n := r.At
	at := s.rrc.Slot(n)
	if at.PUSCH.Length == 0 {
		return
	}
	if s.rrc.PRACH(n) {
		s.prach(r)
	}
	if p := &s.plans[int(n)%planned]; p.valid && p.at == n {
		p.valid = false
		for i := range p.list {
			e := &p.list[i]
			// The UE may have restarted since.
			if h := &e.ue.uplink[e.process]; h.state == waiting && h.awaited == n {
				s.pusch(r, e, h, at)
			}
		}
	}
	s.order(turnUplink, func(u *ue) { s.pucch(r, u) })
}

// pucch asks for the feedback of a UE, and for its scheduling request. A UE that has
// no feedback to send, because no assignment reached it, requests on its own resource,
// so both are listened to.
//
// Source: TS 38.213 V18, 9.2.4 and 9.2.5.
func (s *Scheduler) pucch(r *fapi.Requests, u *ue) {
	request := s.rrc.SR(r.At)
	for i := range u.downlink {
		if p := &u.downlink[i]; p.state == waiting && p.awaited == r.At {
			s.feedbackPDU(r, u, request)
			break
		}
	}
	if request {
		s.requestPDU(r, u)
	}
}
