package stopwatch

import (
	"math/bits"

	"github.com/plumbline-upf/plumbline/nfapi"
)

// The kinds of timed PDUs, as in the study of OpenAirInterface.
const (
	partPDCCH = iota
	partPDSCH
	partCSIRS
	partSSB
	partPRACH
	partPUSCH
	partPUCCH
	partSRS
	partULDCI
	numParts
)

var partNames = [numParts]string{"PDCCH", "PDSCH", "CSI-RS", "SSB", "PRACH", "PUSCH", "PUCCH", "SRS", "DCI of UL_DCI"}

// partSet is kinds of PDUs, a bit for each.
type partSet uint16

// first is the lowest part of a set that is not empty.
func (p partSet) first() int { return bits.TrailingZeros16(uint16(p)) }

// partsOf is which PDUs a message has.
func partsOf(m nfapi.Message) partSet {
	var p partSet
	switch m := m.(type) {
	case *nfapi.DLTTIRequest:
		for i := range m.PDUs {
			if t := m.PDUs[i].Type; t < 4 {
				p |= 1 << (partPDCCH + t)
			}
		}
	case *nfapi.ULTTIRequest:
		for i := range m.PDUs {
			if t := m.PDUs[i].Type; t < 4 {
				p |= 1 << (partPRACH + t)
			}
		}
	case *nfapi.ULDCIRequest:
		if len(m.PDUs) > 0 {
			p = 1 << partULDCI
		}
	}
	return p
}
