package session

// EthernetFilter is an Ethernet Packet Filter, written for the direction of its
// PDR. Source: TS 29.244 V18.6.0, 7.5.2.2-3.
type EthernetFilter struct {
	ID Optional[uint32] `record:"0"` // Ethernet Filter ID
	// Bidirectional (BIDE): a PDR of the other direction may name it by its ID.
	Bidirectional bool `record:"1.0"`
	// Reference: the filter is an ID alone, and the bidirectional one of another PDR
	// is meant, with source and destination changed over.
	Reference bool              `record:"1.1"`
	MACs      []MACs            `record:"2 shared"` // one of them has to match; empty: any
	Ethertype uint16            `record:"3"`        // 0: any
	CTAG      Optional[VLANTag] `record:"4"`
	STAG      Optional[VLANTag] `record:"6"`
	Filters   []SDFFilter       `record:"8 shared"` // of the IP packet inside; empty: any
}

// MAC is a MAC address in wire order.
type MAC [6]byte

// MACs is MAC addresses to compare: single ones, or with an upper end ranges with
// both ends in them. Source: TS 29.244 V18.6.0, 8.2.93.
type MACs struct {
	Source           Optional[MAC] `record:"0"`
	Destination      Optional[MAC] `record:"1"`
	UpperSource      Optional[MAC] `record:"2"`
	UpperDestination Optional[MAC] `record:"3"`
}

// Reverse returns the same of frames that go the other way.
func (m MACs) Reverse() MACs {
	return MACs{m.Destination, m.Source, m.UpperDestination, m.UpperSource}
}

// VLANTag is the parts of an IEEE 802.1Q tag that are compared.
// Source: TS 29.244 V18.6.0, 8.2.94 and 8.2.95.
type VLANTag struct {
	VID Optional[uint16] // 12 bits
	PCP Optional[uint8]  // 3 bits
	DEI Optional[bool]
}

// EthernetFilter returns the bidirectional Ethernet filter of that ID, and whether
// its PDR is an uplink one; nil if there is none.
func (s *Session) EthernetFilter(id uint32) (f *EthernetFilter, uplink bool) {
	for i := range s.PDRs {
		d := &s.PDRs[i].PDI
		for j := range d.Ethernet {
			if f := &d.Ethernet[j]; f.ID == Some(id) && f.Bidirectional && !f.Reference {
				return f, d.SourceInterface.Uplink()
			}
		}
	}
	return nil, false
}
