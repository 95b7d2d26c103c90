package stages

import "github.com/plumbline-upf/plumbline/datapath"

// Limit is what one QER of a rule limits, in the direction of the rule. Nil: not
// limited.
type Limit struct {
	MBR, GBR, Packets *Meter
	Shared            bool // with other sessions
}

// charge is what a packet has taken from a meter.
type charge struct {
	meter  *Meter
	amount uint64
}

// enforce asks the meters of all QERs of the PDR. A packet is charged by all of
// them, or by none: the first that refuses gives back what those before took.
//
// Packet rates come first. Then the packet is taken from each GBR that it fits
// into; one that does not fit is no reason to drop it. Then it is taken from the
// MBRs: where it does not fit it is dropped, unless it was taken from the GBR of
// another QER. Then it is charged all the same, so that the flows without a
// guarantee leave room for those with one; see [Meter.force].
//
// Source: TS 29.244 V18.6.0, 5.4.4, 8.2.8 (MBR), 8.2.9 (GBR), 8.2.63 (Packet Rate).
func enforce(r *Rule, octets int, now uint64) datapath.Reason {
	var room [8]charge // enough for most, so that nothing is allocated
	taken := room[:0]
	var fits bool
	for i := range r.Limits {
		if taken, fits = take(taken, r.Limits[i].Packets, now, OnePacket); !fits {
			giveBack(taken)
			return datapath.DropPacketRate
		}
	}
	var within uint32 // bit i: the packet fits into the GBR of QER i
	for i := range r.Limits {
		if gbr := r.Limits[i].GBR; gbr != nil {
			if taken, fits = take(taken, gbr, now, octets); fits {
				within |= 1 << i
			}
		}
	}
	for i := range r.Limits {
		mbr := r.Limits[i].MBR
		taken, fits = take(taken, mbr, now, octets)
		switch {
		case fits:
		case within&^(1<<i) != 0:
			taken = append(taken, charge{mbr, mbr.force(now, octets)})
		default:
			giveBack(taken)
			return datapath.DropMBR
		}
	}
	return datapath.ReasonNone
}

// take charges m, which may be nil, and reports whether the packet fits.
func take(taken []charge, m *Meter, now uint64, octets int) ([]charge, bool) {
	if m == nil {
		return taken, true
	}
	amount, ok := m.take(now, octets)
	if ok {
		taken = append(taken, charge{m, amount})
	}
	return taken, ok
}

func giveBack(taken []charge) {
	for _, c := range taken {
		c.meter.giveBack(c.amount)
	}
}
