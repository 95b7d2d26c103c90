package pnf

import (
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
)

// FuzzReceive: whatever comes over P7, and whenever, the PHY gets each slot once and in
// order, with requests that decode and are of that slot; a PDSCH and its data together;
// and there are never more entries than the window has slots.
//
// The input is a list of messages: which one, when, and what is in it.
func FuzzReceive(f *testing.F) {
	const mu = slot.Numerology(1)
	add := func(messages ...nfapi.Message) {
		var in []byte
		for i, m := range messages {
			body := make([]byte, 1<<12)
			n, err := m.EncodeBody(nfapi.OAI2025, body)
			if err != nil {
				f.Fatal(err)
			}
			in = append(in, byte(m.MessageID()), byte(m.MessageID()>>8), byte(i%3), byte(min(n, 255)))
			in = append(in, body[:min(n, 255)]...)
		}
		f.Add(in)
	}
	add(dlTTI(mu, 0, 1), txData(mu, 0, 40), ulTTI(mu, 0), &nfapi.ULDCIRequest{})
	add(ulTTI(mu, 5), ulTTI(mu, 5), dlTTI(mu, 1, 3), txData(mu, 2, 1), &nfapi.DLNodeSync{T1: 5})
	add(ulTTI(mu, 20479), ulTTI(mu, 0), &nfapi.SlotIndication{}, dlTTI(mu, bedWindow, 0, 1, 2, 3))
	f.Add([]byte{0x80, 0, 1, 6, 0, 0, 0, 1, 255, 0, 0x84, 0, 2, 6, 0, 0, 0, 2, 255, 255})

	f.Fuzz(func(t *testing.T, in []byte) {
		b := newBed(t, mu, 0)
		r := b.start()
		next := slot.Number(0)
		b.phy.layer = &checkedLayer{t: t, next: &next}
		b.slots(2)
		for i := 0; len(in) >= 4 && i < 64; i++ {
			id, pass := nfapi.MessageID(in[0])|nfapi.MessageID(in[1]&3)<<8, int(in[2]%4)
			n := min(int(in[3]), len(in)-4)
			b.octets(id, in[4:4+n], 1)
			in = in[4+n:]
			b.slots(pass)
		}
		b.slots(bedWindow + 1)
		b.phy.halt()
		used := 0
		for _, e := range r.ring.places {
			if e != nil {
				used++
			}
		}
		if used != 0 || len(r.ring.free) > bedWindow+1 {
			t.Errorf("%d entries are used and %d free after all slots", used, len(r.ring.free))
		}
	})
}

// checkedLayer is a PHY that looks at what it is told.
type checkedLayer struct {
	layer
	t    *testing.T
	next *slot.Number
}

func (l *checkedLayer) Slot(r *fapi.Requests, i *fapi.Indications) {
	const mu = slot.Numerology(1)
	if r.At < *l.next || r.At >= slot.Number(mu.PerCycle()-3) { // the first ones, before the layer was this one
		return
	}
	if r.At != *l.next {
		l.t.Errorf("slot %d, want %d", r.At, *l.next)
	}
	*l.next = r.At + 1
	sfn, s := mu.Split(r.At)
	pdsch := false
	for _, m := range [...]struct {
		have      fapi.Have
		sfn, slot uint16
	}{
		{fapi.DLTTI, r.DLTTI.SFN, r.DLTTI.Slot}, {fapi.ULTTI, r.ULTTI.SFN, r.ULTTI.Slot},
		{fapi.ULDCI, r.ULDCI.SFN, r.ULDCI.Slot}, {fapi.TXData, r.TXData.SFN, r.TXData.Slot},
	} {
		if r.Have&m.have != 0 && (m.sfn != sfn || m.slot != s) {
			l.t.Errorf("slot %d has %b of %d.%d", r.At, m.have, m.sfn, m.slot)
		}
	}
	for i := range r.DLTTI.PDUs {
		pdsch = pdsch || r.DLTTI.PDUs[i].Type == typePDSCH
	}
	if pdsch = pdsch && r.Have&fapi.DLTTI != 0; pdsch != (r.Have&fapi.TXData != 0) {
		l.t.Errorf("slot %d has a PDSCH: %v, and %b", r.At, pdsch, r.Have)
	}
}

