package phy

import (
	"bytes"
	"slices"
	"testing"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/ran/radio"
	"github.com/plumbline-upf/plumbline/ran/radio/dci"
	"github.com/plumbline-upf/plumbline/ran/radio/ue"
)

var wholeCarrier = dci.Downlink{PRBs: 106, MCS: 20}

// TestDownlink sends a packet in slot 3 and looks for it at each tick, and for the
// feedback in slot 8, whose bits are for the slots from 0 on.
func TestDownlink(t *testing.T) {
	const (
		ack  = 0
		nack = 1
	)
	for _, tc := range []struct {
		name   string
		change func(b *bed, control *nfapi.PDCCHPDU, data *nfapi.PDSCHPDU)
		bit    int // -1: there is no feedback
		moved  func(s Stats) uint64
	}{
		{"as told", func(*bed, *nfapi.PDCCHPDU, *nfapi.PDSCHPDU) {}, ack, nil},
		{"DCI to another", func(_ *bed, c *nfapi.PDCCHPDU, _ *nfapi.PDSCHPDU) { c.DCIs[0].RNTI = 0x4603 }, -1, func(s Stats) uint64 { return s.Strangers }},
		{"DCI of another size", func(_ *bed, c *nfapi.PDCCHPDU, _ *nfapi.PDSCHPDU) { c.DCIs[0].PayloadSizeBits-- }, -1, badDCIs},
		{"DCI is a grant", func(_ *bed, c *nfapi.PDCCHPDU, _ *nfapi.PDSCHPDU) { c.DCIs[0].Payload = [nfapi.DCIPayloadLen]byte{} }, -1, badDCIs},
		{"CCEs of another DCI", func(b *bed, c *nfapi.PDCCHPDU, _ *nfapi.PDSCHPDU) {
			b.grant(1, dci.Uplink{PRBs: 1, K2: 5}).DCIs[0].CCEIndex = 3
		}, -1, collisions},
		{"no such CCEs", func(_ *bed, c *nfapi.PDCCHPDU, _ *nfapi.PDSCHPDU) { c.DCIs[0].CCEIndex = 14 }, -1, collisions},
		{"no CCE at all", func(_ *bed, c *nfapi.PDCCHPDU, _ *nfapi.PDSCHPDU) { c.DCIs[0].AggregationLevel = 0 }, -1, collisions},
		{"CORESET outside of the slot", func(_ *bed, c *nfapi.PDCCHPDU, _ *nfapi.PDSCHPDU) { c.StartSymbolIndex = 14 }, -1, collisions},
		{"other PRBs than told", func(_ *bed, _ *nfapi.PDCCHPDU, d *nfapi.PDSCHPDU) { d.RBSize-- }, nack, func(s Stats) uint64 { return s.Unheard }},
		{"another size than told", func(_ *bed, _ *nfapi.PDCCHPDU, d *nfapi.PDSCHPDU) { d.TBSize[0]++ }, nack, func(s Stats) uint64 { return s.Unheard }},
		{"another MCS than told", func(_ *bed, _ *nfapi.PDCCHPDU, d *nfapi.PDSCHPDU) { d.MCSIndex[0]-- }, nack, func(s Stats) uint64 { return s.Unheard }},
		{"beyond the carrier", func(_ *bed, _ *nfapi.PDCCHPDU, d *nfapi.PDSCHPDU) { d.RBStart = 1 }, nack, func(s Stats) uint64 { return s.Misplaced }},
		{"beyond the slot", func(_ *bed, _ *nfapi.PDCCHPDU, d *nfapi.PDSCHPDU) { d.NrOfSymbols++ }, nack, func(s Stats) uint64 { return s.Misplaced }},
		{"PRBs of another PDSCH", func(b *bed, _ *nfapi.PDCCHPDU, d *nfapi.PDSCHPDU) {
			other := *d
			other.RNTI, other.RBStart, other.RBSize = 0x4602, 105, 1
			b.r.DLTTI.PDUs = append(b.r.DLTTI.PDUs, nfapi.DLTTIPDU{Type: 1, PDSCH: other})
		}, nack, collisions},
		{"no PDSCH", func(b *bed, _ *nfapi.PDCCHPDU, _ *nfapi.PDSCHPDU) { b.r.DLTTI.PDUs = b.r.DLTTI.PDUs[:1] }, nack, failed},
		{"no TX_DATA", func(b *bed, _ *nfapi.PDCCHPDU, _ *nfapi.PDSCHPDU) { b.r.Have &^= fapi.TXData }, nack, func(s Stats) uint64 { return s.Empty }},
		{"TX_DATA of another PDSCH", func(b *bed, _ *nfapi.PDCCHPDU, _ *nfapi.PDSCHPDU) { b.r.TXData.PDUs[0].PDUIndex = 9 }, nack, func(s Stats) uint64 { return s.Empty }},
		{"half of a block", func(b *bed, _ *nfapi.PDCCHPDU, _ *nfapi.PDSCHPDU) {
			b.r.TXData.PDUs[0].TLVs = b.r.TXData.PDUs[0].TLVs[:1]
		}, nack, failed},
		{"CRC failure", func(b *bed, _ *nfapi.PDCCHPDU, _ *nfapi.PDSCHPDU) { b.phy.config.CRCFailureDownlink = 1 }, nack, failed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newAttachedBed(t, testRadio(), Config{})
			b.runToSlot(3)
			control, data := b.assign(0, wholeCarrier, b.block(0, wholeCarrier, "to the ue"))
			tc.change(b, control, data)
			before := b.phy.Stats()
			b.run()
			if len(b.got) != 0 {
				t.Fatalf("got %v before its slot has ended", b.got)
			}
			b.run()
			var want []packet
			if tc.bit == ack {
				want = []packet{{0, 9, "to the ue"}}
			}
			if !slices.Equal(b.got, want) {
				t.Errorf("got %v, want %v", b.got, want)
			}
			if tc.moved != nil && tc.moved(b.phy.Stats()) == tc.moved(before) {
				t.Errorf("its counter has not moved: %+v", b.phy.Stats())
			}
			b.runToSlot(8)
			b.feedback(0, 0)
			b.run()
			checkBit(t, b.bits(), 3, tc.bit)
		})
	}
}

