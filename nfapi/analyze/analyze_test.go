package analyze

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/nfapi/stopwatch"
)

// TestClean: nothing is wrong with a capture in which nothing is, also where the SFN
// comes round.
func TestClean(t *testing.T) {
	r := newRecording(t)
	const slots = 400
	r.ticks(slots)
	for i := range slots - r.ahead - 2 {
		switch i % 10 {
		case 8:
			r.pusch(i, 100*us, uint8(i/10%16), 0)
			r.crc(i, uint8(i/10%16), 0)
			r.rxData(i, uint8(i/10%16))
		case 9:
			r.feedback(i, 0, 0, 0, 0, 0, 0, 0, 0)
		default:
			r.downlink(i, 100*us, 0)
		}
	}
	a := r.analysis(Options{SlotAhead: -1})
	if len(a.Cells) != 1 || a.Undecoded+a.WrongChecksums+a.LeftOut != 0 || a.Messages != len(r.packets) {
		t.Fatalf("got %+v", a)
	}
	c := a.Cells[0]
	if c.VNF != "10.0.0.1" || c.PNF != "10.0.0.2:50010" || c.PHY != 1 || c.Numerology != 1 || c.SlotAhead != 4 || len(c.Findings) != 0 || c.Broken != (Broken{}) {
		t.Errorf("got %+v", c)
	}
	if got := c.Ticks; got.Count != slots || got.Missing+got.Repeated+got.Backwards != 0 || got.Interval.Min != int64(500*us) || got.Interval.Max != int64(500*us) {
		t.Errorf("got %+v", got)
	}
	for _, one := range c.Requests {
		// What is asked for 100 us after the SLOT.indication comes 1900 us before that of
		// the slot which is 4 slots later.
		want := 1900 * us
		if one.Message == "TX_DATA.request" {
			want -= 5 * us
		}
		if one.Counts.Came() != one.Counts.OnTime || one.Lead.Min != int64(want) || one.Lead.Max != int64(want) || one.Response.Min != int64(2000*us-want) {
			t.Errorf("%s: got %+v, lead %v to %v", one.Message, one.Counts, one.Lead.Min, one.Lead.Max)
		}
	}
	if got, want := len(c.Requests), 3; got != want {
		t.Errorf("got %d types of requests, want %d", got, want)
	}
	for _, way := range c.Ways {
		if way.Delay.Max != 0 || way.Delay.Min != 0 || way.JitterNS != 0 {
			t.Errorf("%s: got delays of %v to %v, jitter %d", way.Message, way.Delay.Min, way.Delay.Max, way.JitterNS)
		}
	}
	if c.ToPNF.Lost+c.ToPNF.Duplicate+c.ToVNF.Lost+c.ToVNF.Duplicate+c.ToVNF.Reordered != 0 {
		t.Errorf("got %+v, %+v", c.ToPNF, c.ToVNF)
	}
	// Of slots 0 to 394 eight in ten, one in ten and one in ten; those judged are 0 to 395.
	if want := (Blocks{Blocks: 316, Octets: 31600, Good: 312}); c.Downlink != want || c.BitsWithoutPDSCH != 0 {
		t.Errorf("got %+v, %d bits without PDSCH, want %+v", c.Downlink, c.BitsWithoutPDSCH, want)
	}
	if want := (Blocks{Blocks: 39, Octets: 1950, Good: 39}); c.Uplink != want {
		t.Errorf("got %+v, want %+v", c.Uplink, want)
	}
}