// TestNoAllocations: a slot with all its messages takes no memory, once each entry has
// what it needs.
func TestNoAllocations(t *testing.T) {
	const mu = slot.Numerology(1)
	b := newBed(t, mu, 0)
	b.phy.p7 = nowhere{}
	b.phy.layer = quiet{}
	if _, err := b.phy.start(); err != nil { // the ticks are made here
		t.Fatal(err)
	}
	r := b.phy.running.Load()
	r.timing.mode.Periodic = true
	messages := []nfapi.Message{ulTTI(mu, 0), dlTTI(mu, 0, 0, 1, 3), txData(mu, 0, 9000), &nfapi.ULDCIRequest{}}
	var bodies [][]byte
	for _, m := range messages {
		body := make([]byte, 1<<14)
		n, err := m.EncodeBody(nfapi.OAI2025, body)
		if err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, body[:n])
	}
	n := mu.Add(0, -2)
	datagram := datagramOf(b.time.Now())
	one := func() {
		b.time.Jump(mu.Duration())
		to := mu.Add(n, 4)
		sfn, s := mu.Split(to)
		for i, m := range messages {
			body := bodies[i]
			body[0], body[1], body[2], body[3] = byte(sfn>>8), byte(sfn), byte(s>>8), byte(s)
			datagram.Header.MessageID, datagram.Body, datagram.At = m.MessageID(), body, b.time.Now()
			b.phy.receive(datagram)
		}
		r.tick(n, 0)
		n = mu.Add(n, 1)
	}
	for range 1000 {
		one()
	}
	if got := testing.AllocsPerRun(2000, one); got != 0 {
		t.Errorf("a slot allocates %v times", got)
	}
	if got := b.phy.counts.requests[0].Load(); got < 4*2900 {
		t.Errorf("%d requests were on time, want all", got)
	}
	b.phy.halt()
}

// BenchmarkSlot is all that a PNF does for a slot but sending and the PHY's own work: four
// requests, one of them of 9000 octets, and a tick.
func BenchmarkSlot(b *testing.B) {
	const mu = slot.Numerology(1)
	bed := newBed(b, mu, 0)
	bed.phy.p7, bed.phy.layer = nowhere{}, quiet{}
	if _, err := bed.phy.start(); err != nil {
		b.Fatal(err)
	}
	r := bed.phy.running.Load()
	r.time.source = nil // what time it is costs what it costs
	messages := []nfapi.Message{ulTTI(mu, 0), dlTTI(mu, 0, 0, 1, 3), txData(mu, 0, 9000), &nfapi.ULDCIRequest{}}
	datagrams := make([]*[1 << 14]byte, len(messages))
	sizes := make([]int, len(messages))
	for i, m := range messages {
		datagrams[i] = new([1 << 14]byte)
		var err error
		if sizes[i], err = m.EncodeBody(nfapi.OAI2025, datagrams[i][:]); err != nil {
			b.Fatal(err)
		}
	}
	datagram := datagramOf(time.Now())
	n := mu.Add(0, -2)
	b.ReportAllocs()
	for b.Loop() {
		sfn, s := mu.Split(mu.Add(n, 4))
		for i, m := range messages {
			body := datagrams[i][:sizes[i]]
			body[0], body[1], body[2], body[3] = byte(sfn>>8), byte(sfn), byte(s>>8), byte(s)
			datagram.Header.MessageID, datagram.Body = m.MessageID(), body
			bed.phy.receive(datagram)
		}
		r.tick(n, 0)
		n = mu.Add(n, 1)
	}
}
