package phy

import (
	"bytes"
	"slices"
	"testing"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/ran/radio/dci"
)

var wholeUplink = dci.Uplink{PRBs: 94, MCS: 20, K2: 2}

// TestUplink grants slot 8 by a DCI in slot 6: a packet that comes before slot 7 begins
// is in the transport block.
func TestUplink(t *testing.T) {
	type received = int
	const (
		good received = iota
		bad           // CRC failure
	)
	for _, tc := range []struct {
		name   string
		change func(b *bed, p *nfapi.PUSCHPDU)
		want   received
	}{
		{"as granted", func(*bed, *nfapi.PUSCHPDU) {}, good},
		{"other PRBs", func(_ *bed, p *nfapi.PUSCHPDU) { p.RBStart++ }, bad},
		{"another size", func(_ *bed, p *nfapi.PUSCHPDU) { p.Data.TBSize++ }, bad},
		{"another MCS", func(_ *bed, p *nfapi.PUSCHPDU) { p.MCSIndex++ }, bad},
		{"another process", func(_ *bed, p *nfapi.PUSCHPDU) { p.Data.HARQProcessID = 3 }, bad},
		{"other symbols", func(_ *bed, p *nfapi.PUSCHPDU) { p.NrOfSymbols-- }, bad},
		{"another UE", func(_ *bed, p *nfapi.PUSCHPDU) { p.RNTI = 0x4602 }, bad},
		{"an unknown UE", func(_ *bed, p *nfapi.PUSCHPDU) { p.RNTI = 0x4603 }, bad},
		{"CRC failure", func(b *bed, _ *nfapi.PUSCHPDU) { b.phy.config.CRCFailureUplink = 1 }, bad},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newAttachedBed(t, testRadio(), Config{})
			b.runToSlot(6)
			b.grant(0, wholeUplink)
			b.run()
			b.send(0, "in time")
			b.run()
			b.send(0, "too late")
			p := b.pusch(0, wholeUplink)
			tc.change(b, p)
			i := b.run()
			c := i.CRC.CRCs[0]
			if i.Have&fapi.CRC == 0 || len(i.CRC.CRCs) != 1 || int(c.TBCRCStatus) != tc.want || c.Handle != p.Handle || c.RNTI != p.RNTI || c.HARQID != p.Data.HARQProcessID {
				t.Fatalf("got CRC %+v, want status %d of %+v", i.CRC.CRCs, tc.want, p)
			}
			if has := i.Have&fapi.RXData != 0; has != (tc.want == good) {
				t.Fatalf("RX_DATA: %v", has)
			}
			if tc.want != good {
				return
			}
			d := i.RXData.PDUs[0]
			if d.Handle != p.Handle || d.RNTI != p.RNTI || d.PDULength != p.Data.TBSize || len(d.Payload) != int(p.Data.TBSize) {
				t.Errorf("got %+v with %d octets, want those of %+v", d, len(d.Payload), p)
			}
			b.receive(0, d.Payload)
			if want := []packet{{0, 9, "in time"}}; !slices.Equal(b.uplink, want) {
				t.Errorf("got %v, want %v", b.uplink, want)
			}
		})
	}
}

func (b *bed) send(ue int, p string) {
	b.t.Helper()
	if !b.phy.UE(ue).Send([]byte(p)) {
		b.t.Fatal("no room in the UE's bearer")
	}
}

func (b *bed) receive(ue int, block []byte) {
	b.t.Helper()
	if _, err := b.bearers[ue].Receive(block); err != nil {
		b.t.Fatal(err)
	}
}

// TestPUSCHNotAsked: what is granted, but not listened for, is lost; what is listened
// for, but was not granted, is a CRC failure.
func TestPUSCHNotAsked(t *testing.T) {
	b := newAttachedBed(t, testRadio(), Config{})
	b.runToSlot(6)
	b.grant(0, wholeUplink)
	b.runToSlot(8)
	if i := b.run(); i.Have != 0 {
		t.Errorf("got %b, want no indication", i.Have)
	}
	b.pusch(0, wholeUplink)
	if i := b.run(); i.Have != fapi.CRC || i.CRC.CRCs[0].TBCRCStatus != 1 {
		t.Errorf("got %b, %+v, want a CRC failure", i.Have, i.CRC.CRCs)
	}
}

