package stages

import (
	"time"

	"github.com/plumbline-upf/plumbline/datapath/api"
)

// told says what of a PDR the control plane was told, or is about to be, since it
// has buffered or dropped.
type told uint8

const (
	toldData      told = 1 << iota // DOWNLINK_DATA (NOCP)
	toldBuffered                   // DOWNLINK_BUFFERED (BDPN)
	toldDiscarded                  // DOWNLINK_DISCARDED (DDPN)
)

// asks returns which of the notices the rule asks for.
func (r *Rule) asks() (t told) {
	if r.Action == api.Action_BUFF && r.Notify {
		t |= toldData
	}
	if r.Action == api.Action_BUFF && r.NotifyBuffered {
		t |= toldBuffered
	}
	if r.Action != api.Action_FORW && r.NotifyDiscarded {
		t |= toldDiscarded
	}
	return t
}

var toldKinds = map[told]api.EventKind{
	toldData: api.EventKind_DOWNLINK_DATA, toldBuffered: api.EventKind_DOWNLINK_BUFFERED,
	toldDiscarded: api.EventKind_DOWNLINK_DISCARDED,
}

// tellOnce raises an event that the PDR's rule asks for, once.
func (s *Stages) tellOnce(w *waiting, place int, what told, dscp byte) {
	p := &w.pdrs[place]
	if p.told&what != 0 || p.rule.asks()&what == 0 {
		return
	}
	p.told |= what
	s.raise(p.rule.event(toldKinds[what], dscp))
}

// tellData raises DOWNLINK_DATA once for a PDR, from when it begins to buffer
// until its packets are gone, after the delay of its BAR.
//
// Source: TS 29.244 V18.6.0, 5.2.4.1; 8.2.28 (Downlink Data Notification Delay).
func (s *Stages) tellData(w *waiting, place int, dscp byte) {
	p := &w.pdrs[place]
	delay := time.Duration(p.rule.BAR.GetNotificationDelayMs()) * time.Millisecond
	if delay == 0 {
		s.tellOnce(w, place, toldData, dscp)
		return
	}
	if p.told&toldData != 0 || p.rule.asks()&toldData == 0 {
		return
	}
	p.told |= toldData
	s.tellLater(p, notice{p.rule.event(api.EventKind_DOWNLINK_DATA, dscp), time.Now().Add(delay), nil})
}

// notice is an event that waits for its time.
type notice struct {
	event *api.Event
	due   time.Time
	timer *time.Timer
}

// tellLater raises an event when it is due.
func (s *Stages) tellLater(p *buffered, n notice) {
	n.timer = time.AfterFunc(time.Until(n.due), func() { s.raise(n.event) })
	p.later = &n
}

// takeBack returns what is about to be raised, and is not any more; false: nothing.
func (p *buffered) takeBack() (n notice, pending bool) {
	if p.later == nil {
		return n, false
	}
	n, p.later = *p.later, nil
	return n, n.timer.Stop()
}

// forget lets the PDR be told of again, and takes back what was not told yet.
func (w *waiting) forget(place int, what told) {
	p := &w.pdrs[place]
	if what&toldData != 0 {
		p.takeBack()
	}
	p.told &^= what
}

// refusedUnseen does what a packet asks for that finds no room, of a session that
// the buffer has no room to remember: what is told is not told once, but seldom.
func (s *Stages) refusedUnseen(r *Rule, a arrived) {
	for what := toldData; what <= toldDiscarded; what <<= 1 {
		if what != toldBuffered && r.asks()&what != 0 && s.Buffer.notices.Allow(s.Buffer.now()) {
			s.raise(r.event(toldKinds[what], r.dscp(a)))
		}
	}
	s.discarded(r, len(a.user))
}

// notBuffered is what becomes of a packet that the FAR drops, beside that.
func (s *Stages) notBuffered(r *Rule, a arrived) {
	s.discarded(r, len(a.user))
	b := s.Buffer
	if b == nil || r.asks()&toldDiscarded == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.sessions[r.SEID]
	if w == nil {
		if b.octets()+sessionOctets > b.limits.TotalOctets {
			if b.notices.Allow(b.now()) {
				s.raise(r.event(api.EventKind_DOWNLINK_DISCARDED, r.dscp(a)))
			}
			return
		}
		w = b.open(r.SEID)
	}
	s.tellOnce(w, w.place(r), toldDiscarded, r.dscp(a))
}

func (s *Stages) raise(e *api.Event) {
	if s.Post != nil {
		s.Post(e)
	}
}