// TestFaults: each fault is found, once, where it is.
func TestFaults(t *testing.T) {
	r := newRecording(t)
	const slots = 200
	r.ticks(slots, 40, 41)
	sfn, s := r.slot(50)
	r.send(toVNF, r.tick(50)+100*us, 0, &nfapi.SlotIndication{SFN: sfn, Slot: s})
	sfn, s = r.slot(45)
	r.send(toVNF, r.tick(50)+110*us, 0, &nfapi.SlotIndication{SFN: sfn, Slot: s})

	r.downlink(10, 2005*us, 0)                     // both parts late, by 5 and 10 us
	r.downlink(20, 100*us, 2)                      // sent again
	r.block(30, 100*us)                            // nothing asks for it
	r.pusch(60, 100*us, 3, 0)                      // bad CRC
	r.crc(60, 3, 1)                                //
	r.pusch(70, 100*us, 3, 2)                      // no CRC
	r.pusch(80, 100*us, 3, 3)                      // no data
	r.crc(80, 3, 0)                                //
	r.crc(81, 5, 0)                                // nothing asked for
	r.pucch(90)                                    // no UCI
	r.pucch(100)                                   //
	r.uci(100, 0, 0, 1, 2)                         //
	r.pusch(110, 100*us, 1, 0)                     // twice
	r.pusch(110, 101*us, 1, 0)                     //
	r.crc(110, 1, 0)                               //
	r.rxData(110, 1)                               //
	r.pusch(140, 100*us-35*time.Millisecond, 1, 0) // 70 slots early
	sfn, s = r.slot(120)
	dl := &nfapi.DLTTIRequest{SFN: sfn, Slot: s, PDUs: []nfapi.DLTTIPDU{{Type: typePDSCH, PDSCH: nfapi.PDSCHPDU{RNTI: rnti, PDUIndex: 1, NrOfCodewords: 1}}}}
	r.send(toPNF, r.tick(120)+100*us, 0, dl) // no block
	sfn, s = r.slot(121)
	r.send(toPNF, r.tick(121)+100*us, 0, &nfapi.ULDCIRequest{SFN: sfn, Slot: s}, func(b []byte) { b[10] ^= 1 }) // checksum
	r.send(toPNF, r.tick(122), 0, &nfapi.Opaque{ID: nfapi.MsgDLTTIRequest, Body: []byte{0, 1, 0, 2, 9, 0}})     // cut short
	r.send(toPNF, r.tick(123), 0, &nfapi.DLTTIRequest{SFN: 1024, Slot: 0})
	r.lose = 3
	r.send(toPNF, r.tick(124), 0, &nfapi.DLNodeSync{})
	a := r.analysis(Options{SlotAhead: 4})
	c := a.Cells[0]
	if want := (Broken{DLTTIWithoutTXData: 1, TXDataWithoutDLTTI: 1, PUSCHWithoutCRC: 1, CRCWithoutPUSCH: 1, GoodWithoutRXData: 1, PUCCHWithoutUCI: 1}); c.Broken != want {
		t.Errorf("got %+v, want %+v", c.Broken, want)
	}
	counts := map[string]stopwatch.Counts{}
	for _, one := range c.Requests {
		counts[one.Message] = one.Counts
	}
	want := map[string]stopwatch.Counts{
		"DL_TTI.request":  {OnTime: 2, Late: 1, Unpaired: 1, Invalid: 1},
		"TX_DATA.request": {OnTime: 2, Late: 1, Unpaired: 1},
		"UL_TTI.request":  {OnTime: 6, Early: 1, Duplicate: 1},
		"UL_DCI.request":  {Invalid: 1},
	}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Error(diff)
	}
	if c.Requests[0].Lead.Min != int64(-5*us) {
		t.Errorf("got a lead of %d, want -5 us", c.Requests[0].Lead.Min)
	}
	c.Ticks.Interval = nil
	if want := (Ticks{Count: slots, Missing: 2, Repeated: 2}); c.Ticks != want {
		t.Errorf("got %+v, want %+v", c.Ticks, want)
	}
	if c.ToPNF.Lost != 3+2 { // what is not valid has no number that is believed
		t.Errorf("got %+v", c.ToPNF)
	}
	if want := (Blocks{Blocks: 2, Octets: 100, Again: 1}); c.Downlink != want || c.BitsWithoutPDSCH != 3 {
		t.Errorf("got %+v, %d bits without PDSCH, want %+v, 3", c.Downlink, c.BitsWithoutPDSCH, want)
	}
	if want := (Blocks{Blocks: 4, Octets: 100, Again: 2, Good: 3, Bad: 1, Uncertain: 1}); c.Uplink != want {
		t.Errorf("got %+v, want %+v", c.Uplink, want)
	}
	if len(c.UEs) != 1 || c.UEs[0].HARQ[3] != (Blocks{Blocks: 3, Octets: 50, Again: 2, Good: 1, Bad: 1, Uncertain: 1}) {
		t.Errorf("got %+v", c.UEs[0].HARQ[3])
	}
	if a.WrongChecksums != 1 || a.Undecoded != 1 {
		t.Errorf("got %+v", a)
	}
	var texts []string
	for _, f := range c.Findings {
		texts = append(texts, f.Slot+" "+f.Text)
	}
	wantTexts := []string{
		"1.12 2 SLOT.indications are missing before", "2.0 SLOT.indication again", "1.15 SLOT.indication again",
		"6.10 UL_TTI.request 70 slots from the newest SLOT.indication",
		"3.11 CRC of RNTI 0x4601 without PUSCH", "5.0 UL_TTI.request again",
		" UL_DCI.request of 5 octets: wrong checksum",
		" DL_TTI.request of 6 octets: nfapi: DL_TTI.request: DLTTIRequest.pdus at octet 6 of the body: 9 elements in 0 octets: truncated",
		"1024.0 DL_TTI.request: numerology 1 has no such slot",
		// The others when all is there that could have come.
		"0.0 DL_TTI.request is 5µs late", "0.0 TX_DATA.request is 10µs late", "1.0 TX_DATA.request without DL_TTI.request",
		"3.0 PUSCH of RNTI 0x4601, HARQ process 3: no CRC.indication", "3.10 PUSCH of RNTI 0x4601, HARQ process 3: good CRC, no RX_DATA.indication",
		"4.0 PUCCH of RNTI 0x4601: no UCI.indication", "5.10 DL_TTI.request with 1 PDSCH, no TX_DATA.request",
	}
	if diff := cmp.Diff(wantTexts, texts); diff != "" {
		t.Error(diff)
	}
}

