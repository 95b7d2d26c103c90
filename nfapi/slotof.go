package nfapi

// SlotOf returns the slot that a message of P7 is of; ok is false if it is of none.
func SlotOf(m Message) (sfn, slot uint16, ok bool) {
	switch m := m.(type) {
	case *SlotIndication:
		return m.SFN, m.Slot, true
	case *DLTTIRequest:
		return m.SFN, m.Slot, true
	case *ULTTIRequest:
		return m.SFN, m.Slot, true
	case *ULDCIRequest:
		return m.SFN, m.Slot, true
	case *TXDataRequest:
		return m.SFN, m.Slot, true
	case *RXDataIndication:
		return m.SFN, m.Slot, true
	case *CRCIndication:
		return m.SFN, m.Slot, true
	case *UCIIndication:
		return m.SFN, m.Slot, true
	case *RACHIndication:
		return m.SFN, m.Slot, true
	case *SRSIndication:
		return m.SFN, m.Slot, true
	}
	return 0, 0, false
}
