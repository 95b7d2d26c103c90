package analyze

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/capture"
)

// wait is a UE between its SR and the CRC of the block that it is granted.
type wait struct {
	request time.Time // of the SR; zero: there is none
	grant   time.Time // of UL_DCI; zero: not yet
	slot    int64     // of UL_DCI: the block comes later
}

// ue is the figures of an RNTI, nil if there are too many.
func (c *cell) ue(rnti uint16) *UE {
	u := c.ues[rnti]
	if u == nil {
		if len(c.ues) == maxUEs {
			c.result.OtherUEs++
			return nil
		}
		u = &UE{RNTI: rnti}
		c.ues[rnti] = u
	}
	return u
}

func add(list []block, b block) []block {
	if len(list) == maxBlocks {
		return list
	}
	return append(list, b)
}

func (c *cell) downlink(s *entry, m *nfapi.DLTTIRequest) {
	for i := range m.PDUs {
		if m.PDUs[i].Type != typePDSCH {
			continue
		}
		p := &m.PDUs[i].PDSCH
		octets := p.TBSize[0]
		if p.NrOfCodewords > 1 {
			octets += p.TBSize[1]
		}
		s.pdsch = add(s.pdsch, block{index: p.PDUIndex, rnti: p.RNTI, octets: octets, again: p.RVIndex[0] != 0, bits: uint16(max(1, p.NrOfCodewords))})
	}
}

func (c *cell) data(s *entry, m *nfapi.TXDataRequest) {
	for i := range m.PDUs {
		octets := uint32(0)
		for _, t := range m.PDUs[i].TLVs {
			octets += t.Length
		}
		s.tx = add(s.tx, block{index: m.PDUs[i].PDUIndex, octets: octets})
	}
}

func (c *cell) uplink(s *entry, m *nfapi.ULTTIRequest) {
	for i := range m.PDUs {
		switch m.PDUs[i].Type {
		case typePUSCH:
			p := &m.PDUs[i].PUSCH
			if p.PDUBitmap&puschData != 0 {
				b := block{rnti: p.RNTI, harq: p.Data.HARQProcessID, octets: p.Data.TBSize, again: p.Data.RVIndex != 0}
				if p.PDUBitmap&puschUCI != 0 {
					b.bits = p.UCI.HARQACKBitLength
				}
				s.pusch = add(s.pusch, b)
			}
		case typePUCCH:
			s.pucch = add(s.pucch, block{rnti: m.PDUs[i].PUCCH.RNTI, bits: m.PDUs[i].PUCCH.BitLenHARQ})
		}
	}
}

// grants are the DCIs for PUSCH.
func (c *cell) grants(s *entry, m *nfapi.ULDCIRequest, at time.Time) {
	for i := range m.PDUs {
		for j := range m.PDUs[i].PDCCH.DCIs {
			u := c.ues[m.PDUs[i].PDCCH.DCIs[j].RNTI]
			if u == nil || u.wait.request.IsZero() || !u.wait.grant.IsZero() {
				continue
			}
			u.wait.grant, u.wait.slot = at, s.slot
			c.toGrant.Record(at.Sub(u.wait.request))
		}
	}
}

// indication is what a PNF says about a slot.
func (c *cell) indication(s *entry, e *capture.Event) {
	switch m := e.Message.(type) {
	case *nfapi.CRCIndication:
		for i := range m.CRCs {
			c.crc(s, &m.CRCs[i], e.At)
		}
	case *nfapi.RXDataIndication:
		for i := range m.PDUs {
			p := &m.PDUs[i]
			if b := find(s.pusch, p.RNTI, func(b *block) bool { return !b.data && b.harq == p.HARQID }); b != nil {
				b.data = true
			}
		}
	case *nfapi.UCIIndication:
		for i := range m.UCIs {
			c.uci(s, &m.UCIs[i], e.At)
		}
	}
}

// find is the first block of an RNTI that is as wanted, nil if there is none.
func find(list []block, rnti uint16, wanted func(*block) bool) *block {
	for i := range list {
		if list[i].rnti == rnti && wanted(&list[i]) {
			return &list[i]
		}
	}
	return nil
}

func (c *cell) crc(s *entry, m *nfapi.CRC, at time.Time) {
	good := m.TBCRCStatus == 0
	b := find(s.pusch, m.RNTI, func(b *block) bool { return !b.matched && b.harq == m.HARQID })
	switch {
	case b != nil:
		b.matched, b.good = true, good
	case s.slot >= c.first && c.judges():
		c.result.Broken.CRCWithoutPUSCH++
		c.note(at, c.number(s.slot), "CRC of RNTI %#04x without PUSCH", m.RNTI)
	}
	u := c.ue(m.RNTI)
	if u == nil {
		return
	}
	count(&c.result.Uplink, good)
	count(&u.Uplink, good)
	if int(m.HARQID) < len(u.HARQ) {
		count(&u.HARQ[m.HARQID], good)
	}
	if w := &u.wait; !w.grant.IsZero() && s.slot > w.slot {
		c.grantToCRC.Record(at.Sub(w.grant))
		c.requestsCRC.Record(at.Sub(w.request))
		*w = wait{}
	}
}

func count(b *Blocks, good bool) {
	if good {
		b.Good++
	} else {
		b.Bad++
	}
}

