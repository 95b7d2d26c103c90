package phy

import (
	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/ran/radio/ue"
)

// dciReader is [ue.UE.Control] or [ue.UE.Grant].
type dciReader = func(*ue.UE, slot.Number, *nfapi.DCI)

// Measurements, which are always the same. Source: SCF 222, as OpenAirInterface develop
// 2025-09 has it.
const (
	cqiGood     = 128 + 2*30 // 30 dB
	cqiNone     = 0          // -64 dB: there was nothing
	advanceZero = 31         // no correction of the timing
	advanceNone = 0xffff     // invalid
	rssi        = 1280
	rachRSSI    = 128
	rachSNR     = 128
	rachPower   = 60_000
)

// maxUCIs is how many PUCCH PDUs of a slot are answered at most.
const maxUCIs = 256

// receive makes the indications of what UL_TTI asks for.
func (p *PHY) receive(r *fapi.Requests, i *fapi.Indications) {
	p.shared = occupancy{}
	for _, u := range p.ues {
		if t := u.Transmission(); t != nil {
			p.shared.add(t.PRBStart, t.PRBs, p.cell.PRBs)
		}
	}
	if p.cell.PRACH(p.at) {
		for _, u := range p.ues {
			if u.Preamble(p.at) {
				p.preambles = append(p.preambles, nfapi.Preamble{Index: u.UE.Preamble, TimingAdvance: 0, Power: rachPower})
			}
		}
	}
	if r.Have&fapi.ULTTI == 0 {
		return
	}
	clear(p.heard)
	for k := range r.ULTTI.PDUs {
		switch d := &r.ULTTI.PDUs[k]; d.Type {
		case pduPRACH:
			p.prach(&d.PRACH, i)
		case pduPUSCH:
			p.pusch(&d.PUSCH, i)
		case pduPUCCH:
			p.pucch(&d.PUCCH, i)
		}
	}
}

// prach reports the preambles of the slot, to the first that asks.
func (p *PHY) prach(d *nfapi.PRACHPDU, i *fapi.Indications) {
	if len(p.preambles) == 0 || i.Have&fapi.RACH != 0 {
		return
	}
	_, s := p.cell.Numerology.Split(p.at)
	i.Have |= fapi.RACH
	i.RACH.PDUs = append(i.RACH.PDUs, nfapi.RACHOccasion{
		PhysCellID: d.PhysCellID, SymbolIndex: d.PRACHStartSymbol, SlotIndex: uint8(s), FreqIndex: d.NumRA,
		AvgRSSI: rachRSSI, AvgSNR: rachSNR, Preambles: p.preambles,
	})
}

// pusch receives a PUSCH, or reports that it was not received.
func (p *PHY) pusch(d *nfapi.PUSCHPDU, i *fapi.Indications) {
	const data = 1
	if d.PDUBitmap&data == 0 {
		return
	}
	report := nfapi.CRC{
		Handle: d.Handle, RNTI: d.RNTI, HARQID: d.Data.HARQProcessID, TBCRCStatus: 1,
		ULCQI: cqiNone, TimingAdvance: advanceNone, RSSI: rssi,
	}
	if t := p.arrives(d); t != nil {
		report.TBCRCStatus, report.ULCQI, report.TimingAdvance = 0, cqiGood, advanceZero
		i.Have |= fapi.RXData
		i.RXData.PDUs = append(i.RXData.PDUs, nfapi.RXDataPDU{
			Handle: d.Handle, RNTI: d.RNTI, HARQID: d.Data.HARQProcessID, PDULength: uint32(len(t.Block)),
			ULCQI: cqiGood, TimingAdvance: advanceZero, RSSI: rssi, Payload: t.Block,
		})
		p.countings.puschGood.Add(1)
	}
	i.Have |= fapi.CRC
	i.CRC.CRCs = append(i.CRC.CRCs, report)
}

// arrives is the transmission that a PUSCH PDU describes; nil if there is none, or if
// it cannot be decoded.
func (p *PHY) arrives(d *nfapi.PUSCHPDU) *ue.Transmission {
	u, index := p.ue(d.RNTI)
	if u == nil {
		p.countings.strangers.Add(1)
		return nil
	}
	t := u.Transmission()
	if t == nil || p.heard[index] || !describes(d, t) {
		p.countings.puschAbsent.Add(1)
		return nil
	}
	p.heard[index] = true
	if !p.shared.clear(t.PRBStart, t.PRBs, p.cell.PRBs) {
		p.countings.collisions.Add(1)
		return nil
	}
	if p.fails(p.config.CRCFailureUplink) {
		p.countings.puschFailed.Add(1)
		return nil
	}
	return t
}

func describes(d *nfapi.PUSCHPDU, t *ue.Transmission) bool {
	return d.ResourceAlloc == 1 && int(d.BWPStart)+int(d.RBStart) == t.PRBStart && int(d.RBSize) == t.PRBs &&
		int(d.StartSymbolIndex) == t.Symbols.Start && int(d.NrOfSymbols) == t.Symbols.Length &&
		d.MCSIndex == t.MCS && d.Data.HARQProcessID == t.HARQ && int(d.Data.TBSize) == len(t.Block)
}