// TestHARQUplink: a transport block is sent again unchanged as long as NDI is the same,
// and packets of later go into the next one.
func TestHARQUplink(t *testing.T) {
	b := newAttachedBed(t, testRadio(), Config{})
	m := wholeUplink
	m.HARQ = 3
	turn := func(failure float64) []byte {
		b.runToSlot(6)
		b.grant(0, m)
		b.runToSlot(8)
		b.phy.config.CRCFailureUplink = failure
		b.pusch(0, m)
		i := b.run()
		if got := float64(i.CRC.CRCs[0].TBCRCStatus); got != failure {
			t.Fatalf("CRC status %v, want %v", got, failure)
		}
		if failure != 0 {
			return nil
		}
		return bytes.Clone(i.RXData.PDUs[0].Payload)
	}
	b.send(0, "one")
	turn(1)
	b.send(0, "two")
	first := turn(0)
	b.receive(0, first)
	if want := []packet{{0, 9, "one"}}; !slices.Equal(b.uplink, want) {
		t.Fatalf("got %v, want %v", b.uplink, want)
	}
	if again := turn(0); !bytes.Equal(again, first) {
		t.Error("another transport block with the same NDI")
	}
	m.NDI ^= 1
	b.receive(0, turn(0))
	if want := []packet{{0, 9, "one"}, {0, 9, "two"}}; !slices.Equal(b.uplink, want) {
		t.Errorf("got %v, want %v", b.uplink, want)
	}
	if s := b.phy.Stats().UEs[0].Uplink; s.Retransmissions != 2 || s.Blocks != 3 { // one of them answered the preamble
		t.Errorf("got %+v, want 2 retransmissions of 3 blocks", s)
	}
}

// TestPUSCHAskedTwice: a UE is received once in a slot, however often it is asked for.
func TestPUSCHAskedTwice(t *testing.T) {
	b := newAttachedBed(t, testRadio(), Config{})
	b.runToSlot(6)
	b.grant(0, wholeUplink)
	b.runToSlot(8)
	b.pusch(0, wholeUplink)
	b.pusch(0, wholeUplink)
	i := b.run()
	if len(i.CRC.CRCs) != 2 || i.CRC.CRCs[0].TBCRCStatus != 0 || i.CRC.CRCs[1].TBCRCStatus != 1 || len(i.RXData.PDUs) != 1 {
		t.Errorf("got %+v and %d transport blocks, want one", i.CRC.CRCs, len(i.RXData.PDUs))
	}
}

// TestCollision: two UEs are told to send on a PRB.
func TestCollision(t *testing.T) {
	b := newAttachedBed(t, testRadio(), Config{})
	ms := []dci.Uplink{{PRBs: 50, MCS: 20, K2: 2}, {PRBStart: 49, PRBs: 50, MCS: 20, K2: 2}}
	b.runToSlot(6)
	b.grant(0, ms[0])
	b.grant(1, ms[1])
	b.runToSlot(8)
	b.pusch(0, ms[0])
	b.pusch(1, ms[1])
	i := b.run()
	if len(i.CRC.CRCs) != 2 || i.CRC.CRCs[0].TBCRCStatus != 1 || i.CRC.CRCs[1].TBCRCStatus != 1 || i.Have&fapi.RXData != 0 {
		t.Errorf("got %+v, want two failures", i.CRC.CRCs)
	}
}

// TestSchedulingRequest: a UE asks at each occasion until it has a grant for new data,
// and asks again for what the grant left.
func TestSchedulingRequest(t *testing.T) {
	b := newAttachedBed(t, testRadio(), Config{})
	ask := func() bool {
		b.runTo(b.cell.SR)
		b.request(0)
		i := b.run()
		m := i.UCI.UCIs[0]
		if len(i.UCI.UCIs) != 1 || m.Type != 1 || m.Format01.PDUBitmap != uciSR || m.Format01.Handle != 0x3000 {
			t.Fatalf("got %+v, want one UCI with an SR", i.UCI.UCIs)
		}
		return m.Format01.SR.Indication == 1
	}
	if ask() {
		t.Error("it asks with nothing to send")
	}
	b.send(0, "x")
	for turn := range 2 {
		if !ask() {
			t.Errorf("occasion %d: it does not ask", turn)
		}
	}
	b.runToSlot(6)
	b.grant(0, wholeUplink)
	for _, why := range []string{"it has a grant", "everything was sent"} {
		if ask() {
			t.Error("it asks although", why)
		}
	}
	b.send(0, "just too late for the next occasion")
	b.runToSlot(6)
	b.run()
	b.run() // what is sent in 8 is decided at 7
	b.phy.UE(1).Send([]byte("y"))
	b.request(1)
	if i := b.run(); i.UCI.UCIs[0].Format01.SR.Indication != 0 {
		t.Error("it asks for what came after the decision")
	}
}

// TestGrantToCome: a UE does not ask for what it knows to come.
func TestGrantToCome(t *testing.T) {
	b := newAttachedBed(t, testRadio(), Config{})
	b.runToSlot(6)
	b.send(0, "x")
	m := wholeUplink
	m.K2 = 12
	b.grant(0, m)
	b.runTo(b.cell.SR) // slot 8, before 18
	b.request(0)
	if i := b.run(); i.UCI.UCIs[0].Format01.SR.Indication != 0 {
		t.Error("it asks although it has a grant for later")
	}
}