// uci takes SR and HARQ bits.
func (c *cell) uci(s *entry, m *nfapi.UCI, at time.Time) {
	const bitSR, bitHARQ = 1, 2
	switch m.Type {
	case 0:
		if p := &m.PUSCH; p.PDUBitmap&bitHARQ != 0 {
			c.feedback(s, p.RNTI, verdictsOf(&p.HARQ))
		}
	case 1:
		p := &m.Format01
		c.match(s, p.RNTI)
		if p.PDUBitmap&bitSR != 0 && p.SR.Indication == 1 {
			c.schedulingRequest(p.RNTI, at)
		}
		if p.PDUBitmap&bitHARQ != 0 {
			c.feedback(s, p.RNTI, verdictsOfValues(p.HARQ.Values))
		}
	case 2:
		p := &m.Format234
		c.match(s, p.RNTI)
		if p.PDUBitmap&bitSR != 0 && len(p.SR.Payload) > 0 && p.SR.BitLen > 0 && p.SR.Payload[0] != 0 {
			c.schedulingRequest(p.RNTI, at)
		}
		if p.PDUBitmap&bitHARQ != 0 {
			c.feedback(s, p.RNTI, verdictsOf(&p.HARQ))
		}
	}
}

// match marks the PUCCH that a UCI is of.
func (c *cell) match(s *entry, rnti uint16) {
	if b := find(s.pucch, rnti, func(b *block) bool { return !b.matched }); b != nil {
		b.matched = true
	}
}

func (c *cell) schedulingRequest(rnti uint16, at time.Time) {
	u := c.ue(rnti)
	if u == nil {
		return
	}
	u.Requests++
	c.result.Requested.Count++
	if !u.wait.request.IsZero() {
		c.result.Requested.Repeated++
		return
	}
	u.wait = wait{request: at}
}

// judgePair is for DL_TTI and TX_DATA of a slot.
func (c *cell) judgePair(s *entry) {
	broken := &c.result.Broken
	dl, tx := !s.requests[dlTTI].IsZero(), !s.requests[txData].IsZero()
	switch {
	case len(s.pdsch) > 0 && !tx:
		broken.DLTTIWithoutTXData++
		c.requests[dlTTI].counts.Unpaired++
		c.note(s.requests[dlTTI], c.number(s.slot), "DL_TTI.request with %d PDSCH, no TX_DATA.request", len(s.pdsch))
	case tx && !dl:
		broken.TXDataWithoutDLTTI++
		c.requests[txData].counts.Unpaired++
		c.note(s.requests[txData], c.number(s.slot), "TX_DATA.request without DL_TTI.request")
	}
	for i := range s.pdsch {
		if p := &s.pdsch[i]; tx && !s.sends(p) {
			broken.PDSCHWithoutBlock++
			c.note(s.requests[dlTTI], c.number(s.slot), "PDSCH %d of RNTI %#04x has no block in TX_DATA.request", p.index, p.rnti)
		}
	}
}

// sends reports whether TX_DATA has the block of a PDSCH.
func (s *entry) sends(p *block) bool {
	return slices.ContainsFunc(s.tx, func(b block) bool { return b.index == p.index })
}

// count counts the blocks of a slot.
func (c *cell) count(s *entry) {
	for i := range s.pdsch {
		p := &s.pdsch[i]
		if !s.sends(p) {
			continue
		}
		if u := c.ue(p.rnti); u != nil {
			countSent(&c.result.Downlink, p)
			countSent(&u.Downlink, p)
		}
	}
	for i := range s.pusch {
		p := &s.pusch[i]
		u := c.ue(p.rnti)
		if u == nil {
			continue
		}
		countSent(&c.result.Uplink, p)
		countSent(&u.Uplink, p)
		if int(p.harq) < len(u.HARQ) {
			countSent(&u.HARQ[p.harq], p)
		}
	}
}

func countSent(to *Blocks, b *block) {
	to.Blocks++
	if b.again {
		to.Again++
	} else {
		to.Octets += uint64(b.octets)
	}
}

// judgeFeedback is for what a PNF should have said about a slot.
func (c *cell) judgeFeedback(s *entry) {
	broken := &c.result.Broken
	at := s.requests[ulTTI]
	for i := range s.pusch {
		p := &s.pusch[i]
		switch {
		case !p.matched:
			broken.PUSCHWithoutCRC++
			c.note(at, c.number(s.slot), "PUSCH of RNTI %#04x, HARQ process %d: no CRC.indication", p.rnti, p.harq)
			c.uncertain(p)
		case p.good && !p.data:
			broken.GoodWithoutRXData++
			c.note(at, c.number(s.slot), "PUSCH of RNTI %#04x, HARQ process %d: good CRC, no RX_DATA.indication", p.rnti, p.harq)
		}
	}
	for i := range s.pucch {
		if !s.pucch[i].matched {
			broken.PUCCHWithoutUCI++
			c.note(at, c.number(s.slot), "PUCCH of RNTI %#04x: no UCI.indication", s.pucch[i].rnti)
		}
	}
}

// uncertain counts an uplink block with an unknown result.
func (c *cell) uncertain(b *block) {
	c.result.Uplink.Uncertain++
	u := c.ue(b.rnti)
	if u == nil {
		return
	}
	u.Uplink.Uncertain++
	if int(b.harq) < len(u.HARQ) {
		u.HARQ[b.harq].Uncertain++
	}
}

// finishUEs puts the UEs into the result, by RNTI.
func (c *cell) finishUEs() {
	out := c.result
	out.UEs = slices.SortedFunc(maps.Values(c.ues), func(a, b *UE) int { return cmp.Compare(a.RNTI, b.RNTI) })
	out.Requested.ToGrant, out.Requested.GrantToCRC, out.Requested.ToCRC = c.toGrant.Distribution(), c.grantToCRC.Distribution(), c.requestsCRC.Distribution()
}
