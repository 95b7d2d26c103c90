package model

import "plumbline/datapath"

// Limit is what one QER of a rule limits, in the direction of the rule. Nil: not
// limited.
type Limit struct {
	MBR, GBR, Packets *Meter
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
func (s *Stages) enforce(r *Rule, octets int) datapath.Reason {
	if len(r.Limits) == 0 {
		return datapath.ReasonNone
	}
	now := s.Now()
	var taken []charge
	for i := range r.Limits {
		if !take(&taken, r.Limits[i].Packets, now, OnePacket) {
			giveBack(taken)
			return datapath.DropPacketRate
		}
	}
	var within uint32 // bit i: the packet fits into the GBR of QER i
	for i := range r.Limits {
		if gbr := r.Limits[i].GBR; gbr != nil && take(&taken, gbr, now, octets) {
			within |= 1 << i
		}
	}
	for i := range r.Limits {
		mbr := r.Limits[i].MBR
		switch {
		case take(&taken, mbr, now, octets):
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
func take(taken *[]charge, m *Meter, now uint64, octets int) bool {
	if m == nil {
		return true
	}
	amount, ok := m.take(now, octets)
	if ok {
		*taken = append(*taken, charge{m, amount})
	}
	return ok
}

func giveBack(taken []charge) {
	for _, c := range taken {
		c.meter.giveBack(c.amount)
	}
}