// TestRequestWithFeedback: the request goes with the HARQ bits, and not on its own
// resource.
func TestRequestWithFeedback(t *testing.T) {
	b := newAttachedBed(t, testRadio(), Config{})
	b.assign(0, wholeCarrier, b.block(0, wholeCarrier, "x"))
	b.send(0, "x")
	b.runTo(b.cell.SR)
	b.feedback(0, 1)
	b.request(0)
	i := b.run()
	with, alone := i.UCI.UCIs[0].Format234, i.UCI.UCIs[1].Format01
	if with.PDUBitmap != uciSR|uciHARQ || with.SR.BitLen != 1 || with.SR.Payload[0] != 1 || with.HARQ.Payload[0] != 1 {
		t.Errorf("got %+v, want an SR and an ACK", with)
	}
	if alone.SR.Indication != 0 {
		t.Errorf("got %+v, want nothing", alone)
	}
}

// TestPatience: a UE whose grants do not come any more asks again after 10 ms.
func TestPatience(t *testing.T) {
	b := newAttachedBed(t, testRadio(), Config{})
	b.send(0, string(make([]byte, 1000)))
	b.send(0, string(make([]byte, 1000)))
	b.runToSlot(6)
	m := dci.Uplink{PRBs: 2, MCS: 5, K2: 2} // for less than that
	b.grant(0, m)
	granted := b.at
	b.runToSlot(8)
	b.run() // nobody listens
	for {
		b.runTo(b.cell.SR)
		b.request(0)
		n := b.at
		if b.run().UCI.UCIs[0].Format01.SR.Indication == 1 {
			if waited := b.cell.Numerology.Distance(n, granted); waited < 20 || waited > 30 {
				t.Errorf("it asks after %d slots, want 20, or the next occasion", waited)
			}
			return
		}
		if b.cell.Numerology.Distance(n, granted) > 1000 {
			t.Fatal("it never asks again")
		}
	}
}

// TestRandomAccess: a UE sends its preamble at each occasion until a DCI answers, and
// takes no DCI before.
func TestRandomAccess(t *testing.T) {
	b := newBed(t, testRadio(), Config{})
	b.runToSlot(6)
	b.grant(0, wholeUplink)
	b.run()
	for turn := range 2 {
		b.runTo(b.cell.PRACH)
		b.prach()
		b.prach()
		i := b.run()
		if i.Have != fapi.RACH || len(i.RACH.PDUs) != 1 {
			t.Fatalf("turn %d: got %b, %+v, want one RACH.indication", turn, i.Have, i.RACH.PDUs)
		}
		o := i.RACH.PDUs[0]
		if o.PhysCellID != 7 || len(o.Preambles) != 2 || o.Preambles[0].Index != 1 || o.Preambles[1].Index != 2 {
			t.Errorf("turn %d: got %+v, want preambles 1 and 2", turn, o)
		}
	}
	b.runToSlot(6)
	b.grant(0, wholeUplink)
	b.runTo(b.cell.PRACH)
	b.prach()
	i := b.run()
	if o := i.RACH.PDUs[0]; len(o.Preambles) != 1 || o.Preambles[0].Index != 2 {
		t.Errorf("got %+v, want preamble 2 only", o)
	}
	if b.phy.Stop(); b.phy.UE(0).Attached() {
		t.Error("it is attached to a cell that has stopped")
	}
	if i := b.run(); i.Have != 0 {
		t.Errorf("got %b from a stopped PHY", i.Have)
	}
}

// TestNoAllocations runs patterns with both directions full.
func TestNoAllocations(t *testing.T) {
	b := newAttachedBed(t, testRadio(), Config{CRCFailureDownlink: 0.1, CRCFailureUplink: 0.1})
	b.phy.config.Deliver = func(int, uint8, []byte) {}
	var slots [20]fapi.Requests // of two patterns: the second one has the other NDI
	m, up := wholeCarrier, wholeUplink
	first := b.at
	for n := range slots {
		b.at = b.cell.Numerology.Add(first, n)
		b.r = fapi.Requests{}
		m.NDI, up.NDI = uint8(n/10), uint8(n/10)
		m.HARQ, up.HARQ = uint8(n%10), uint8(n%2)
		switch {
		case b.cell.Slot(b.at).PDSCH.Length > 0:
			b.assign(0, m, b.block(0, m)) // padding: a packet would be that of before
		default:
			b.feedback(0, 0)
			b.pusch(0, up)
		}
		if n%10 == 6 || n%10 == 7 {
			b.grant(0, up)
		}
		slots[n] = b.r
	}
	b.at = first
	payload := make([]byte, 1000)
	n := 0
	slot := func() {
		r := &slots[n]
		n = (n + 1) % len(slots)
		r.At = b.at
		b.phy.UE(0).Send(payload)
		b.i.Reset(1, b.at)
		b.phy.Slot(r, &b.i)
		b.at = b.cell.Numerology.Add(b.at, 1)
	}
	for range 5000 { // the bearer's queue is full
		slot()
	}
	before := b.phy.Stats()
	if got := testing.AllocsPerRun(1000, slot); got != 0 {
		t.Errorf("a slot allocates %v times", got)
	}
	after := b.phy.Stats()
	if after.UEs[0].Downlink.Blocks-before.UEs[0].Downlink.Blocks < 500 || after.PUSCHGood-before.PUSCHGood < 100 {
		t.Errorf("it was idle: %+v", after)
	}
}