// TestAccess: an SR waits for its grant, its block and the CRC.
func TestAccess(t *testing.T) {
	r := newRecording(t)
	r.ticks(200)
	r.pucch(10)
	r.uci(10, 1)
	r.pucch(20) // asks again
	r.uci(20, 1)
	r.grant(22)
	r.pusch(24, 100*us, 0, 0)
	r.crc(24, 0, 0)
	r.rxData(24, 0)
	r.pusch(40, 100*us, 0, 0) // nobody waits any more
	r.crc(40, 0, 0)
	r.rxData(40, 0)
	c := r.analysis(Options{SlotAhead: -1}).Cells[0]
	q := c.Requested
	if q.Count != 2 || q.Repeated != 1 || q.ToGrant.Total() != 1 || q.ToCRC.Total() != 1 {
		t.Fatalf("got %+v", q)
	}
	request, grant, crc := r.ended(10), r.tick(22)+140*us, r.ended(24)
	if got := [3]time.Duration{q.ToGrant.Quantile(0), q.GrantToCRC.Quantile(0), q.ToCRC.Quantile(0)}; got != [3]time.Duration{grant - request, crc - grant, crc - request} {
		t.Errorf("got %v", got)
	}
	if len(c.Findings) > 0 || c.UEs[0].Requests != 2 {
		t.Errorf("got %+v", c.Findings)
	}
}

// TestSlotAhead: without time stamps the lead is not made up; who knows it says so.
func TestSlotAhead(t *testing.T) {
	r := newRecording(t)
	r.stamped = false
	r.ticks(100)
	r.downlink(30, 100*us, 0)
	for given, want := range map[int]int{-1: -1, 2: 2} {
		c := r.analysis(Options{SlotAhead: given}).Cells[0]
		lead := c.Requests[0].Lead
		if c.SlotAhead != want || (lead.Total() == 0) != (want < 0) || len(c.Ways) != 0 || c.Requests[0].Counts.OnTime != 1 {
			t.Errorf("given %d: got %d, lead %+v, ways %v", given, c.SlotAhead, lead, c.Ways)
		}
		if want == 2 && lead.Min != int64(900*us) {
			t.Errorf("got a lead of %d", lead.Min)
		}
	}
}

// TestNumerology: by the spacing of a PDU, or by the slots of a frame.
func TestNumerology(t *testing.T) {
	for mu := range slot.MaxNumerology + 1 {
		r := newRecording(t)
		r.mu, r.first = mu, 0
		r.ticks(mu.PerFrame())
		if got := r.analysis(Options{SlotAhead: -1}).Cells[0].Numerology; got != uint8(mu) {
			t.Errorf("by slots: got %d, want %d", got, mu)
		}
		r = newRecording(t)
		r.mu, r.first = mu, 0
		r.ticks(3)
		r.downlink(1, us, 0)
		if got := r.analysis(Options{SlotAhead: -1}).Cells[0].Numerology; got != uint8(mu) {
			t.Errorf("by a PDU: got %d, want %d", got, mu)
		}
	}
}

