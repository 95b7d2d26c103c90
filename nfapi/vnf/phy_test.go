package vnf

import (
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/cell"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/nfapi/transport"
)

func TestCellFor(t *testing.T) {
	r := newRig(t, 1, SlotAhead{})
	c := r.cell
	if c.P7 != netip.MustParseAddrPort("192.0.2.9:50011") || c.TimingWindow != cell.TimingWindowDefault || !c.TimingInfo.Periodic || !c.TimingInfo.Aperiodic {
		t.Errorf("got %+v", c)
	}
	r.config.Announce = netip.MustParseAddrPort("198.51.100.1:9")
	if c, err := r.cellFor(c.P7, c.P7.Addr()); err != nil || c.P7 != r.config.Announce {
		t.Errorf("got %+v, %v", c, err)
	}
	r.mac.cell.TDD = slot.TDD{}
	if _, err := r.cellFor(c.P7, c.P7.Addr()); err == nil {
		t.Error("a cell without tdd table is taken")
	}
}

// TestRequests: what the MAC wants goes to the PNF, for the slot of the tick.
func TestRequests(t *testing.T) {
	r := newRig(t, 1, SlotAhead{})
	r.resync = -1
	r.tick(20479)
	r.tick(0)
	var got []string
	for _, m := range r.carrier.sent {
		sfn, s, _ := nfapi.OAI2025.PeekSlot(m.id, m.body)
		got = append(got, fmt.Sprintf("%v %d.%d to %v phy %d at %d", m.id, sfn, s, m.to, m.phy, m.timestamp))
	}
	want := []string{}
	for _, at := range []string{"1023.19", "0.0"} {
		for _, id := range []string{"DL_TTI", "UL_TTI", "UL_DCI", "TX_DATA"} {
			want = append(want, fmt.Sprintf("%s.request %s to 192.0.2.1:50010 phy 1 at 0", id, at))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	r.mac.have, r.carrier.sent = fapi.ULTTI, nil
	r.tick(1)
	if len(r.carrier.sent) != 1 || r.carrier.sent[0].id != nfapi.MsgULTTIRequest {
		t.Errorf("got %+v, want an UL_TTI.request", r.carrier.sent)
	}
}

// TestStrangers: nothing that does not come from the PNF's address, and from the port of
// its first message on, changes anything.
func TestStrangers(t *testing.T) {
	r := newRig(t, 1, SlotAhead{})
	if want := []netip.AddrPort{netip.AddrPortFrom(testPNF.Addr(), 0)}; !slices.Equal(r.carrier.admitted, want) {
		t.Errorf("admitted are %v, want %v", r.carrier.admitted, want)
	}
	r.from = netip.MustParseAddrPort("203.0.113.5:50010")
	r.tick(7)
	if len(r.mac.scheduled) != 0 || r.peer.IsValid() {
		t.Error("a stranger's tick is taken")
	}
	r.from = testPNF
	r.tick(7)
	if want := []netip.AddrPort{testPNF}; !slices.Equal(r.carrier.admitted, want) {
		t.Errorf("admitted are %v, want %v", r.carrier.admitted, want)
	}
	r.from = netip.AddrPortFrom(testPNF.Addr(), 1)
	r.tick(8)
	if want := []slot.Number{7}; !slices.Equal(r.mac.scheduled, want) {
		t.Errorf("scheduled %v, want %v", r.mac.scheduled, want)
	}
	if r.count.Ignored != 2 {
		t.Errorf("%d ignored, want 2", r.count.Ignored)
	}
	r.stop()
	r.from = testPNF
	r.tick(9)
	if r.mac.running || len(r.mac.scheduled) != 1 {
		t.Error("a phy that was stopped goes on")
	}
}

// TestLeftOver: what a PNF that ran before has left in the socket does not make its port
// that of the one which runs now.
func TestLeftOver(t *testing.T) {
	r := newRig(t, 1, SlotAhead{})
	r.from = netip.AddrPortFrom(testPNF.Addr(), 1)
	r.waited = time.Second
	r.tick(6)
	if r.peer.IsValid() || r.count.Ignored != 1 {
		t.Errorf("the peer is %v, %d ignored; want none, 1", r.peer, r.count.Ignored)
	}
	r.from, r.waited = testPNF, 0
	r.tick(7)
	if r.peer != testPNF {
		t.Errorf("the peer is %v, want %v", r.peer, testPNF)
	}
}

// TestRelay: messages come from a relay that is not where the PNF connects from, and
// requests go to another of its ports.
func TestRelay(t *testing.T) {
	r := newRig(t, 1, SlotAhead{})
	r.config.PNFP7 = netip.MustParseAddrPort("198.51.100.1:7000")
	r.begin([]netip.Addr{testPNF.Addr()})
	r.from = netip.MustParseAddrPort("198.51.100.1:7001")
	r.tick(7)
	if len(r.carrier.sent) == 0 || r.carrier.sent[0].to != r.config.PNFP7 {
		t.Errorf("got %+v", r.carrier.sent)
	}
	if want := []netip.AddrPort{r.from}; !slices.Equal(r.carrier.admitted, want) {
		t.Errorf("admitted are %v, want %v", r.carrier.admitted, want)
	}
}

// TestTicksSchedule: lost ones are left out as long as the PNF's clock is not known;
// repeated ones schedule nothing.
func TestTicksSchedule(t *testing.T) {
	r := newRig(t, 1, SlotAhead{})
	for _, n := range []slot.Number{20477, 20478, 1, 20479, 1, 2} {
		r.tick(n)
	}
	if want := []slot.Number{20477, 20478, 1, 2}; !slices.Equal(r.mac.scheduled, want) {
		t.Errorf("scheduled %v, want %v", r.mac.scheduled, want)
	}
	if c := r.count; c.Ticks != 4 || c.TicksLost != 1 || c.TicksLate != 1 || c.TicksOld != 2 || c.Skipped != 2 || c.Slots != 4 {
		t.Errorf("got %+v", c)
	}
}

// TestLostTicks: with node sync, slots whose ticks were lost are scheduled as long as
// they can be reached, in order.
func TestLostTicks(t *testing.T) {
	r := newRig(t, 1, SlotAhead{})
	pnf := r.synchronised()
	last := r.scheduled
	// Ten ticks are lost. The PNF, six slots ahead, is at the beginning of last+5.
	r.time = pnf.Begin(last+5, r.time).Add(100 * time.Microsecond)
	r.mac.scheduled, r.carrier.sent = nil, nil
	r.count.Skipped = 0
	r.tick(last + 11)
	want := []slot.Number{last + 6, last + 7, last + 8, last + 9, last + 10, last + 11}
	if !slices.Equal(r.mac.scheduled, want) {
		t.Errorf("scheduled %v, want %v", r.mac.scheduled, want)
	}
	if r.count.Skipped != 5 {
		t.Errorf("%d skipped, want 5", r.count.Skipped)
	}
	// The time stamp is that of the PNF's clock.
	if got, want := r.carrier.sent[0].timestamp, pnf.Micros(r.time); int(got)-int(want) > 20 || int(want)-int(got) > 20 {
		t.Errorf("time stamp %d, want %d", got, want)
	}
}

// TestWrongSync: a node sync by which nothing can ever be reached is given up.
func TestWrongSync(t *testing.T) {
	r := newRig(t, 0, SlotAhead{})
	pnf := r.synchronised()
	r.resync = -1
	slots := r.count.Slots
	n := r.scheduled
	for i := range 2000 { // the ticks are of slots that, by node sync, are over
		r.time = r.time.Add(time.Millisecond)
		if at := pnf.Begin(n, r.time); i == 0 && at.After(r.time) {
			r.time = at.Add(time.Millisecond)
		}
		n = r.mac.cell.Numerology.Add(n, 1)
		r.tick(n)
	}
	if got := r.count.Slots - slots; got < 900 {
		t.Errorf("%d of 2000 slots were scheduled, want all after the first second", got)
	}
}

// TestStoodStill: a VNF that has not run for a while schedules none of the slots whose
// ticks waited for it, but from then on every one; what it knows of the PNF's clock it
// knows still. Behind half an SFN cycle the slots that are over look as if they were to
// come.
func TestStoodStill(t *testing.T) {
	for _, mode := range []string{AheadSlotIndication, AheadAdaptive} {
		for _, stood := range []time.Duration{time.Second, 5 * time.Second, 6 * time.Second, 8 * time.Second} {
			t.Run(fmt.Sprint(mode, stood), func(t *testing.T) {
				r := newRig(t, 1, SlotAhead{Mode: mode})
				pnf, mu := r.synchronised(), r.mac.cell.Numerology
				last := r.ticks.last
				r.due(r.time)
				r.mac.scheduled, r.carrier.sent, r.count.Skipped = nil, nil, 0
				r.time = r.time.Add(stood)
				now, _ := pnf.Slot(r.time)
				waiting := int(stood / mu.Duration())
				for d := 1; d <= waiting; d++ {
					if n := mu.Add(last, d); n != mu.Add(now, 6) {
						r.tick(n)
						r.time = r.time.Add(time.Microsecond)
					}
				}
				if got := len(r.mac.scheduled); mode == AheadSlotIndication && got > 7 || mode == AheadAdaptive && got > 0 {
					t.Errorf("%d of %d slots whose ticks waited were scheduled: %v", got, waiting, r.mac.scheduled[:min(got, 20)])
				}
				if !r.sync.ok() {
					t.Error("node sync is lost")
				}
				r.mac.scheduled = nil
				for range 100 {
					r.time = r.time.Add(mu.Duration())
					now, _ := pnf.Slot(r.time)
					r.tick(mu.Add(now, 6))
					if at, ok := r.next(r.time); ok && !at.After(r.time.Add(mu.Duration())) {
						r.due(r.time)
					}
				}
				if got := len(r.mac.scheduled); got < 99 || got > 110 {
					t.Errorf("then %d slots were scheduled of 100", got)
				}
				if got := int(r.count.Skipped); stood < slot.Cycle/2 && (got < waiting-50 || got > waiting+50 || r.count.Jumps > 0) {
					t.Errorf("%d slots could not be reached and %d jumps, want about %d and none", got, r.count.Jumps, waiting)
				}
			})
		}
	}
}

// TestTicksStop: after a PNF, or the network, was silent for any part of an SFN cycle the
// next slots are scheduled.
func TestTicksStop(t *testing.T) {
	for _, silent := range []time.Duration{time.Second, 5 * time.Second, 6 * time.Second, 10 * time.Second, 15 * time.Second} {
		r := newRig(t, 1, SlotAhead{})
		pnf, mu := r.synchronised(), r.mac.cell.Numerology
		r.time = r.time.Add(silent)
		r.mac.scheduled = nil
		for range 100 {
			r.time = r.time.Add(mu.Duration())
			now, _ := pnf.Slot(r.time)
			r.tick(mu.Add(now, 6))
		}
		if got := len(r.mac.scheduled); got < 100-believed || got > 110 {
			t.Errorf("after %v without ticks %d slots were scheduled of 100", silent, got)
		}
	}
}

// TestNobodyWaitsForTheLog: who keeps slots does not write the log; what nobody writes is
// lost.
func TestNobodyWaitsForTheLog(t *testing.T) {
	r := newRig(t, 1, SlotAhead{})
	r.log = slog.New(slog.NewTextHandler(stuck{t}, nil))
	r.lines = make(chan func(), 1)
	r.from = netip.AddrPortFrom(testPNF.Addr(), 7)
	r.tick(7)
	for range 3 {
		r.time = r.time.Add(2 * time.Second)
		r.raw(nfapi.MsgSlotIndication, []byte{1}, 0)
		r.complained(&nfapi.ErrorIndication{ErrorCode: codeInvalidSFN}, r.time)
	}
	if len(r.lines) != 1 {
		t.Errorf("%d lines wait, want 1", len(r.lines))
	}
}

// stuck is a log that must not be written.
type stuck struct{ testing.TB }

func (s stuck) Write(line []byte) (int, error) {
	s.Errorf("logged: %s", line)
	return len(line), nil
}

// TestIndications: what the PHY says reaches the MAC if it is of about now.
func TestIndications(t *testing.T) {
	r := newRig(t, 1, SlotAhead{})
	r.get(&nfapi.UCIIndication{SFN: 5}, 0) // before the first tick
	r.tick(106)
	for _, m := range []nfapi.Message{
		&nfapi.RXDataIndication{SFN: 5}, &nfapi.CRCIndication{SFN: 5, Slot: 1}, &nfapi.UCIIndication{SFN: 5}, &nfapi.SRSIndication{SFN: 5},
		&nfapi.RACHIndication{SFN: 5}, &nfapi.CRCIndication{SFN: 500}, &nfapi.CRCIndication{SFN: 1024}, &nfapi.CRCIndication{SFN: 5, Slot: 20},
		&nfapi.ULTTIRequest{SFN: 5},
	} {
		r.get(m, 0)
	}
	r.raw(nfapi.MsgCRCIndication, []byte{0, 5, 0, 0, 0, 9}, 0)
	r.raw(nfapi.MsgCRCIndication, []byte{0, 5, 0}, 0)
	r.raw(nfapi.MsgSlotIndication, []byte{4, 0, 0, 0}, 0)
	r.raw(nfapi.MsgVendorFirst, nil, 0)
	want := []string{"5.0 10000", "5.1 100000", "5.0 1000000", "5.0 10000000", "5.0 100000000"}
	if !slices.Equal(r.mac.indicated, want) {
		t.Errorf("got %q, want %q", r.mac.indicated, want)
	}
	c := r.count
	if c.Stale != 2 || c.Invalid != 5 || c.Ignored != 2 {
		t.Errorf("%d stale, %d invalid, %d ignored, want 2, 5, 2", c.Stale, c.Invalid, c.Ignored)
	}
	if c.RXData != 1 || c.CRC != 1 || c.UCI != 1 || c.SRS != 1 || c.RACH != 1 {
		t.Errorf("got %+v", c)
	}
}

// TestIndicationOrder: nothing of P7 is held back, so what came before a tick is with
// the MAC before it schedules.
func TestIndicationOrder(t *testing.T) {
	r := newRig(t, 1, SlotAhead{})
	r.tick(106)
	r.get(&nfapi.CRCIndication{SFN: 5}, 0)
	if len(r.mac.indicated) != 1 || len(r.mac.scheduled) != 1 {
		t.Fatalf("got %v, %v", r.mac.indicated, r.mac.scheduled)
	}
	r.tick(107)
	if len(r.mac.scheduled) != 2 {
		t.Errorf("got %v", r.mac.scheduled)
	}
}

// TestNoAllocation: a slot with all requests and indications allocates nothing in the
// phy. The carrier is [transport.P7]'s business.
func TestNoAllocation(t *testing.T) {
	r := newRig(t, 1, SlotAhead{})
	r.p7 = nowhere{}
	r.resync = time.Nanosecond
	body := map[nfapi.MessageID][]byte{
		nfapi.MsgUCIIndication: {0, 5, 0, 0, 0, 0}, nfapi.MsgCRCIndication: {0, 5, 0, 0, 0, 0}, nfapi.MsgRXDataIndication: {0, 5, 0, 0, 0, 0},
	}
	n := slot.Number(100)
	tick := make([]byte, 4)
	d := transport.Datagram{From: testPNF}
	mac := &quietMAC{r.mac}
	r.phy.mac = mac
	f := func() {
		r.time = r.time.Add(500 * time.Microsecond)
		for id, b := range body {
			d.Header, d.Body, d.At = nfapi.Header{PhyID: 1, MessageID: id}, b, r.time
			r.datagram(&d)
		}
		n++
		tick[1], tick[3] = byte(n/20), byte(n%20)
		d.Header, d.Body = nfapi.Header{PhyID: 1, MessageID: nfapi.MsgSlotIndication}, tick
		r.datagram(&d)
	}
	f()
	if got := testing.AllocsPerRun(2000, f); got != 0 {
		t.Errorf("%v allocations per slot", got)
	}
}

// FuzzDatagram: no message of a PNF stops the VNF, and slots are scheduled in order.
func FuzzDatagram(f *testing.F) {
	f.Add(uint16(nfapi.MsgSlotIndication), []byte{0, 5, 0, 1}, uint32(0))
	f.Add(uint16(nfapi.MsgULNodeSync), make([]byte, 12), uint32(77))
	f.Add(uint16(nfapi.MsgTimingInfo), make([]byte, 60), uint32(10_240_001))
	f.Add(uint16(nfapi.MsgCRCIndication), []byte{0, 5, 0, 0, 0, 0}, uint32(0xffffffff))
	f.Fuzz(func(t *testing.T, id uint16, body []byte, timestamp uint32) {
		r := newRig(t, 1, SlotAhead{Mode: AheadAdaptive})
		r.synchronised()
		r.mac.scheduled = nil
		for range 3 {
			r.raw(nfapi.MessageID(id), body, timestamp)
			r.time = r.time.Add(time.Millisecond)
			if at, ok := r.next(r.time); ok && at.Before(r.time.Add(time.Second)) {
				r.due(at)
			}
		}
		for i := 1; i < len(r.mac.scheduled); i++ {
			if r.mac.cell.Numerology.Distance(r.mac.scheduled[i], r.mac.scheduled[i-1]) <= 0 {
				t.Fatalf("scheduled %v", r.mac.scheduled)
			}
		}
		if r.lead.now < 0 || r.lead.now > r.ahead.Max {
			t.Errorf("lead %v", r.lead.now)
		}
	})
}
