package scheduler

import (
	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/cell"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/ran/radio"
	"github.com/plumbline-upf/plumbline/ran/radio/dci"
	"github.com/plumbline-upf/plumbline/ran/radio/grid"
	"github.com/plumbline-upf/plumbline/ran/radio/rrc"
)

// What messages of FAPI say by numbers. Source: SCF 222.10.02, 3.4.2, 3.4.3.
const (
	pduPDCCH = 0
	pduPDSCH = 1
	pduSSB   = 3

	pduPRACH = 0
	pduPUSCH = 1
	pduPUCCH = 2

	puschData        = 1 << 0
	allocationType1  = 1
	noPrecoding      = 1 // transform precoding is disabled
	twoGroupsNoData  = 2
	coreSetOther     = 1
	power0dB         = 8
	powerSS0dB       = 1
	bchPayloadByMAC  = 0
	prachFormatA2    = 5
	txDataHeader     = 12 // octets that PDU_length counts in addition to the transport block
	tpc0dB           = 1
	aggregationLevel = 1

	// maxDCIs is what OpenAirInterface takes of a PDCCH PDU.
	maxDCIs = 8
	// prbsPerCCE: 6 REGs, of a PRB and symbol each. Source: TS 38.211 V18.2.0, 7.3.2.2.
	prbsPerCCE = 6 / grid.CORESETSymbols
)

// templates are PDUs with all that is the same in each slot.
type templates struct {
	pdcch nfapi.PDCCHPDU
	dci   nfapi.DCI
	pdsch nfapi.PDSCHPDU
	pusch nfapi.PUSCHPDU
	pucch nfapi.PUCCHPDU
	prach nfapi.PRACHPDU
	ssb   nfapi.SSBPDU
}

func newTemplates(c *radio.Config, r *rrc.Config, phy *cell.Config) templates {
	mu, prbs, pci := uint8(c.Numerology), uint16(c.PRBs), phy.PCI
	qm, rate := grid.Modulation(c.MCSTable, c.MCS)
	ports := uint16(1)<<c.Layers - 1
	t := templates{
		pdcch: nfapi.PDCCHPDU{
			BWPSize: prbs, SubcarrierSpacing: mu, DurationSymbols: grid.CORESETSymbols, RegBundleSize: 6, CoreSetType: coreSetOther,
		},
		dci: nfapi.DCI{ScramblingID: pci, AggregationLevel: aggregationLevel, BetaPDCCH10: power0dB, PowerControlOffsetSS: powerSS0dB},
		pdsch: nfapi.PDSCHPDU{
			BWPSize: prbs, SubcarrierSpacing: mu, NrOfCodewords: 1, TargetCodeRate: [2]uint16{uint16(10 * rate)}, QAMModOrder: [2]uint8{uint8(qm)},
			MCSIndex: [2]uint8{c.MCS}, MCSTable: [2]uint8{c.MCSTable}, DataScramblingID: pci, NrOfLayers: uint8(c.Layers),
			DLDMRSScramblingID: pci, NumDMRSCDMGrpsNoData: twoGroupsNoData, DMRSPorts: ports, ResourceAlloc: allocationType1,
			PowerControlOffset: power0dB, PowerControlOffsetSS: powerSS0dB,
			Maintenance: nfapi.Maintenance{TBSizeLBRMBytes: uint32(grid.LBRM(c.PRBs, c.Layers, c.MCSTable))},
		},
		pusch: nfapi.PUSCHPDU{
			PDUBitmap: puschData, BWPSize: prbs, SubcarrierSpacing: mu, TargetCodeRate: uint16(10 * rate), QAMModOrder: uint8(qm),
			MCSIndex: c.MCS, MCSTable: c.MCSTable, TransformPrecoding: noPrecoding, DataScramblingID: pci, NrOfLayers: uint8(c.Layers),
			ULDMRSScramblingID: pci, PUSCHIdentity: pci, NumDMRSCDMGrpsNoData: twoGroupsNoData, DMRSPorts: ports, ResourceAlloc: allocationType1,
			Maintenance: nfapi.Maintenance{TBSizeLBRMBytes: uint32(grid.LBRM(c.PRBs, c.Layers, c.MCSTable))},
		},
		pucch: nfapi.PUCCHPDU{
			BWPSize: prbs, SubcarrierSpacing: mu, PRBSize: 1, StartSymbolIndex: grid.PUCCHStart, NrOfSymbols: grid.PUCCHSymbols,
			HoppingID: pci, DataScramblingID: pci, DMRSScramblingID: pci,
		},
		prach: nfapi.PRACHPDU{PhysCellID: pci, NumPRACHOcas: 1, PRACHFormat: prachFormatA2},
		ssb: nfapi.SSBPDU{
			PhysCellID: pci, SSBSubcarrierOffset: phy.SSB.SubcarrierOff, SSBOffsetPointA: phy.SSB.OffsetPointA, BCHPayloadFlag: bchPayloadByMAC,
		},
	}
	for group := range c.PRBs / 6 {
		t.pdcch.FreqDomainResource[group/8] |= 0x80 >> (group % 8)
	}
	return t
}

