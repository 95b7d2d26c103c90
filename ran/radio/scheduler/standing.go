package scheduler

// A standing grant is an unrequested grant. A UE with a new packet has one before it could request
// it, so the packet leaves sooner. Requests are served first: the reservation for the others is the
// minimum for this purpose.
const (
	// standingOctets is that least: a short packet (a ping, a TCP ACK, a frame of speech)
	// with its headers, and a buffer status report.
	standingOctets = 160
	// standingShare: 1/standingShare of a slot is reserved if requests would need all its PRBs or DCIs.
	standingShare = 4
)

// kept is the reservation for standing grants: a number of UEs, and PRBs for each.
type kept struct{ ues, prbs int }

// keep returns the PRBs to reserve for standing grants in a slot with left free PRBs, of whose
// limit grants again are used by retransmissions. A reserved DCI costs the requesting UEs nothing:
// they get their PRBs in fewer, larger transport blocks.
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
// asked. If it is not enough for all, the next turn starts at the first UE without one.
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
