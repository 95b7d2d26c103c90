package phy

import (
	"log/slog"
	"testing"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/ran/radio"
	"github.com/plumbline-upf/plumbline/ran/radio/bearer"
	"github.com/plumbline-upf/plumbline/ran/radio/dci"
	"github.com/plumbline-upf/plumbline/ran/radio/rrc"
)

// testRadio is 7D1S2U at 40 MHz with two UEs.
func testRadio() radio.Config {
	return radio.Config{
		Numerology: 1, PRBs: 106, Layers: 1, MCS: 28, Pattern: "DDDDDDDSUU", SpecialDL: 6, SpecialUL: 4,
		K1: 1, K2: 2, SRPeriod: 10, SROffset: 8, RLC: "um",
		UEs: []radio.UE{{RNTI: 0x4601, Preamble: 1, QFI: 9}, {RNTI: 0x4602, Preamble: 2, QFI: 5}},
	}
}

// packet is one that was delivered to a UE.
type packet struct {
	ue  int
	qfi uint8
	in  string
}

// bed is a PHY and what a gNB needs to make requests for it by hand.
type bed struct {
	t       testing.TB
	phy     *PHY
	cell    *rrc.Config
	radio   radio.Config
	formats *dci.Formats
	bearers []*bearer.Bearer // the gNB's ends
	uplink  []packet         // that came out of them
	got     []packet
	ndi     [radio.MaxHARQ]uint8 // of echo

	at slot.Number // of the next slot
	r  fapi.Requests
	i  fapi.Indications
}

