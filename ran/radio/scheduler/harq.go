package scheduler

import (
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/ran/radio"
)

// state of a HARQ process.
type state uint8

const (
	free    state = iota
	waiting       // for feedback, or for a PUSCH
	due           // it is to be sent again
)

// process is one HARQ process of a UE, in one direction. Its fields except the new data indicator
// are valid only while it is not free.
type process struct {
	state state
	ndi   uint8 // toggles with each new transport block
	sent  uint8 // transmissions
	prbs  int
	size  int // octets

	// at is the slot of the last transmission, awaited the slot that tells of it: the
	// PUCCH's in downlink, the same in uplink.
	at, awaited slot.Number
	// built is the slot of the first transmission.
	built slot.Number

	good bool // uplink: CRC.indication said so, the octets have not come yet

	symbols int    // downlink: of the PDSCH
	room    []byte // downlink: where transport blocks are made
	tb      []byte // the one that is sent
}

// redundancy is the order of redundancy versions. Source: TS 38.214 V18, 6.1.2.1.
var redundancy = [4]uint8{0, 2, 3, 1}

// rv is the redundancy version of the next transmission.
func (p *process) rv() uint8 { return redundancy[p.sent%4] }

// begin takes a free process for a new transport block.
func (p *process) begin(n slot.Number, prbs, size int) {
	p.ndi ^= 1
	p.sent, p.prbs, p.size, p.built, p.good = 0, prbs, size, n, false
}

// send is a transmission in slot at, of which slot awaited tells.
func (p *process) send(at, awaited slot.Number) {
	p.state, p.at, p.awaited = waiting, at, awaited
	p.sent++
	p.good = false
}

// freeProcess is the index of a free one, -1 without.
func freeProcess(list *[radio.MaxHARQ]process) int {
	for i := range list {
		if list[i].state == free {
			return i
		}
	}
	return -1
}

// dueProcess is the index of the one that is due for longest and that fits, -1 without.
func (s *Scheduler) dueProcess(list *[radio.MaxHARQ]process, n slot.Number, prbs, symbols int) int {
	found, age := -1, -1
	for i := range list {
		p := &list[i]
		if p.state != due || p.prbs > prbs || p.symbols != symbols {
			continue
		}
		if d := s.mu.Distance(n, p.built); d > age {
			found, age = i, d
		}
	}
	return found
}

// failed is a transmission that did not arrive: it will be sent again, or has been
// often enough.
func (s *Scheduler) failed(p *process, d *direction) {
	if p.sent < s.limit {
		p.state = due
		return
	}
	p.state = free
	d.GivenUp.Add(1)
}

// expire ends the waiting for what will not come any more.
func (s *Scheduler) expire(n slot.Number) {
	limit := s.overdue.limit()
	var known, downlinks, uplinks int64
	for i := range s.ues {
		u := &s.ues[i]
		if !u.known {
			continue
		}
		known++
		u.hasReported = u.hasReported && s.recent(n, u.reported) // before slots come round
		u.hasPreambled = u.hasPreambled && s.recent(n, u.preambled)
		for at := range u.downlink {
			if p := &u.downlink[at]; p.state != free {
				downlinks++
				if p.state == waiting && s.passed(n, p.awaited, limit) {
					s.count.Downlink.Lost.Add(1)
					s.failed(p, &s.count.Downlink)
				}
			}
			if p := &u.uplink[at]; p.state != free {
				uplinks++
				if p.state == waiting && s.passed(n, p.awaited, limit) {
					s.missed(u, p)
				}
			}
		}
	}
	s.count.UEs.Store(known)
	s.count.Downlink.Busy.Store(downlinks)
	s.count.Uplink.Busy.Store(uplinks)
}

// recent reports whether slot at was not long before n.
func (s *Scheduler) recent(n, at slot.Number) bool {
	d := s.mu.Distance(n, at)
	return d >= 0 && d <= reportAge
}

// passed reports whether slot awaited was more than limit slots before n. One that is further
// ahead than anything is planned has been, before a stall of more than half a cycle.
func (s *Scheduler) passed(n, awaited slot.Number, limit int) bool {
	d := s.mu.Distance(n, awaited)
	return d > limit || d < -planned
}

// missed is a PUSCH of which nothing was heard, or not its octets.
func (s *Scheduler) missed(u *ue, p *process) {
	if p.good {
		s.count.Uplink.Absent.Add(1)
	} else {
		s.count.Uplink.Lost.Add(1)
	}
	s.abandon(u, p)
}

// abandon is failed for a PUSCH. A UE that was not heard of at all has to be asked
// again, as it does not know that it is known.
func (s *Scheduler) abandon(u *ue, p *process) {
	s.failed(p, &s.count.Uplink)
	if p.state == free && !u.confirmed {
		u.request = true
	}
}

// overdue learns how far ahead of the air slots are scheduled, and with that when an
// indication will not come any more.
//
// Indications of slot n come before the tick that schedules slot n+1+ahead, so the last
// slot that was scheduled before them is n+ahead.
type overdue struct {
	last        slot.Number
	any         bool
	ahead, next int // the most that was seen in a window, and in the one that runs
	left        int // slots of the window
}

const (
	// aheadUnknown is taken until it is known: more than the window of a PNF.
	aheadUnknown = 40
	// aheadMost is the most that is believed: a stranger's indications tell nothing.
	aheadMost = 64
	// overdueWindow is the minimum time in slots for which observations count, and overdueFirst the
	// first such time: until then the scheduler waits far too long for lost messages.
	overdueWindow = 2048
	overdueFirst  = 64
	// overdueMargin is how many slots later than usual an indication may come.
	overdueMargin = 2
)

func newOverdue() overdue { return overdue{ahead: aheadUnknown, left: overdueFirst} }

func (o *overdue) scheduled(n slot.Number) {
	o.last, o.any = n, true
	if o.left--; o.left > 0 {
		return
	}
	switch {
	case o.next > 0:
		o.left, o.ahead, o.next = overdueWindow, o.next, 0
	case o.ahead == aheadUnknown:
		o.left = overdueFirst
	default:
		o.left = overdueWindow
	}
}

// indicated is an indication of slot n that came now.
func (o *overdue) indicated(mu slot.Numerology, n slot.Number) {
	if !o.any {
		return
	}
	if d := mu.Distance(o.last, n); d >= 0 && d <= aheadMost {
		o.next = max(o.next, d)
	}
}

// limit is how many slots behind the one to be scheduled something may be awaited.
func (o *overdue) limit() int { return max(o.ahead, o.next) + 1 + overdueMargin }
