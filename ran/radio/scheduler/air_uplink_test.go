package scheduler_test

import (
	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/ran/radio"
	"github.com/plumbline-upf/plumbline/ran/radio/dci"
)

// uplink is UL_TTI.
func (a *air) uplink(r *fapi.Requests) {
	var taken [275]bool
	heard := map[uint16]bool{}
	for i := range r.ULTTI.PDUs {
		if r.Have&fapi.ULTTI == 0 {
			break
		}
		p := &r.ULTTI.PDUs[i]
		a.seen[[]string{"PRACH", "PUSCH", "PUCCH", "SRS"}[p.Type]]++
		switch p.Type {
		case 0:
			a.prach(r)
		case 1:
			a.take(taken[:a.rrc.PUSCHPRBs(r.At)], p.PUSCH.RBStart, p.PUSCH.RBSize)
			a.pusch(r, &p.PUSCH)
			heard[p.PUSCH.RNTI] = true
		case 2:
			a.pucch(r, &p.PUCCH)
		}
	}
	for _, u := range a.ues {
		// It sends whether it is listened to or not.
		if g := u.grants[r.At]; g != nil && !heard[u.RNTI] {
			a.transport(u, g)
		}
	}
}

func (a *air) prach(r *fapi.Requests) {
	mu := a.rrc.Numerology
	for _, u := range a.ues {
		if u.fresh && mu.Distance(r.At, u.sentAt) < 16*mu.PerFrame() || u.known() {
			continue
		}
		u.fresh, u.sentAt = true, r.At
		u.downlink, u.uplink = [radio.MaxHARQ]airProcess{}, [radio.MaxHARQ]airProcess{}
		a.heard.Have |= fapi.RACH
		a.heard.RACH.PDUs = append(a.heard.RACH.PDUs, nfapi.RACHOccasion{Preambles: []nfapi.Preamble{{Index: u.Preamble}}})
	}
}

// known: it was told something since its preamble.
func (u *airUE) known() bool { return !u.fresh && u.sentAt != 0 }

// transport is the transport block of a grant.
func (a *air) transport(u *airUE, g *dci.Uplink) []byte {
	p := &u.uplink[g.HARQ]
	size := a.rrc.Allocation(a.rrc.Slot(a.now).PUSCH, g.PRBs, g.MCS).TransportBlock()
	if p.isNew(g.NDI, size) {
		p.tb = make([]byte, size)
		u.bearer.Fill(p.tb)
	}
	return p.tb
}

func (a *air) pusch(r *fapi.Requests, p *nfapi.PUSCHPDU) {
	u := a.ue(p.RNTI)
	crc := nfapi.CRC{Handle: p.Handle, RNTI: p.RNTI, HARQID: p.Data.HARQProcessID, TBCRCStatus: 1}
	if g := u.grants[r.At]; g != nil {
		if g.HARQ != p.Data.HARQProcessID || g.NDI != p.Data.NewDataIndicator || g.PRBs != int(p.RBSize) || g.PRBStart != int(p.RBStart) || g.RV != p.Data.RVIndex {
			a.fail("PUSCH %+v of grant %+v", p, g)
		}
		tb := a.transport(u, g)
		if int(p.Data.TBSize) != len(tb) {
			a.fail("PUSCH of %d octets, its grant has %d", p.Data.TBSize, len(tb))
		}
		if a.random.Float64() >= a.crcFailure[1] {
			crc.TBCRCStatus = 0
			a.heard.Have |= fapi.RXData
			a.heard.RXData.PDUs = append(a.heard.RXData.PDUs, nfapi.RXDataPDU{Handle: p.Handle, RNTI: p.RNTI, HARQID: crc.HARQID, Payload: tb})
		}
	}
	a.heard.Have |= fapi.CRC
	a.heard.CRC.CRCs = append(a.heard.CRC.CRCs, crc)
}

func (a *air) pucch(r *fapi.Requests, p *nfapi.PUCCHPDU) {
	u := a.ue(p.RNTI)
	acks := u.acks[r.At]
	request := a.rrc.SR(r.At) && u.bearer.Buffered() > 0 && len(u.grants) == 0
	m := nfapi.UCI{}
	switch {
	case p.BitLenHARQ == 0: // its own resource, which it uses if it has no feedback
		m.Type, m.Format01 = 1, nfapi.UCIFormat01{PDUBitmap: 1, RNTI: p.RNTI}
		if request && len(acks) == 0 {
			m.Format01.SR.Indication = 1
		}
	case int(p.BitLenHARQ) != len(a.rrc.Codebook(r.At)):
		a.fail("feedback of %d bits, the codebook is %v", p.BitLenHARQ, a.rrc.Codebook(r.At))
	case p.FormatType == 0:
		m.Type, m.Format01 = 1, nfapi.UCIFormat01{PDUBitmap: 2 | p.SRFlag, RNTI: p.RNTI}
		for bit := range int(p.BitLenHARQ) {
			value := byte(2)
			if good, ok := acks[bit]; good {
				value = 0
			} else if ok || len(acks) > 0 {
				value = 1
			}
			m.Format01.HARQ.Values = append(m.Format01.HARQ.Values, value)
		}
		if request && len(acks) > 0 {
			m.Format01.SR.Indication = 1
		}
	default:
		m.Type, m.Format234 = 2, nfapi.UCIFormat234{PDUBitmap: 2 | p.SRFlag, RNTI: p.RNTI, PUCCHFormat: 2}
		h := &m.Format234.HARQ
		h.BitLen, h.Payload = p.BitLenHARQ, make([]byte, p.BitLenHARQ/8+1)
		if len(acks) == 0 {
			h.CRC = 1
		}
		for bit, good := range acks {
			if good {
				h.Payload[bit/8] |= 1 << (bit % 8)
			}
		}
		m.Format234.SR = nfapi.SRBits{BitLen: 1, Payload: make([]byte, 1)}
		if request && len(acks) > 0 {
			m.Format234.SR.Payload[0] = 1
		}
	}
	a.heard.Have |= fapi.UCI
	a.heard.UCI.UCIs = append(a.heard.UCI.UCIs, m)
}