// checkBit looks for feedback in which all but one bit is NACK.
func checkBit(t *testing.T, got []byte, place, bit int) {
	t.Helper()
	want := bytes.Repeat([]byte{1}, 8)
	if bit < 0 {
		want = nil
	} else {
		want[place] = byte(bit)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("got HARQ bits %v, want %v", got, want)
	}
}

func badDCIs(s Stats) uint64    { return s.UEs[0].BadDCIs }
func collisions(s Stats) uint64 { return s.Collisions }
func failed(s Stats) uint64     { return s.UEs[0].Downlink.Failed }

// TestHARQDownlink sends the same transport block until it is received, and once more.
func TestHARQDownlink(t *testing.T) {
	b := newAttachedBed(t, testRadio(), Config{})
	m := wholeCarrier
	m.HARQ = 5
	first := b.block(0, m, "one", "two")
	send := func(failure float64, block []byte) {
		t.Helper()
		b.runToSlot(10) // the first slot of a pattern
		b.phy.config.CRCFailureDownlink = failure
		b.assign(0, m, block)
		b.run()
		b.runToSlot(18)
		b.feedback(0, 0)
		b.run()
		checkBit(t, b.bits(), 0, int(failure))
	}
	send(1, first)
	send(1, first)
	send(0, first)
	want := []packet{{0, 9, "one"}, {0, 9, "two"}}
	if !slices.Equal(b.got, want) {
		t.Fatalf("got %v, want %v", b.got, want)
	}
	send(0, first) // its acknowledgement was lost
	if !slices.Equal(b.got, want) {
		t.Fatalf("got %v after it was sent again, want %v", b.got, want)
	}
	m.NDI ^= 1
	b.runToSlot(10)
	send(0, b.block(0, m, "three"))
	if want = append(want, packet{0, 9, "three"}); !slices.Equal(b.got, want) {
		t.Errorf("got %v, want %v", b.got, want)
	}
	s := b.phy.Stats().UEs[0].Downlink
	wantStats := ue.DownlinkStats{
		Assignments: 5, Retransmissions: 3, Failed: 2, Duplicates: 1, Blocks: 2, BlockOctets: 2 * uint64(len(first)), Packets: 3, Octets: 11,
	}
	if s != wantStats {
		t.Errorf("got %+v, want %+v", s, wantStats)
	}
}

// TestTwoUEs gives each half of the carrier, in every downlink slot of a pattern.
func TestTwoUEs(t *testing.T) {
	b := newAttachedBed(t, testRadio(), Config{})
	var want []packet
	for n := range 8 {
		for i := range 2 {
			m := dci.Downlink{PRBStart: 53 * i, PRBs: 53, MCS: 10, HARQ: uint8(n)}
			p := packet{i, b.radio.UEs[i].QFI, string(rune('a' + n))}
			b.assign(i, m, b.block(i, m, p.in))
			want = append(want, p)
		}
		b.run()
	}
	b.feedback(0, 0)
	b.feedback(1, 0)
	b.run()
	if !slices.Equal(b.got, want) {
		t.Errorf("got %v, want %v", b.got, want)
	}
	for i, u := range b.i.UCI.UCIs {
		h := u.Format234.HARQ
		if u.Format234.RNTI != b.radio.UEs[i].RNTI || u.Format234.Handle != 0x2000+uint32(i) || h.CRC != 0 || h.BitLen != 8 || !bytes.Equal(h.Payload, []byte{0xff, 0}) {
			t.Errorf("got %+v, want 8 ACKs", u.Format234)
		}
	}
}