func newBed(t testing.TB, r radio.Config, c Config) *bed {
	t.Helper()
	b := &bed{t: t, radio: r}
	c.Deliver = func(ue int, qfi uint8, p []byte) { b.got = append(b.got, packet{ue, qfi, string(p)}) }
	var err error
	if b.phy, err = New(b.radio, c, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	if b.cell, err = rrc.New(&b.radio); err != nil {
		t.Fatal(err)
	}
	b.formats = dci.New(b.cell.Grid)
	for i := range b.radio.UEs {
		end, err := bearer.New(bearer.Config{Mode: r.RLC, Numerology: r.Numerology}, func(qfi uint8, p []byte) { b.uplink = append(b.uplink, packet{i, qfi, string(p)}) })
		if err != nil {
			t.Fatal(err)
		}
		b.bearers = append(b.bearers, end)
	}
	cell, err := b.radio.Cell()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.phy.Configure(cell); err != nil {
		t.Fatal(err)
	}
	if err := b.phy.Start(); err != nil {
		t.Fatal(err)
	}
	b.r.Reset(1, 0)
	return b
}

// newAttachedBed is one whose UEs have sent their preambles and been answered. The next
// slot is the first of a frame.
func newAttachedBed(t testing.TB, r radio.Config, c Config) *bed {
	t.Helper()
	b := newBed(t, r, c)
	b.runTo(func(n slot.Number) bool { return b.cell.PRACH(n) })
	b.prach()
	b.run()
	b.runTo(func(n slot.Number) bool { return n%20 == 10 })
	b.grant(0, dci.Uplink{PRBs: 5, MCS: 10, K2: 8, HARQ: 15})
	b.grant(1, dci.Uplink{PRBStart: 5, PRBs: 5, MCS: 10, K2: 8, HARQ: 15})
	b.runTo(func(n slot.Number) bool { return n%20 == 0 })
	for i := range b.radio.UEs {
		if !b.phy.UE(i).Attached() {
			t.Fatalf("ue %d is not attached: %+v", i, b.phy.Stats())
		}
	}
	return b
}

// run runs the slot with the requests that were made for it, and begins the next one.
func (b *bed) run() *fapi.Indications {
	b.i.Reset(1, b.at)
	b.phy.Slot(&b.r, &b.i)
	b.at = b.cell.Numerology.Add(b.at, 1)
	b.r.Reset(1, b.at)
	return &b.i
}

func (b *bed) runTo(last func(slot.Number) bool) {
	for !last(b.at) {
		b.run()
	}
}

func (b *bed) runToSlot(n int) { b.runTo(func(at slot.Number) bool { return int(at)%20 == n }) }

// dci adds a DCI in a CORESET of its own, 4 CCEs for each UE.
func (b *bed) dci(ue int, payload nfapi.DCI, plus int) nfapi.PDCCHPDU {
	payload.RNTI, payload.AggregationLevel, payload.CCEIndex = b.radio.UEs[ue].RNTI, 4, uint8(8*ue+plus)
	return nfapi.PDCCHPDU{BWPSize: 106, DurationSymbols: 1, DCIs: []nfapi.DCI{payload}}
}

// assign adds DCI, PDSCH and transport block. It returns the two PDUs, to be changed.
func (b *bed) assign(ue int, m dci.Downlink, block []byte) (control *nfapi.PDCCHPDU, data *nfapi.PDSCHPDU) {
	b.t.Helper()
	s := b.cell.Slot(b.at)
	m.Symbols, m.K1 = s.PDSCH, s.K1
	var d nfapi.DCI
	if err := b.formats.PutDownlink(&d, &m); err != nil {
		b.t.Fatal(err)
	}
	index := uint16(len(b.r.DLTTI.PDUs))
	p := nfapi.PDSCHPDU{
		RNTI: b.radio.UEs[ue].RNTI, PDUIndex: index, BWPSize: 106, NrOfCodewords: 1, ResourceAlloc: 1,
		RBStart: uint16(m.PRBStart), RBSize: uint16(m.PRBs), StartSymbolIndex: uint8(s.PDSCH.Start), NrOfSymbols: uint8(s.PDSCH.Length),
	}
	p.MCSIndex[0], p.TBSize[0] = m.MCS, uint32(len(block))
	b.r.Have |= fapi.DLTTI | fapi.TXData
	b.r.DLTTI.PDUs = append(b.r.DLTTI.PDUs, nfapi.DLTTIPDU{Type: 0, PDCCH: b.dci(ue, d, 0)}, nfapi.DLTTIPDU{Type: 1, PDSCH: p})
	half := len(block) / 2
	b.r.TXData.PDUs = append(b.r.TXData.PDUs, nfapi.TXDataPDU{PDUIndex: index, TLVs: []nfapi.TXDataTLV{
		{Length: uint32(half), Payload: block[:half]}, {Length: uint32(len(block) - half), Payload: block[half:]},
	}})
	n := len(b.r.DLTTI.PDUs)
	return &b.r.DLTTI.PDUs[n-2].PDCCH, &b.r.DLTTI.PDUs[n-1].PDSCH
}

// block is a transport block for an assignment in this slot, with packets.
func (b *bed) block(ue int, m dci.Downlink, packets ...string) []byte {
	for _, p := range packets {
		if !b.bearers[ue].Send(b.radio.UEs[ue].QFI, []byte(p)) {
			b.t.Fatal("no room in the bearer")
		}
	}
	block := make([]byte, b.cell.Allocation(b.cell.Slot(b.at).PDSCH, m.PRBs, m.MCS).TransportBlock())
	b.bearers[ue].Fill(block)
	return block
}

// grant adds a grant.
func (b *bed) grant(ue int, m dci.Uplink) *nfapi.PDCCHPDU {
	b.t.Helper()
	var d nfapi.DCI
	if err := b.formats.PutUplink(&d, &m); err != nil {
		b.t.Fatal(err)
	}
	b.r.Have |= fapi.ULDCI
	b.r.ULDCI.PDUs = append(b.r.ULDCI.PDUs, nfapi.ULDCIPDU{PDCCH: b.dci(ue, d, 4)})
	return &b.r.ULDCI.PDUs[len(b.r.ULDCI.PDUs)-1].PDCCH
}

// pusch asks for what was granted.
func (b *bed) pusch(ue int, m dci.Uplink) *nfapi.PUSCHPDU {
	s := b.cell.Slot(b.at).PUSCH
	p := nfapi.PUSCHPDU{
		PDUBitmap: 1, RNTI: b.radio.UEs[ue].RNTI, Handle: 0x1000 + uint32(ue), ResourceAlloc: 1,
		RBStart: uint16(m.PRBStart), RBSize: uint16(m.PRBs), StartSymbolIndex: uint8(s.Start), NrOfSymbols: uint8(s.Length), MCSIndex: m.MCS,
	}
	p.Data.HARQProcessID = m.HARQ
	p.Data.TBSize = uint32(b.cell.Allocation(s, m.PRBs, m.MCS).TransportBlock())
	return &b.uplinkPDU(nfapi.ULTTIPDU{Type: pduPUSCH, PUSCH: p}).PUSCH
}

// feedback asks for a UE's HARQ bits, request for its scheduling request alone.
func (b *bed) feedback(ue int, sr uint8) *nfapi.PUCCHPDU {
	at := b.cell.Feedback(ue, b.at)
	return &b.uplinkPDU(nfapi.ULTTIPDU{Type: pduPUCCH, PUCCH: nfapi.PUCCHPDU{
		RNTI: b.radio.UEs[ue].RNTI, Handle: 0x2000 + uint32(ue), FormatType: at.Format, PRBStart: at.PRB, PRBSize: 1,
		StartSymbolIndex: 13, NrOfSymbols: 1, SRFlag: sr, BitLenHARQ: uint16(len(b.cell.Codebook(b.at))),
	}}).PUCCH
}

func (b *bed) request(ue int) *nfapi.PUCCHPDU {
	at := b.cell.Request(ue)
	return &b.uplinkPDU(nfapi.ULTTIPDU{Type: pduPUCCH, PUCCH: nfapi.PUCCHPDU{
		RNTI: b.radio.UEs[ue].RNTI, Handle: 0x3000 + uint32(ue), FormatType: at.Format, PRBStart: at.PRB, PRBSize: 1,
		StartSymbolIndex: 13, NrOfSymbols: 1, SRFlag: 1, InitialCyclicShift: at.CyclicShift,
	}}).PUCCH
}

func (b *bed) prach() {
	b.uplinkPDU(nfapi.ULTTIPDU{Type: pduPRACH, PRACH: nfapi.PRACHPDU{PhysCellID: 7}})
}

func (b *bed) uplinkPDU(p nfapi.ULTTIPDU) *nfapi.ULTTIPDU {
	b.r.Have |= fapi.ULTTI
	b.r.ULTTI.PDUs = append(b.r.ULTTI.PDUs, p)
	return &b.r.ULTTI.PDUs[len(b.r.ULTTI.PDUs)-1]
}

// bits are the HARQ bits of the only UCI, one octet for each, as format 0 and 1 have
// them.
func (b *bed) bits() []byte {
	b.t.Helper()
	if b.i.Have&fapi.UCI == 0 || len(b.i.UCI.UCIs) != 1 {
		b.t.Fatalf("slot %d: got %d UCIs, want 1", b.at-1, len(b.i.UCI.UCIs))
	}
	u := &b.i.UCI.UCIs[0]
	if u.Type == 1 {
		return u.Format01.HARQ.Values
	}
	h := u.Format234.HARQ
	if h.CRC != 0 {
		return nil
	}
	values := make([]byte, h.BitLen)
	for k := range values {
		values[k] = 1 - h.Payload[k/8]>>(k%8)&1
	}
	return values
}
