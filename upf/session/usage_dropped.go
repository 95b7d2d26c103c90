package session

// This file is the Dropped DL Traffic Threshold: a report when so many downlink
// packets, or octets of them, were dropped instead of buffered or paged for.
//
// Source: TS 29.244 V18.6.0, 5.2.2.2.1, 8.2.19 (DROTH) and 8.2.49.

// DroppedThreshold is a Dropped DL Traffic Threshold; 0: none.
type DroppedThreshold struct {
	Packets, Octets uint64
}

// Dropped is what a datapath counted for a URR of downlink packets that it
// dropped instead of buffering them. It never decreases.
type Dropped struct {
	Packets, Octets uint64
}

// dropped returns what was dropped for a URR; nothing if it is not there.
func (u *Usage) dropped(id uint32) Dropped {
	for i := range u.URRs {
		if u.URRs[i].URRID == id {
			return u.URRs[i].Dropped
		}
	}
	return Dropped{}
}

// droppedLimit is what the datapath has to watch: absolute, as it counts.
func (u *URR) droppedLimit() (d DroppedThreshold) {
	if u.Triggers&ReportDROTH == 0 {
		return d
	}
	if u.DroppedThreshold.Packets != 0 {
		d.Packets = addSaturated(u.State.DroppedReported.Packets, u.DroppedThreshold.Packets)
	}
	if u.DroppedThreshold.Octets != 0 {
		d.Octets = addSaturated(u.State.DroppedReported.Octets, u.DroppedThreshold.Octets)
	}
	return d
}

// droppedDue reports whether a report is due for what was dropped.
func (u *URR) droppedDue() UsageReportTrigger {
	limit, d := u.droppedLimit(), u.State.Dropped
	if limit.Packets != 0 && d.Packets >= limit.Packets || limit.Octets != 0 && d.Octets >= limit.Octets {
		return TriggerDROTH
	}
	return 0
}

// droppedSince begins the count of a URR that has just been created.
func (s *URRState) droppedSince(d Dropped) { s.Dropped, s.DroppedReported = d, d }