// TestDelays: jitter and delays above the least, whatever the capture's clock shows, also
// where time stamps come round.
func TestDelays(t *testing.T) {
	r := newRecording(t)
	for i := range 100 {
		sfn, s := r.slot(i)
		delay := 30 * us
		if i%2 == 1 {
			delay += 16 * us
		}
		r.send(toVNF, r.tick(i)+delay, delay, &nfapi.SlotIndication{SFN: sfn, Slot: s})
	}
	c := r.analysis(Options{SlotAhead: -1}).Cells[0]
	if len(c.Ways) != 1 || c.Ways[0].Delay.Min != 0 || c.Ways[0].Delay.Max != int64(16*us) || c.SlotAhead != 4 {
		t.Fatalf("got %+v", c.Ways)
	}
	if got := c.Ways[0].JitterNS; got < 15_500 || got > 16_000 { // J goes to |D| = 16 us
		t.Errorf("got a jitter of %d", got)
	}
}

// TestLongGap: a capture with a hole does not lose what was before it.
func TestLongGap(t *testing.T) {
	r := newRecording(t)
	r.ticks(50)
	r.block(45, 100*us)
	sfn, s := r.slot(5000)
	r.send(toVNF, r.tick(5000), 0, &nfapi.SlotIndication{SFN: sfn, Slot: s})
	sfn, s = r.slot(5060)
	r.send(toPNF, r.tick(5000)+us, 0, &nfapi.ULDCIRequest{SFN: sfn, Slot: s}) // far ahead
	sfn, s = r.slot(5001)
	r.send(toVNF, r.tick(5001), 0, &nfapi.SlotIndication{SFN: sfn, Slot: s})
	c := r.analysis(Options{SlotAhead: 4}).Cells[0]
	if c.Ticks.Missing != 4950 || c.Broken.TXDataWithoutDLTTI != 1 || c.Requests[0].Message != "TX_DATA.request" {
		t.Errorf("got %+v, %+v, %+v", c.Ticks, c.Broken, c.Requests)
	}
}

// TestCutShort: of a capture that ends within a packet, what comes before is analyzed.
func TestCutShort(t *testing.T) {
	r := newRecording(t)
	r.ticks(50)
	file := r.file()
	a, err := Read(bytes.NewReader(file[:len(file)-5]), Options{})
	if err != nil || !a.CutShort || len(a.Cells) != 1 || a.Cells[0].Ticks.Count != 49 {
		t.Errorf("got %+v, %v", a, err)
	}
	if _, err := Read(bytes.NewReader(file[:10]), Options{}); err == nil {
		t.Error("no error for half a header of a file")
	}
}

// FuzzRead: no capture ends the analysis; what it says is JSON and text, and no request
// is counted twice.
func FuzzRead(f *testing.F) {
	r := newRecording(f)
	r.ticks(6)
	r.downlink(1, us, 0)
	r.pusch(2, us, 0, 0)
	r.crc(2, 0, 0)
	r.uci(2, 1)
	f.Add(r.file(), -1)
	f.Add(r.file(), 3)
	f.Fuzz(func(t *testing.T, b []byte, ahead int) {
		a, err := Read(bytes.NewReader(b), Options{SlotAhead: ahead, P5Ports: []uint16{50001}})
		if err != nil {
			return
		}
		if _, err := json.Marshal(a); err != nil {
			t.Error(err)
		}
		if err := a.Print(&bytes.Buffer{}); err != nil {
			t.Error(err)
		}
		for _, c := range a.Cells {
			came := uint64(0)
			for _, one := range c.Requests {
				came += one.Counts.Came()
			}
			if came > uint64(a.Messages+a.Undecoded+a.WrongChecksums) || len(c.Findings) > maxFindings {
				t.Errorf("%d requests of %d messages, %d findings", came, a.Messages, len(c.Findings))
			}
		}
	})
}
