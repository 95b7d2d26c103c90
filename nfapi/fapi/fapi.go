// Package fapi is what MAC and PHY say to each other for a slot, in memory. Between a
// VNF and a PNF the same messages cross the network (nFAPI); in one process a function
// call carries them, and neither side can tell:
//
//	MAC ─ Requests ─► VNF ─ P7 ─► PNF ─ Requests ─► PHY
//	MAC ◄ Indications ─ VNF ◄ P7 ─ PNF ◄ Indications ─ PHY
//
//	MAC ◄───────────── monolithic ─────────────► PHY
//
// Source: SCF 222, as OpenAirInterface develop 2025-09 has it.
package fapi

import (
	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/cell"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
)

// Have says which messages there are: a bit for each.
type Have uint16

// The messages of a slot.
const (
	DLTTI Have = 1 << iota
	ULTTI
	ULDCI
	TXData
	RXData
	CRC
	UCI
	SRS
	RACH
)

// Requests are what a MAC wants of one slot. What Have does not name is not defined.
//
// They are used again and again: the lists of the messages keep their memory.
type Requests struct {
	At   slot.Number
	Have Have

	DLTTI  nfapi.DLTTIRequest
	ULTTI  nfapi.ULTTIRequest
	ULDCI  nfapi.ULDCIRequest
	TXData nfapi.TXDataRequest
}

// Reset makes them empty, for slot n.
func (r *Requests) Reset(mu slot.Numerology, n slot.Number) {
	sfn, s := mu.Split(n)
	r.At, r.Have = n, 0
	r.DLTTI.SFN, r.DLTTI.Slot, r.DLTTI.PDUs, r.DLTTI.Groups = sfn, s, r.DLTTI.PDUs[:0], r.DLTTI.Groups[:0]
	r.ULTTI.SFN, r.ULTTI.Slot, r.ULTTI.PDUs, r.ULTTI.Groups = sfn, s, r.ULTTI.PDUs[:0], r.ULTTI.Groups[:0]
	r.ULTTI.RACHPresent, r.ULTTI.NULSCH, r.ULTTI.NULCCH = 0, 0, 0
	r.ULDCI.SFN, r.ULDCI.Slot, r.ULDCI.PDUs = sfn, s, r.ULDCI.PDUs[:0]
	r.TXData.SFN, r.TXData.Slot, r.TXData.PDUs = sfn, s, r.TXData.PDUs[:0]
	r.DLTTI.Trailing, r.ULTTI.Trailing, r.ULDCI.Trailing, r.TXData.Trailing = nil, nil, nil, nil
}

// Indications are what a PHY says about one slot. What Have does not name is not
// defined.
type Indications struct {
	At   slot.Number
	Have Have

	RXData nfapi.RXDataIndication
	CRC    nfapi.CRCIndication
	UCI    nfapi.UCIIndication
	SRS    nfapi.SRSIndication
	RACH   nfapi.RACHIndication
}

// Reset makes them empty, for slot n.
func (i *Indications) Reset(mu slot.Numerology, n slot.Number) {
	sfn, s := mu.Split(n)
	i.At, i.Have = n, 0
	i.RXData.SFN, i.RXData.Slot, i.RXData.PDUs = sfn, s, i.RXData.PDUs[:0]
	i.CRC.SFN, i.CRC.Slot, i.CRC.CRCs = sfn, s, i.CRC.CRCs[:0]
	i.UCI.SFN, i.UCI.Slot, i.UCI.UCIs = sfn, s, i.UCI.UCIs[:0]
	i.SRS.SFN, i.SRS.Slot, i.SRS.PDUs = sfn, s, i.SRS.PDUs[:0]
	i.RACH.SFN, i.RACH.Slot, i.RACH.PDUs = sfn, s, i.RACH.PDUs[:0]
	i.RXData.Trailing, i.CRC.Trailing, i.UCI.Trailing, i.SRS.Trailing, i.RACH.Trailing = nil, nil, nil, nil, nil
}

// PHY is layer 1 of one cell. Its methods are called by one goroutine at a time.
type PHY interface {
	// Configure is a well-formed CONFIG.request. An error makes it INVALID_CONFIG, and is logged. It
	// is called again when the cell changes, never between Start and Stop.
	Configure(c *cell.Config) error
	// Start and Stop are START.request and STOP.request.
	Start() error
	Stop()
	// Slot carries out slot r.At, which begins now. It is called for each slot in
	// order; if the clock was late and left slots out, for those too, with Have 0.
	// r is valid until Slot returns, the octets that it refers to as well.
	//
	// What the PHY received in that slot goes into i, which is empty. It is sent when
	// the slot has ended, before SLOT.indication of that tick. What i refers to has to
	// stay until Slot is called again.
	Slot(r *Requests, i *Indications)
}

// MAC is layer 2 of one cell, above a PHY. Its methods are called by one goroutine at
// a time.
type MAC interface {
	// Cell is what the PHY is to be configured with.
	Cell() *cell.Config
	// Start says that the PHY runs, Stop that it does no longer: its connection was
	// lost, or it was stopped. After Stop nothing is expected of slots of before.
	Start()
	Stop()
	// Indicate is what the PHY says about slot i.At: over P7 one message at a time,
	// and what was lost on the way never comes. i is valid until Indicate returns, the
	// octets that it refers to as well.
	Indicate(i *Indications)
	// Schedule fills r, which is empty, for slot r.At: some slots ahead of the air. It
	// is called once for each slot, in order, unless P7 lost enough ticks that slots
	// can no longer be reached: those are skipped. Memory that r refers to must stay
	// valid until the requested feedback has arrived or is overdue.
	Schedule(r *Requests)
}
