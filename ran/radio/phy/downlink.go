package phy

import (
	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/ran/radio/ue"
)

// PDU types of DL_TTI, UL_DCI, and of UL_TTI. Source: SCF 222, as OpenAirInterface
// develop 2025-09 has it.
const (
	pduPDCCH = 0
	pduPDSCH = 1

	pduPRACH = 0
	pduPUSCH = 1
	pduPUCCH = 2
)

// prbsPerCCE is how many PRBs of one symbol a CCE has: 6 REGs. Source: TS 38.211
// V18.2.0, 7.3.2.2.
const prbsPerCCE = 6

// listen lets the UEs read the PDCCH. DCIs that share CCEs are not received.
func (p *PHY) listen(r *fapi.Requests) {
	p.control = occupancy{}
	for pass := range 2 {
		if r.Have&fapi.DLTTI != 0 {
			for k := range r.DLTTI.PDUs {
				if d := &r.DLTTI.PDUs[k]; d.Type == pduPDCCH {
					p.pdcch(&d.PDCCH, pass, (*ue.UE).Control)
				}
			}
		}
		if r.Have&fapi.ULDCI != 0 {
			for k := range r.ULDCI.PDUs {
				if d := &r.ULDCI.PDUs[k]; d.Type == pduPDCCH {
					p.pdcch(&d.PDCCH, pass, (*ue.UE).Grant)
				}
			}
		}
	}
}

// pdcch marks the CCEs of a CORESET in the first pass, and has the DCIs read in the
// second one.
func (p *PHY) pdcch(c *nfapi.PDCCHPDU, pass int, read dciReader) {
	cces := p.cell.PRBs * int(c.DurationSymbols) / prbsPerCCE
	if int(c.StartSymbolIndex)+int(c.DurationSymbols) > p.cell.TDD.DownlinkSymbols(p.at) {
		cces = 0
	}
	for k := range c.DCIs {
		d := &c.DCIs[k]
		if pass == 0 {
			p.control.add(int(d.CCEIndex), int(d.AggregationLevel), cces)
			continue
		}
		if !p.control.clear(int(d.CCEIndex), int(d.AggregationLevel), cces) {
			p.countings.collisions.Add(1)
			continue
		}
		if u, _ := p.ue(d.RNTI); u != nil {
			read(u, p.at, d)
		} else {
			p.countings.strangers.Add(1)
		}
	}
}

// transmit sends the PDSCHs to the UEs that listen to them.
func (p *PHY) transmit(r *fapi.Requests) {
	for k := range p.pdsch {
		p.pdsch[k] = -1
	}
	if r.Have&fapi.DLTTI != 0 {
		p.shared = occupancy{}
		for k := range r.DLTTI.PDUs {
			if r.DLTTI.PDUs[k].Type == pduPDSCH {
				p.place(&r.DLTTI.PDUs[k].PDSCH, int32(k))
			}
		}
	}
	for k, u := range p.ues {
		u.Receive(p.at, p.block(r, p.pdsch[k]))
	}
}

// place puts a PDSCH onto the grid, and notes it for the UE that listens to it.
func (p *PHY) place(d *nfapi.PDSCHPDU, index int32) {
	if !p.shared.add(int(d.BWPStart)+int(d.RBStart), int(d.RBSize), p.cell.PRBs) || d.ResourceAlloc != 1 ||
		int(d.StartSymbolIndex)+int(d.NrOfSymbols) > p.cell.TDD.DownlinkSymbols(p.at) {
		p.countings.misplaced.Add(1)
		return
	}
	u, at := p.ue(d.RNTI)
	switch {
	case u == nil:
		p.countings.strangers.Add(1)
	case !u.Expects(d):
		p.countings.unheard.Add(1)
	default:
		p.pdsch[at] = index
	}
}

// block is the transport block of a PDSCH, as it arrives; nil if it does not.
func (p *PHY) block(r *fapi.Requests, index int32) []nfapi.TXDataTLV {
	if index < 0 {
		return nil
	}
	d := &r.DLTTI.PDUs[index].PDSCH
	if !p.shared.clear(int(d.BWPStart)+int(d.RBStart), int(d.RBSize), p.cell.PRBs) {
		p.countings.collisions.Add(1)
		return nil
	}
	if p.fails(p.config.CRCFailureDownlink) {
		return nil
	}
	if r.Have&fapi.TXData != 0 {
		for k := range r.TXData.PDUs {
			if r.TXData.PDUs[k].PDUIndex == d.PDUIndex {
				return r.TXData.PDUs[k].TLVs
			}
		}
	}
	p.countings.empty.Add(1)
	return nil
}
