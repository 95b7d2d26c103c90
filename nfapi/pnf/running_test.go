package pnf

import (
	"fmt"
	"slices"
	"testing"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/nfapi/stopwatch"
)

// TestSlots: each slot is carried out once, in order, with its requests, over the wrap
// of the SFN, and SLOT.indication is so many slots ahead.
func TestSlots(t *testing.T) {
	for mu := range slot.MaxNumerology + 1 {
		t.Run(fmt.Sprint("mu", mu), func(t *testing.T) {
			first := mu.Add(0, -20)
			b := newBed(t, mu, first)
			b.start()
			b.slots(2)
			b.wire.take()
			b.layer.slots = nil
			for d := range 40 {
				n := mu.Add(first, d)
				b.request(ulTTI(mu, mu.Add(n, d%bedWindow)))
				b.slots(1)
				got := b.wire.take()
				if len(got) != 1 || got[0].id != nfapi.MsgSlotIndication || got[0].phy != bedID || got[0].to != vnfAddress || !got[0].flushed {
					t.Fatalf("at slot %s: sent %+v, want one SLOT.indication", mu.String(n), got)
				}
				var m nfapi.SlotIndication
				if err := m.DecodeBody(nfapi.OAI2025, got[0].body); err != nil {
					t.Fatal(err)
				}
				if at, _ := mu.Number(m.SFN, m.Slot); at != mu.Add(n, bedAhead) {
					t.Fatalf("at slot %s: SLOT.indication %d.%d", mu.String(n), m.SFN, m.Slot)
				}
				if want := max(mu.Micros(n), 1); got[0].timestamp != want {
					t.Errorf("at slot %s: time stamp %d, want %d", mu.String(n), got[0].timestamp, want)
				}
			}
			for d, ran := range b.layer.slots {
				if want := mu.Add(first, d); ran.n != want {
					t.Fatalf("slot %d is %s, want %s", d, mu.String(ran.n), mu.String(want))
				}
			}
			if len(b.layer.slots) != 40 {
				t.Errorf("%d slots, want 40", len(b.layer.slots))
			}
		})
	}
}

// TestRequestMeetsItsSlot: requests that come at any time before their slot are there
// when it begins, and no other.
func TestRequestMeetsItsSlot(t *testing.T) {
	const mu = slot.Numerology(1)
	b := newBed(t, mu, 0)
	b.start()
	b.slots(2) // now in the middle of slot -1
	b.layer.slots = nil
	b.request(ulTTI(mu, 0))
	b.request(ulTTI(mu, 2))
	b.request(dlTTI(mu, 2))
	b.request(&nfapi.ULDCIRequest{Slot: 2})
	b.request(ulTTI(mu, bedWindow-1))
	b.slots(bedWindow)
	want := make([]ran, bedWindow)
	for n := range want {
		want[n].n = slot.Number(n)
	}
	want[0].have, want[2].have, want[bedWindow-1].have = fapi.ULTTI, fapi.ULTTI|fapi.DLTTI|fapi.ULDCI, fapi.ULTTI
	if !slices.Equal(b.layer.slots, want) {
		t.Errorf("got %v, want %v", b.layer.slots, want)
	}
}

