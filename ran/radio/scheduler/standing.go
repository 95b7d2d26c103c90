package scheduler

// A standing grant is one that was not asked for. A UE to which a packet comes has one
// before it could ask, so the packet leaves sooner. Who has asked is served first: what is
// kept for the others is the least that serves the purpose.
const (
	// standingOctets is that least: a short packet (a ping, a TCP ACK, a frame of speech)
	// with its headers, and a buffer status report.
	standingOctets = 160
	// standingShare is the part, 1/standingShare, that is kept of a slot whose PRBs or DCIs
	// those who have asked would need all.
	standingShare = 4
)

// kept is room for standing grants: for so many UEs, of so many PRBs each.
type kept struct{ ues, prbs int }

// keep is what is kept of a slot with so many PRBs left, of whose grants, at most limit,
// again are taken already. A DCI that is kept costs those who have asked nothing: they have
// their PRBs in fewer, larger transport blocks.
func (s *Scheduler) keep(again, limit, left int) kept {
	k := kept{prbs: min(s.uplinks.prbs(standingOctets), max(s.uplinks.least, left/standingShare))}
	room := limit - again
	if !s.config.StandingGrant || room < 2 || left < 2*s.uplinks.least {
		return k
	}
	asked, idle := 0, 0
	for i := range s.ues {
		switch u := &s.ues[i]; {
		case !u.known || freeProcess(&u.uplink) < 0 || wanted(s.wants[:again], u):
		case u.asked() > 0:
			asked++
		default:
			idle++
		}
	}
	if asked > 0 {
		k.ues = min(idle, max(1, room-asked, room/standingShare), max(1, left/standingShare/k.prbs))
	}
	return k
}

// grantStanding shares what is left, prbs at least for each, among the UEs that have not
// asked. Where it is not enough for all, their turn goes on at the first that has none.
func (s *Scheduler) grantStanding(again, limit, left, prbs int) {
	first := len(s.wants)
	s.refused = -1
	s.order(turnStanding, func(u *ue) {
		if u.asked() > 0 || wanted(s.wants[:again], u) {
			return
		}
		i := freeProcess(&u.uplink)
		switch {
		case i < 0:
		case len(s.wants) >= limit || (len(s.wants)-first+1)*prbs > left:
			s.refuse(u)
		default:
			s.wants = append(s.wants, want{u, i, s.uplinks.prbs(unknownBacklog), false})
		}
	})
	share(s.wants[first:], left)
	if s.refused >= 0 {
		s.turn[turnStanding] = s.refused
	}
}