// grow extends a list by one element in reused memory: the caller sets the relevant fields.
func grow[T any](list *[]T) *T {
	if n := len(*list); n < cap(*list) {
		*list = (*list)[:n+1]
	} else {
		*list = append(*list, *new(T))
	}
	return &(*list)[len(*list)-1]
}

// ssb is the SSB of a slot, if it has one.
func (s *Scheduler) ssb(r *fapi.Requests) {
	if !s.rrc.SSB(r.At) {
		return
	}
	p := grow(&r.DLTTI.PDUs)
	p.Type, p.Extra, p.SSB = pduSSB, nil, s.templates.ssb
	// The MIB has the 6 highest bits of the SFN behind its first bit. Source: TS
	// 38.331 V18, 6.2.2.
	sfn, _ := s.mu.Split(r.At)
	p.SSB.BCHPayload = s.cell.SSB.MIB | uint32(sfn>>4)<<17
	r.Have |= fapi.DLTTI
}

// pdcch is the PDCCH PDU of a list of DCIs, which begins with the given CCE.
func (s *Scheduler) nextDCI(p *nfapi.PDCCHPDU, u *ue, firstCCE int) *nfapi.DCI {
	d := grow(&p.DCIs)
	*d = s.templates.dci
	d.RNTI, d.CCEIndex = u.RNTI, uint8(firstCCE+aggregationLevel*(len(p.DCIs)-1))
	return d
}

// beginPDCCH makes p that of a slot, without DCIs.
func (s *Scheduler) beginPDCCH(p *nfapi.PDCCHPDU) {
	list := p.DCIs[:0]
	*p = s.templates.pdcch
	p.DCIs = list
}

// downlinkDCI adds an assignment.
func (s *Scheduler) downlinkDCI(r *fapi.Requests, u *ue, m *dci.Downlink) {
	var p *nfapi.PDCCHPDU
	for i := range r.DLTTI.PDUs {
		if r.DLTTI.PDUs[i].Type == pduPDCCH {
			p = &r.DLTTI.PDUs[i].PDCCH
		}
	}
	if p == nil {
		pdu := grow(&r.DLTTI.PDUs)
		pdu.Type, pdu.Extra, p = pduPDCCH, nil, &pdu.PDCCH
		s.beginPDCCH(p)
	}
	s.put(s.formats.PutDownlink(s.nextDCI(p, u, 0), m))
}

// uplinkDCI adds a grant.
func (s *Scheduler) uplinkDCI(r *fapi.Requests, u *ue, m *dci.Uplink) {
	if len(r.ULDCI.PDUs) == 0 {
		pdu := grow(&r.ULDCI.PDUs)
		pdu.Type, pdu.Extra = pduPDCCH, nil
		s.beginPDCCH(&pdu.PDCCH)
		r.Have |= fapi.ULDCI
	}
	s.put(s.formats.PutUplink(s.nextDCI(&r.ULDCI.PDUs[0].PDCCH, u, s.maxDCIs), m))
}

// put counts what cannot be: a DCI that its format has no room for. The UE will not
// understand it, and the process comes back.
func (s *Scheduler) put(err error) {
	if err != nil {
		s.count.Malformed.Add(1)
	}
}

// uplinkDCIs is how many grants there are.
func (s *Scheduler) uplinkDCIs(r *fapi.Requests) int {
	if len(r.ULDCI.PDUs) == 0 {
		return 0
	}
	return len(r.ULDCI.PDUs[0].PDCCH.DCIs)
}

