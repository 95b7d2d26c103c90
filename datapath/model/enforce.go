package model

import "plumbline/datapath"

// enforce asks the meters in the order of the PDR's QER IDs; a packet that
// passes the first and not the second has used up the first.
//
// Source: TS 29.244 V18.6.0, 5.4.3 (gating), 5.4.4 (MBR).
func (s *Stages) enforce(r *Rule, octets int) datapath.Reason {
	for _, m := range r.Meters {
		if !m.Conforms(s.Now(), octets) {
			return datapath.DropMBR
		}
	}
	return datapath.ReasonNone
}