// TestFeedbackFormat0: with a codebook of 2 bits.
func TestFeedbackFormat0(t *testing.T) {
	r := testRadio()
	r.Pattern, r.SRPeriod, r.SROffset = "DSUUU", 5, 2
	for _, tc := range []struct {
		name string
		sent []int // slots
		want []byte
	}{
		{"both", []int{0, 1}, []byte{0, 0}},
		{"the second", []int{1}, []byte{1, 0}},
		{"none", nil, []byte{2, 2}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newAttachedBed(t, r, Config{})
			for n := range 2 {
				if slices.Contains(tc.sent, n) {
					m := dci.Downlink{PRBs: 10, MCS: 5, HARQ: uint8(n)}
					b.assign(0, m, b.block(0, m, "x"))
				}
				b.run()
			}
			b.feedback(0, 0)
			b.run()
			if got := b.bits(); !bytes.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// TestFeedbackNotAsked: what the gNB does not listen for, or listens for in another
// form, it does not receive.
func TestFeedbackNotAsked(t *testing.T) {
	for name, change := range map[string]func(p *nfapi.PUCCHPDU){
		"fewer bits":   func(p *nfapi.PUCCHPDU) { p.BitLenHARQ = 7 },
		"other PRB":    func(p *nfapi.PUCCHPDU) { p.PRBStart = 5 },
		"other format": func(p *nfapi.PUCCHPDU) { p.FormatType = 3 },
		"other UE":     func(p *nfapi.PUCCHPDU) { p.RNTI = 0x4602 },
		"unknown UE":   func(p *nfapi.PUCCHPDU) { p.RNTI = 0x4603 },
	} {
		t.Run(name, func(t *testing.T) {
			b := newAttachedBed(t, testRadio(), Config{})
			b.assign(0, wholeCarrier, b.block(0, wholeCarrier, "x"))
			b.runToSlot(8)
			change(b.feedback(0, 0))
			b.run()
			if got := b.bits(); got != nil {
				t.Errorf("got %v, want nothing", got)
			}
		})
	}
}

// TestProbability: as many transmissions fail as the probability says, the same in each
// run.
func TestProbability(t *testing.T) {
	run := func(seed uint64) (failed []slot.Number) {
		b := newAttachedBed(t, testRadio(), Config{CRCFailureDownlink: 0.1, Seed: seed})
		m := dci.Downlink{PRBs: 10, MCS: 5}
		for range 10_000 {
			n := b.at
			if b.cell.Slot(n).PDSCH.Length == 0 {
				b.run()
				continue
			}
			b.assign(0, m, make([]byte, b.cell.Allocation(b.cell.Slot(n).PDSCH, m.PRBs, m.MCS).TransportBlock()))
			m.NDI ^= 1
			before := b.phy.Stats().UEs[0].Downlink.Failed
			b.run()
			if b.phy.Stats().UEs[0].Downlink.Failed != before {
				failed = append(failed, n)
			}
		}
		return failed
	}
	first := run(1)
	if len(first) < 700 || len(first) > 900 {
		t.Errorf("%d of 8000 failed, want one in ten", len(first))
	}
	if !slices.Equal(first, run(1)) {
		t.Error("another run with the same seed has other failures")
	}
	if slices.Equal(first, run(2)) {
		t.Error("another seed has the same failures")
	}
}

// TestConfigure refuses cells that are not that of the UEs.
func TestConfigure(t *testing.T) {
	b := newBed(t, testRadio(), Config{})
	for name, change := range map[string]func(*radio.Config){
		"numerology": func(c *radio.Config) { c.Numerology = 0 },
		"PRBs":       func(c *radio.Config) { c.PRBs = 105 },
		"pattern":    func(c *radio.Config) { c.Pattern = "DDDDDDDDSU" },
		"symbols":    func(c *radio.Config) { c.SpecialDL = 5 },
	} {
		r := testRadio()
		change(&r)
		cell, err := r.Cell()
		if err != nil {
			t.Fatal(err)
		}
		if err := b.phy.Configure(cell); err == nil {
			t.Errorf("%s: it is taken", name)
		}
		cell.TDD = slot.TDD{}
		if err := b.phy.Configure(cell); err == nil {
			t.Errorf("%s, no table: it is taken", name)
		}
	}
}
