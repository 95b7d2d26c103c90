package ue

import (
	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/ran/radio/dci"
)

// expectation is the PDSCH that a DCI has announced for its slot.
type expectation struct {
	dci.Downlink
	assigned bool
	size     int // of the transport block, octets
}

// receiver is a HARQ process of the downlink.
type receiver struct {
	used    bool
	ndi     uint8
	size    int  // of the transport block
	decoded bool // nothing more is to be expected of this transport block
}

// feedback is the HARQ bits of a slot.
type feedback struct {
	due  bool // there was a DCI
	at   slot.Number
	bits uint32 // bit i is that of the codebook's PDSCH i; 1: received
}

// MaxFeedback is how many bits a UE's feedback has at most. Source: TS 38.213 V18,
// 9.2.3: as many as there are values of k1 that a DCI tells apart.
const MaxFeedback = 8

// Control is a DCI of format 1_1 for this UE, in slot n.
func (u *UE) Control(n slot.Number, d *nfapi.DCI) {
	m, err := u.formats.Downlink(d)
	if err != nil {
		u.countings.badDCIs.Add(1)
		return
	}
	at := u.Cell.Numerology.Add(n, m.K1)
	size := u.Cell.Allocation(m.Symbols, m.PRBs, m.MCS).TransportBlock()
	if u.expected.assigned || size == 0 || u.Cell.Bit(at, n) < 0 || !u.answered() {
		u.countings.ignoredDCIs.Add(1)
		return
	}
	u.countings.assignments.Add(1)
	u.expected = expectation{Downlink: m, assigned: true, size: size}
	if f := &u.feedback[at%ringSlots]; !f.due || f.at != at {
		*f = feedback{due: true, at: at}
	}
}

// Expects reports whether the UE listens to this PDSCH: a DCI of the same slot has said
// the same of it.
func (u *UE) Expects(p *nfapi.PDSCHPDU) bool {
	e := &u.expected
	return e.assigned && p.NrOfCodewords == 1 && int(p.TBSize[0]) == e.size && p.MCSIndex[0] == e.MCS &&
		int(p.BWPStart)+int(p.RBStart) == e.PRBStart && int(p.RBSize) == e.PRBs &&
		int(p.StartSymbolIndex) == e.Symbols.Start && int(p.NrOfSymbols) == e.Symbols.Length
}

// Receive is the end of slot n for a UE to which a PDSCH was announced: parts are its
// transport block, nil if it was not received. What is good is the UE's when the slot
// has ended; parts are copied.
func (u *UE) Receive(n slot.Number, parts []nfapi.TXDataTLV) {
	e := &u.expected
	if !e.assigned {
		return
	}
	e.assigned = false
	p := &u.receivers[e.HARQ]
	if !p.used || p.ndi != e.NDI || p.size != e.size { // one of another size cannot be the same
		*p = receiver{used: true, ndi: e.NDI, size: e.size}
	} else {
		u.countings.downAgain.Add(1)
	}
	switch {
	case p.decoded:
		u.countings.duplicates.Add(1)
	case !u.take(parts):
		u.countings.downFailed.Add(1)
		return
	default:
		p.decoded = true
		u.countings.downBlocks.Add(1)
		u.countings.downBlockOctets.Add(uint64(e.size))
	}
	at := u.Cell.Numerology.Add(n, e.K1)
	u.feedback[at%ringSlots].bits |= 1 << u.Cell.Bit(at, n)
}

// take copies a transport block. It reports whether that is as long as it has to be.
func (u *UE) take(parts []nfapi.TXDataTLV) bool {
	octets := 0
	for i := range parts {
		octets += len(parts[i].Payload)
	}
	if octets != u.expected.size {
		return false
	}
	u.block = u.memory[:0]
	for i := range parts {
		u.block = append(u.block, parts[i].Payload...)
	}
	return true
}

// Feedback is the HARQ bits that the UE sends in slot n, as many as its codebook has,
// the first one lowest. ok is false if it sends none.
func (u *UE) Feedback(n slot.Number) (bits uint32, ok bool) {
	f := &u.feedback[n%ringSlots]
	if !f.due || f.at != n {
		return 0, false
	}
	return f.bits, true
}
