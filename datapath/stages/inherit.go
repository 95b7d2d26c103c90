package stages

import (
	"slices"

	"github.com/plumbline-upf/plumbline/datapath"
)

// Inherited says what went from other stages to these.
type Inherited struct {
	Packets int // that wait in the buffer
	Dropped int // the same that had no room or no rule here
	// Mappings of NATs, and those that had no room, or no place by the configuration.
	Mappings, LostMappings int
}

// Inheritor is a datapath that has stages, for all packets or for what is rare, which can go on
// with what those of another one have learnt.
type Inheritor interface {
	Stages() *Stages
	// Inherit is [Stages.Inherit] for the datapath's sessions.
	Inherit(from *Stages) Inherited
}

// Inherit lets the stages go on with what from, which treat no packets any more, have
// learnt of packets: those that wait in the buffer leave it, and what from knows of
// NAT mappings, names of flows, and stations is known here, too. rulesOf returns the
// rules that these stages have of a session. What was dropped stands in the counters
// of these stages. No packet may have come here yet.
func (s *Stages) Inherit(from *Stages, rulesOf func(seid uint64) []*Rule) Inherited {
	now := clocks{from.Now(), s.Now()}
	done := s.inheritBuffer(from.Buffer.detach(), now, rulesOf)
	for i, nat := range s.N6.NATs {
		if before := from.N6.nat(i); nat != nil && before != nil {
			kept, lost := nat.inherit(before, now)
			done.Mappings, done.LostMappings = done.Mappings+kept, done.LostMappings+lost
		}
	}
	s.Names.inherit(from.Names, now)
	s.Bridge.inherit(from.Bridge, now)
	return done
}

// clocks is one moment by the clocks of two datapaths, ns.
type clocks struct{ from, to uint64 }

// at returns a time by the clock of from by that of to. What was before to's began is
// at its beginning.
func (c clocks) at(ns uint64) uint64 {
	if age := c.from - ns; int64(age) > 0 {
		return c.to - min(age, c.to)
	}
	return c.to
}

// detach takes all out of the buffer: it is in the one that is returned, and nobody's.
func (b *Buffer) detach() *Buffer {
	b.mu.Lock()
	defer b.mu.Unlock()
	left := &Buffer{cells: b.cells, all: b.all}
	b.cells, b.all, b.packets, b.sessions = cells{}, nil, 0, map[uint64]*waiting{}
	return left
}

// inheritBuffer puts what waited in another buffer into this one, in its order.
func (s *Stages) inheritBuffer(left *Buffer, now clocks, rulesOf func(seid uint64) []*Rule) (done Inherited) {
	b := s.Buffer
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, was := range left.all {
		rules := rulesOf(was.seid)
		s.inheritTold(was, rules)
		for id := was.first; id != 0; {
			p := left.cells.packet(id)
			a := left.read(id, p)
			id = p.next
			if s.inheritPacket(findRule(rules, was.pdrs[p.place].rule.PDRID), a, now.at(p.at)) {
				done.Packets++
			} else {
				done.Dropped++
			}
		}
		s.inheritedNothing(was)
	}
	return done
}

// inheritTold makes what the control plane was told of a session's PDRs, or is about
// to be, be so here.
func (s *Stages) inheritTold(was *waiting, rules []*Rule) {
	b := s.Buffer
	for i := range was.pdrs {
		from := &was.pdrs[i]
		r := findRule(rules, from.rule.PDRID)
		later, pending := from.takeBack()
		if r == nil || from.told == 0 {
			continue
		}
		w := b.sessions[r.SEID]
		if w == nil {
			if b.octets()+sessionOctets > b.limits.TotalOctets {
				continue
			}
			w = b.open(r.SEID)
		}
		to := &w.pdrs[w.place(r)]
		to.told = from.told
		if pending {
			s.tellLater(to, later)
		}
	}
}

// inheritPacket puts a packet that came at a time into the buffer, if it has room and
// the packet a rule. It reports whether that is so.
func (s *Stages) inheritPacket(r *Rule, a arrived, at uint64) bool {
	b := s.Buffer
	if r == nil {
		b.drop(datapath.DropBufferEnd)
		return false
	}
	w, n := b.sessions[r.SEID], cellsOf(len(a.header)+len(a.user))
	if reason := b.refuses(w, r, n); reason != datapath.ReasonNone {
		if w == nil {
			s.refusedUnseen(r, a)
			b.drop(reason)
		} else {
			s.giveUp(w, w.place(r), a, reason)
		}
		return false
	}
	if w == nil {
		w = b.open(r.SEID)
	}
	place := w.place(r)
	b.append(w, b.cells.put(a, at, uint32(place)), n)
	w.pdrs[place].packets++
	return true
}

// inheritedNothing lets a session's PDRs be told of anew that had packets and have
// none here.
func (s *Stages) inheritedNothing(was *waiting) {
	w := s.Buffer.sessions[was.seid]
	if w == nil {
		return
	}
	for i := range w.pdrs {
		had := slices.ContainsFunc(was.pdrs, func(p buffered) bool { return p.packets > 0 && p.rule.PDRID == w.pdrs[i].rule.PDRID })
		if had && w.pdrs[i].packets == 0 {
			w.forget(i, toldData|toldBuffered)
		}
	}
	s.Buffer.tidy(w)
}
