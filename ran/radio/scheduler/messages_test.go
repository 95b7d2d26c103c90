package scheduler_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
)

// TestMessages: what messages say of a PDSCH and of its feedback, field
// by field.
func TestMessages(t *testing.T) {
	c := config("DDDDDDDSUU", 2)
	c.Layers, c.UEs[1].RNTI = 2, 0x1234
	a, err := newAir(c, 4, 1, &core{received: make([][]uint32, 2)})
	if err != nil {
		t.Fatal(err)
	}
	attach(t, a)
	for int(a.now)%20 != 8 {
		a.tick()
	}
	a.mac.Downlink(1, 1, packet(0, 1500))
	// Slots 2 to 8 of the next pattern.
	requests := map[int]*fapi.Requests{}
	n := a.rrc.Numerology.Add(a.now, a.ahead)
	for range 7 {
		r := &fapi.Requests{}
		r.Reset(c.Numerology, n)
		a.mac.Schedule(r)
		requests[int(n)%10] = r
		n = a.rrc.Numerology.Add(n, 1)
	}
	r := requests[2]
	if r.Have != fapi.DLTTI|fapi.TXData || len(r.DLTTI.PDUs) != 2 || r.DLTTI.PDUs[0].Type != 1 || r.DLTTI.PDUs[1].Type != 0 || r.DLTTI.Slot%10 != 2 {
		t.Fatalf("slot 2 has %#x, %+v", r.Have, r.DLTTI)
	}
	want := nfapi.PDSCHPDU{
		RNTI: 0x1234, BWPSize: 106, SubcarrierSpacing: 1, NrOfCodewords: 1,
		TargetCodeRate: [2]uint16{9480}, QAMModOrder: [2]uint8{6}, MCSIndex: [2]uint8{28}, TBSize: [2]uint32{1601},
		NrOfLayers: 2, DLDMRSSymbPos: 1 << 1, NumDMRSCDMGrpsNoData: 2, DMRSPorts: 3, ResourceAlloc: 1, RBSize: 8,
		StartSymbolIndex: 1, NrOfSymbols: 13, PowerControlOffset: 8, PowerControlOffsetSS: 1,
		Maintenance: nfapi.Maintenance{LDPCBaseGraph: 1, TBSizeLBRMBytes: 23053},
	}
	if diff := cmp.Diff(want, r.DLTTI.PDUs[0].PDSCH); diff != "" {
		t.Errorf("PDSCH (-want +got):\n%s", diff)
	}
	dci := r.DLTTI.PDUs[1].PDCCH.DCIs
	if len(dci) != 1 || dci[0].RNTI != 0x1234 || dci[0].CCEIndex != 0 || r.DLTTI.PDUs[1].PDCCH.FreqDomainResource != [6]byte{0xff, 0xff, 0x80} {
		t.Errorf("PDCCH: %+v", r.DLTTI.PDUs[1].PDCCH)
	}
	if d := r.TXData.PDUs; len(d) != 1 || d[0].PDULength != 1613 || len(d[0].TLVs) != 1 || d[0].TLVs[0].Length != 1601 || len(d[0].TLVs[0].Payload) != 1601 {
		t.Errorf("TX_DATA: %+v", d)
	}
	r = requests[8]
	if r.Have != fapi.ULTTI || r.ULTTI.NULCCH != 3 || r.ULTTI.NULSCH != 0 || len(r.ULTTI.PDUs) != 3 {
		t.Fatalf("slot 8 has %#x, %+v; want a scheduling request of each UE, and the feedback of one", r.Have, r.ULTTI)
	}
	pucch := nfapi.PUCCHPDU{
		RNTI: 0x1234, Handle: 1, BWPSize: 106, SubcarrierSpacing: 1, FormatType: 2, PRBStart: 1, PRBSize: 1,
		StartSymbolIndex: 13, NrOfSymbols: 1, SRFlag: 1, BitLenHARQ: 7,
	}
	found := false
	for i := range r.ULTTI.PDUs {
		if p := &r.ULTTI.PDUs[i]; p.Type == 2 && p.PUCCH.BitLenHARQ > 0 {
			found = true
			if diff := cmp.Diff(pucch, p.PUCCH); diff != "" {
				t.Errorf("PUCCH (-want +got):\n%s", diff)
			}
		}
	}
	if !found {
		t.Error("no PUCCH for the feedback")
	}
}
