package phy

import (
	"bytes"
	"testing"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/ran/radio/dci"
)

// FuzzSlot gives the PHY whatever the codec lets through. Each PUSCH and PUCCH PDU has
// one answer, whatever it says; each UE is received at most once; and all of it can be
// encoded.
func FuzzSlot(f *testing.F) {
	seed := newAttachedBed(f, testRadio(), Config{})
	seed.assign(0, wholeCarrier, seed.block(0, wholeCarrier, "x"))
	seed.grant(1, dci.Uplink{PRBs: 10, MCS: 5, K2: 8})
	seed.feedback(0, 1)
	seed.request(1)
	seed.pusch(0, wholeUplink)
	seed.prach()
	f.Add(body(f, &seed.r.DLTTI), body(f, &seed.r.TXData), body(f, &seed.r.ULDCI), body(f, &seed.r.ULTTI), uint8(8))
	f.Add([]byte{}, []byte{}, []byte{}, []byte{}, uint8(3))
	bed := newAttachedBed(f, testRadio(), Config{CRCFailureDownlink: 0.1, CRCFailureUplink: 0.1})
	f.Fuzz(func(t *testing.T, dl, tx, uldci, ul []byte, slots uint8) {
		b := bed
		b.t = t
		for range slots % 21 {
			b.run()
		}
		// A message that cannot be decoded does not come.
		for _, m := range []struct {
			have    fapi.Have
			message nfapi.Message
			octets  []byte
		}{
			{fapi.DLTTI, &b.r.DLTTI, dl}, {fapi.TXData, &b.r.TXData, tx}, {fapi.ULDCI, &b.r.ULDCI, uldci}, {fapi.ULTTI, &b.r.ULTTI, ul},
		} {
			if m.message.DecodeBody(nfapi.OAI2025, m.octets) == nil {
				b.r.Have |= m.have
			}
		}
		pusch, pucch := asked(&b.r)
		i := b.run()
		check(t, i, pusch, pucch)
		for range 40 { // what it was told takes effect
			b.run()
		}
	})
}

var room [1 << 20]byte

func body(t testing.TB, m nfapi.Message) []byte {
	t.Helper()
	n, err := m.EncodeBody(nfapi.OAI2025, room[:])
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Clone(room[:n])
}

// asked counts the PUSCH and PUCCH PDUs that have to be answered.
func asked(r *fapi.Requests) (pusch, pucch int) {
	if r.Have&fapi.ULTTI == 0 {
		return 0, 0
	}
	for _, d := range r.ULTTI.PDUs {
		switch {
		case d.Type == pduPUSCH && d.PUSCH.PDUBitmap&1 != 0:
			pusch++
		case d.Type == pduPUCCH && d.PUCCH.BitLenHARQ <= 8:
			pucch++
		}
	}
	return pusch, pucch
}

func check(t *testing.T, i *fapi.Indications, pusch, pucch int) {
	t.Helper()
	if len(i.CRC.CRCs) != pusch || len(i.UCI.UCIs) != min(pucch, maxUCIs) {
		t.Fatalf("%d CRCs for %d PUSCHs, %d UCIs for %d PUCCHs", len(i.CRC.CRCs), pusch, len(i.UCI.UCIs), pucch)
	}
	if len(i.RXData.PDUs) > 2 || i.Have&fapi.RXData != 0 != (len(i.RXData.PDUs) > 0) {
		t.Fatalf("%d transport blocks of 2 UEs", len(i.RXData.PDUs))
	}
	body(t, &i.RXData)
	body(t, &i.CRC)
	body(t, &i.UCI)
	body(t, &i.RACH)
}