// TestVerdicts: what is not good is counted and reported with its slot and code, and
// the PHY does not see it.
func TestVerdicts(t *testing.T) {
	const mu = slot.Numerology(1)
	body := func(m nfapi.Message) []byte {
		b := make([]byte, 1<<12)
		n, err := m.EncodeBody(nfapi.OAI2025, b)
		if err != nil {
			t.Fatal(err)
		}
		return b[:n]
	}
	for _, test := range []struct {
		name    string
		id      nfapi.MessageID
		body    []byte
		twice   bool
		verdict stopwatch.Verdict
		report  errorReport
	}{
		{name: "on time", id: nfapi.MsgULTTIRequest, body: body(ulTTI(mu, 0))},
		{
			name: "late by a slot", id: nfapi.MsgULTTIRequest, body: body(ulTTI(mu, 20479)), verdict: stopwatch.Late,
			report: errorReport{sfn: 1023, slot: 19, message: nfapi.MsgULTTIRequest, code: codeOutOfSync},
		},
		{
			name: "late by 30 slots", id: nfapi.MsgDLTTIRequest, body: body(dlTTI(mu, 20450)), verdict: stopwatch.Late,
			report: errorReport{sfn: 1022, slot: 10, message: nfapi.MsgDLTTIRequest, code: codeOutOfSync},
		},
		{
			name: "beyond the window", id: nfapi.MsgTXDataRequest, body: body(txData(mu, bedWindow, 9)), verdict: stopwatch.Early,
			report: errorReport{slot: bedWindow, message: nfapi.MsgTXDataRequest, code: codeInvalidSFN},
		},
		{
			name: "twice", id: nfapi.MsgULTTIRequest, body: body(ulTTI(mu, 0)), twice: true, verdict: stopwatch.Duplicate,
		},
		{
			name: "no such slot", id: nfapi.MsgULTTIRequest, body: body(&nfapi.ULTTIRequest{SFN: 0, Slot: 20}), verdict: stopwatch.Invalid,
			report: errorReport{slot: 20, message: nfapi.MsgULTTIRequest, code: codeInvalidSFN},
		},
		{
			name: "no such sfn", id: nfapi.MsgULTTIRequest, body: body(&nfapi.ULTTIRequest{SFN: 1024}), verdict: stopwatch.Invalid,
			report: errorReport{sfn: 1024, message: nfapi.MsgULTTIRequest, code: codeInvalidSFN},
		},
		{
			name: "empty", id: nfapi.MsgULTTIRequest, verdict: stopwatch.Invalid,
			report: errorReport{message: nfapi.MsgULTTIRequest, code: codeInvalidSFN},
		},
		{
			name: "dl_tti cut off", id: nfapi.MsgDLTTIRequest, body: []byte{0, 0, 0, 1, 7, 0}, verdict: stopwatch.Invalid,
			report: errorReport{slot: 1, message: nfapi.MsgDLTTIRequest, code: codeSlotError},
		},
		{
			name: "ul_dci cut off", id: nfapi.MsgULDCIRequest, body: []byte{0, 0, 0, 1, 7}, verdict: stopwatch.Invalid,
			report: errorReport{slot: 1, message: nfapi.MsgULDCIRequest, code: codeULDCIError},
		},
		{
			name: "tx_data cut off", id: nfapi.MsgTXDataRequest, body: []byte{0, 0, 0, 1, 0, 7}, verdict: stopwatch.Invalid,
			report: errorReport{slot: 1, message: nfapi.MsgTXDataRequest, code: codeTXError},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBed(t, mu, 0)
			b.start()
			b.slots(2) // slot 20479 runs
			b.layer.slots = nil
			if test.twice {
				b.octets(test.id, test.body, 0)
			}
			b.octets(test.id, test.body, 0)
			if got := b.phy.counts.requests[test.verdict].Load(); got != 1 {
				t.Errorf("%d are %v, want 1", got, test.verdict)
			}
			if got := b.phy.watch.Snapshot("").Message(test.id).Counts; verdictIn(got, test.verdict) != 1 {
				t.Errorf("the stopwatch has %+v, want 1 %v", got, test.verdict)
			}
			var want []errorReport
			if test.report.code != codeOK {
				test.report.phy = bedID
				want = []errorReport{test.report}
			}
			got := b.reported()
			for i := range got {
				got[i].err = nil
			}
			if !slices.Equal(got, want) {
				t.Errorf("reported %+v, want %+v", got, want)
			}
			b.slots(bedWindow + 2)
			for _, r := range b.layer.slots {
				if good := test.verdict == stopwatch.OnTime || test.twice; r.have != 0 && !(good && r.n == 0) {
					t.Errorf("slot %d has %b", r.n, r.have)
				}
			}
		})
	}
}

func verdictIn(c stopwatch.Counts, v stopwatch.Verdict) uint64 {
	return [...]uint64{c.OnTime, c.Late, c.Early, c.Duplicate, c.Invalid, c.Unpaired}[v]
}