// pdsch adds a PDSCH and its transport block.
func (s *Scheduler) pdsch(r *fapi.Requests, u *ue, h *process, rv uint8, at *grid.Slot, start int) {
	index := uint16(len(r.TXData.PDUs))
	pdu := grow(&r.DLTTI.PDUs)
	pdu.Type, pdu.Extra, pdu.PDSCH = pduPDSCH, nil, s.templates.pdsch
	p := &pdu.PDSCH
	p.RNTI, p.PDUIndex, p.RVIndex[0], p.TBSize[0] = u.RNTI, index, rv, uint32(h.size)
	p.DLDMRSSymbPos = 1 << (at.PDSCH.Start + grid.DMRSSymbol)
	p.StartSymbolIndex, p.NrOfSymbols = uint8(at.PDSCH.Start), uint8(at.PDSCH.Length)
	p.RBStart, p.RBSize = uint16(start), uint16(h.prbs)
	p.Maintenance.LDPCBaseGraph = s.baseGraph(h.size)

	d := grow(&r.TXData.PDUs)
	d.PDULength, d.PDUIndex, d.TLVs = uint32(h.size+txDataHeader), index, d.TLVs[:0]
	tlv := grow(&d.TLVs)
	*tlv = nfapi.TXDataTLV{Tag: nfapi.TXDataInline, Length: uint32(h.size), Payload: h.tb}
	r.Have |= fapi.DLTTI | fapi.TXData
}

func (s *Scheduler) baseGraph(size int) uint8 {
	_, rate := grid.Modulation(s.config.MCSTable, s.config.MCS)
	return grid.BaseGraph(size, rate)
}

// nextUL adds a PDU to UL_TTI.
func nextUL(r *fapi.Requests, kind uint16) *nfapi.ULTTIPDU {
	p := grow(&r.ULTTI.PDUs)
	p.Type, p.Extra = kind, nil
	r.Have |= fapi.ULTTI
	return p
}

// pusch adds a PUSCH.
func (s *Scheduler) pusch(r *fapi.Requests, e *planEntry, h *process, at *grid.Slot) {
	p := &nextUL(r, pduPUSCH).PUSCH
	*p = s.templates.pusch
	p.RNTI, p.Handle = e.ue.RNTI, uint32(e.ue.index)
	p.ULDMRSSymbPos = 1 << (at.PUSCH.Start + grid.DMRSSymbol)
	p.StartSymbolIndex, p.NrOfSymbols = uint8(at.PUSCH.Start), uint8(at.PUSCH.Length)
	p.RBStart, p.RBSize = uint16(e.start), uint16(h.prbs)
	p.Data.RVIndex, p.Data.HARQProcessID, p.Data.NewDataIndicator, p.Data.TBSize = e.rv, uint8(e.process), h.ndi, uint32(h.size)
	p.Maintenance.LDPCBaseGraph = s.baseGraph(h.size)
	r.ULTTI.NULSCH++
}

// feedbackPDU adds the PUCCH of a UE's feedback.
func (s *Scheduler) feedbackPDU(r *fapi.Requests, u *ue, request bool) {
	p := s.nextPUCCH(r, u, s.rrc.Feedback(u.index, r.At))
	p.BitLenHARQ = uint16(len(s.rrc.Codebook(r.At)))
	if request {
		p.SRFlag = 1
	}
}

// requestPDU adds the PUCCH of a UE's scheduling request.
func (s *Scheduler) requestPDU(r *fapi.Requests, u *ue) {
	s.nextPUCCH(r, u, s.rrc.Request(u.index)).SRFlag = 1
}

func (s *Scheduler) nextPUCCH(r *fapi.Requests, u *ue, at rrc.Resource) *nfapi.PUCCHPDU {
	p := &nextUL(r, pduPUCCH).PUCCH
	*p = s.templates.pucch
	p.RNTI, p.Handle = u.RNTI, uint32(u.index)
	p.FormatType, p.PRBStart, p.InitialCyclicShift = at.Format, at.PRB, at.CyclicShift
	r.ULTTI.NULCCH++
	return p
}

// prach adds the PRACH occasion of a slot.
func (s *Scheduler) prach(r *fapi.Requests) {
	nextUL(r, pduPRACH).PRACH = s.templates.prach
	r.ULTTI.RACHPresent = 1
}