// pucch reports what was received of a PUCCH.
func (p *PHY) pucch(d *nfapi.PUCCHPDU, i *fapi.Indications) {
	if len(i.UCI.UCIs) >= maxUCIs || d.BitLenHARQ > ue.MaxFeedback {
		p.countings.misplaced.Add(1)
		return
	}
	u, index := p.ue(d.RNTI)
	if u == nil {
		p.countings.strangers.Add(1)
	}
	var heard hearing
	if u != nil {
		heard = p.hear(d, u, int(index))
	}
	i.Have |= fapi.UCI
	if d.FormatType < 2 {
		i.UCI.UCIs = append(i.UCI.UCIs, nfapi.UCI{Type: 1, Format01: p.format01(d, heard)})
	} else {
		i.UCI.UCIs = append(i.UCI.UCIs, nfapi.UCI{Type: 2, Format234: p.format234(d, heard)})
	}
}

// hearing is what was received on a PUCCH.
type hearing struct {
	something bool
	requests  bool
	bits      uint32
}

func (h hearing) measured() (cqi uint8, advance uint16) {
	if h.something {
		return cqiGood, advanceZero
	}
	return cqiNone, advanceNone
}

// hear is what a UE sends on the resource of a PUCCH PDU. Source: TS 38.213 V18,
// 9.2.5.1: a scheduling request goes with the feedback, if there is any.
func (p *PHY) hear(d *nfapi.PUCCHPDU, u *ue.UE, index int) hearing {
	bits, sends := u.Feedback(p.at)
	if d.BitLenHARQ == 0 {
		at := p.cell.Request(index)
		if sends || !u.Requests() || d.SRFlag == 0 || d.PRBStart != at.PRB || d.FormatType != at.Format {
			return hearing{}
		}
		return hearing{something: true, requests: true}
	}
	at := p.cell.Feedback(index, p.at)
	if !sends || int(d.BitLenHARQ) != len(p.cell.Codebook(p.at)) || d.PRBStart != at.PRB || d.FormatType != at.Format {
		p.countings.feedbackAbsent.Add(1)
		return hearing{}
	}
	return hearing{something: true, requests: u.Requests() && d.SRFlag != 0, bits: bits}
}

// Bits of a UCI's bitmap.
const (
	uciSR   = 1 << 0
	uciHARQ = 1 << 1
)

// Values of HARQ bits by format 0 and 1.
const (
	harqACK  = 0
	harqNACK = 1
	harqDTX  = 2
)

func (p *PHY) format01(d *nfapi.PUCCHPDU, h hearing) nfapi.UCIFormat01 {
	m := nfapi.UCIFormat01{
		Handle: d.Handle, RNTI: d.RNTI, PUCCHFormat: d.FormatType, RSSI: rssi,
	}
	m.ULCQI, m.TimingAdvance = h.measured()
	if d.SRFlag != 0 {
		m.PDUBitmap |= uciSR
		m.SR.Indication = bit(h.requests)
	}
	if d.BitLenHARQ == 0 {
		return m
	}
	m.PDUBitmap |= uciHARQ
	m.HARQ.Values = p.take(int(d.BitLenHARQ))
	for k := range m.HARQ.Values {
		switch {
		case !h.something:
			m.HARQ.Values[k] = harqDTX
		case h.bits>>k&1 != 0:
			m.HARQ.Values[k] = harqACK
		default:
			m.HARQ.Values[k] = harqNACK
		}
	}
	return m
}

func (p *PHY) format234(d *nfapi.PUCCHPDU, h hearing) nfapi.UCIFormat234 {
	m := nfapi.UCIFormat234{
		Handle: d.Handle, RNTI: d.RNTI, PUCCHFormat: d.FormatType, RSSI: rssi,
	}
	m.ULCQI, m.TimingAdvance = h.measured()
	if d.SRFlag != 0 {
		m.PDUBitmap |= uciSR
		m.SR = nfapi.SRBits{BitLen: 1, Payload: p.take(1)}
		m.SR.Payload[0] = bit(h.requests)
	}
	if d.BitLenHARQ == 0 {
		return m
	}
	m.PDUBitmap |= uciHARQ
	m.HARQ = nfapi.HARQBits{CRC: bit(!h.something), BitLen: d.BitLenHARQ, Payload: p.take(int(d.BitLenHARQ)/8 + 1)}
	for k := range m.HARQ.Payload {
		m.HARQ.Payload[k] = byte(h.bits >> (8 * k))
	}
	return m
}

func bit(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// take is n octets, 0, that stay until the next slot.
//
// Precondition: all that are taken in a slot fit into maxOctets.
func (p *PHY) take(n int) []byte {
	from := len(p.octets)
	p.octets = p.octets[:from+n]
	b := p.octets[from : from+n : from+n]
	clear(b)
	return b
}