// TestPair: DL_TTI.request with a PDSCH and TX_DATA.request are of use together only.
func TestPair(t *testing.T) {
	const mu = slot.Numerology(1)
	for _, test := range []struct {
		name   string
		send   []nfapi.Message
		have   fapi.Have
		report nfapi.MessageID
	}{
		{name: "both", send: []nfapi.Message{dlTTI(mu, 0, 1), txData(mu, 0, 9)}, have: fapi.DLTTI | fapi.TXData},
		{name: "data first", send: []nfapi.Message{txData(mu, 0, 9), dlTTI(mu, 0, 0, 1)}, have: fapi.DLTTI | fapi.TXData},
		{name: "ssb alone", send: []nfapi.Message{dlTTI(mu, 0, 3)}, have: fapi.DLTTI},
		{name: "pdsch alone", send: []nfapi.Message{dlTTI(mu, 0, 0, 1)}, report: nfapi.MsgDLTTIRequest},
		{name: "data alone", send: []nfapi.Message{txData(mu, 0, 9), ulTTI(mu, 0)}, have: fapi.ULTTI, report: nfapi.MsgTXDataRequest},
		{name: "data and ssb", send: []nfapi.Message{txData(mu, 0, 9), dlTTI(mu, 0, 3)}, have: fapi.DLTTI, report: nfapi.MsgTXDataRequest},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBed(t, mu, 0)
			b.start()
			b.slots(2)
			b.layer.slots = nil
			for _, m := range test.send {
				b.request(m)
			}
			b.slots(2)
			if want := []ran{{0, test.have}, {1, 0}}; !slices.Equal(b.layer.slots, want) {
				t.Errorf("got %v, want %v", b.layer.slots, want)
			}
			var want []errorReport
			if test.report != 0 {
				want = []errorReport{{phy: bedID, message: test.report, code: codeTXError}}
			}
			if got := b.reported(); !slices.Equal(got, want) {
				t.Errorf("reported %+v, want %+v", got, want)
			}
		})
	}
}

// TestIndicationsFirst: what the PHY says about a slot is sent when it has ended, before
// SLOT.indication of that tick.
func TestIndicationsFirst(t *testing.T) {
	const mu = slot.Numerology(1)
	b := newBed(t, mu, 0)
	b.layer.answer = func(n slot.Number, i *fapi.Indications) {
		if i.Have != 0 || i.At != n || len(i.CRC.CRCs) != 0 {
			t.Errorf("slot %d begins with indications %b of %d", n, i.Have, i.At)
		}
		if n == 1 {
			i.Have = fapi.RXData | fapi.CRC | fapi.UCI | fapi.RACH | fapi.SRS
			i.CRC.CRCs = append(i.CRC.CRCs, nfapi.CRC{RNTI: 7})
		}
	}
	b.start()
	b.slots(5) // until slot 2
	var got []string
	for _, s := range b.wire.take() {
		sfn, n, _ := nfapi.OAI2025.PeekSlot(s.id, s.body)
		got = append(got, fmt.Sprintf("%v %d.%d", s.id, sfn, n))
	}
	want := []string{
		"SLOT.indication 0.1", "SLOT.indication 0.2", "SLOT.indication 0.3", "SLOT.indication 0.4",
		"UCI.indication 0.1", "CRC.indication 0.1", "RX_DATA.indication 0.1", "RACH.indication 0.1", "SRS.indication 0.1", "SLOT.indication 0.5",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestStopStart: between STOP and START no slot runs and requests are refused; after it
// nothing of before is left.
func TestStopStart(t *testing.T) {
	const mu = slot.Numerology(1)
	b := newBed(t, mu, 0)
	for round := range 3 {
		b.layer.slots = nil
		b.start()
		b.slots(4)
		if got := len(b.layer.slots); got != 4 {
			t.Errorf("round %d: %d slots, want 4", round, got)
		}
		now, _ := b.phy.running.Load().line.Slot(b.time.Now())
		b.request(ulTTI(mu, mu.Add(now, 6)))
		b.phy.halt()
		b.wire.take()
		b.slots(3)
		b.request(ulTTI(mu, mu.Add(now, 6)))
		b.request(&nfapi.DLNodeSync{})
		if got := b.reported(); len(got) != 1 || got[0].code != codeInvalidState {
			t.Errorf("round %d: reported %+v, want INVALID_STATE", round, got)
		}
		if got := b.wire.take(); len(got) != 0 || len(b.layer.slots) != 4 {
			t.Errorf("round %d: %d messages and %d slots after STOP", round, len(got), len(b.layer.slots))
		}
		for _, r := range b.layer.slots {
			if r.have != 0 {
				t.Errorf("round %d: slot %d has %b, of before", round, r.n, r.have)
			}
		}
	}
	if want := []string{"configure", "start", "stop", "start", "stop", "start", "stop"}; !slices.Equal(b.layer.calls, want) {
		t.Errorf("the phy was told %q, want %q", b.layer.calls, want)
	}
}
